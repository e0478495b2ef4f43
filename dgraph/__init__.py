"""Distributed graph analytics. ``dgraph.run("sssp", "road.gr", source=1)`` on one process, or under mpirun on many."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from dgraph._support.cache import keep_kernels
from dgraph._support.version import __version__
from dgraph.errors import (
    Checkpointed,
    DataError,
    DgraphError,
    InternalError,
    NotConverged,
    OutputError,
    PeerLost,
    UsageError,
    ValidationFailed,
)

HOMES = {
    "run": "dgraph.run",
    "build_on_gpus": "dgraph.backend.build",
    "Graph": "dgraph.graph.stored_graph",
    "Result": "dgraph.result.result",
    "Comm": "dgraph.comm",
    "communicator": "dgraph.comm",
    "Algorithm": "dgraph.algorithms",
    "Answer": "dgraph.algorithms",
    "Parameter": "dgraph.algorithms",
    "algorithm": "dgraph.algorithms",
    **dict.fromkeys(
        ("ADD", "ALL", "CHANGED", "INF", "MAX", "MIN", "OR", "Field", "Global", "Program"), "dgraph.program"
    ),
    **dict.fromkeys(("maximum", "minimum", "where"), "dgraph.program"),
}
"""Public names and the modules that hold them: imported at first use, so that ``import dgraph`` is quick."""

__all__ = [
    "Checkpointed", "DataError", "DgraphError", "InternalError", "NotConverged", "OutputError", "PeerLost",
    "UsageError", "ValidationFailed", "__version__", *HOMES,
]  # fmt: skip

keep_kernels(Path(__file__).parent)


def __getattr__(name: str):
    if name not in HOMES:
        raise AttributeError(f"module 'dgraph' has no attribute {name!r}")
    value = getattr(import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)


class _Package(ModuleType):
    """``dgraph.run`` is the function, also after something imported the module of that name."""

    def __setattr__(self, name, value):
        shadows = isinstance(value, ModuleType) and HOMES.get(name) == value.__name__
        super().__setattr__(name, getattr(value, name) if shadows else value)


sys.modules[__name__].__class__ = _Package
