"""Other distributions' packages that have the names of this distribution's top-level packages."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

BESIDE = Path(__file__).resolve().parents[2]
"""Folder that holds ``dgraph``, and must hold ``partitioning`` and ``launch``."""


def clash(package: str) -> str:
    """Return what is wrong if another file than this distribution's answers ``import package``; "" if nothing is."""
    spec = find_spec(package)
    origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
    if origin is not None and origin.parent.parent == BESIDE:
        return ""
    imported = "there is no such package" if origin is None else f"Python imports {origin}"
    return (
        f"dgraph needs its own package {package!r} in {BESIDE}, and {imported}; remove or rename that file, uninstall "
        "the distribution that has it, or put dgraph's folder first on the path"
    )
