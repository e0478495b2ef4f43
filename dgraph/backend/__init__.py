"""Backends: what runs a program's rounds on one rank. Each gives a ``Machine`` a program (see ``cpu/machine.py``)."""

from __future__ import annotations

from dgraph.errors import UsageError, unknown

BACKENDS = ("auto", "cpu")


def backend(name: str, threads: int | None, ranks_here: int):
    """The backend of this name.

    Args:
        name: "auto" or "cpu".
        threads: CPU threads a rank; None: the cores of this node, divided among its ranks.
        ranks_here: ranks that share this node.
    """
    if name not in BACKENDS:
        raise unknown("backend", name, BACKENDS)
    if threads is not None and threads < 1:
        raise UsageError(f"{threads} threads cannot work; give 1 or more, or leave --threads out")
    from dgraph.backend.cpu import CpuBackend

    return CpuBackend(threads, ranks_here)
