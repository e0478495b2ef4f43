"""Imports of optional dependencies, with an error that names the pip extra that brings them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dgraph.errors import UsageError

EXTRAS = {
    "matplotlib": "plots",
    "networkx": "networkx",
    "pandas": "tables",
    "polars": "polars",
    "pyarrow": "tables",
    "scipy": "networkx",
}
"""Package → extra of the distribution ``dgraph-analytics`` that installs it."""


def extra(name: str, why: str) -> Any:
    """Import an optional module.

    Args:
        name: the module, such as ``pyarrow.parquet``.
        why: what needs it, as the subject of the error.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as missing:
        package = name.partition(".")[0]
        raise UsageError(
            f"{why} needs {package}, and {missing}: pip install 'dgraph-analytics[{EXTRAS[package]}]'"
        ) from missing
