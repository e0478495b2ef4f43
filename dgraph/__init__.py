"""Distributed graph analytics on CPUs and NVIDIA GPUs, alone or under mpirun.

Load a graph with ``graph = dgraph.Graph.load("road.gr")``; then call ``dgraph.sssp(graph, source=1)`` or, by name,
``dgraph.run("sssp", graph, source=1)``.
"""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from dgraph._support.cache import keep_kernels
from dgraph._support.clashes import clash
from dgraph._support.function_names import ALIASES, FUNCTIONS
from dgraph._support.peer_names import hint
from dgraph._support.public_names import HOMES
from dgraph._support.version import __version__

__all__ = ["__version__", *HOMES, *FUNCTIONS, *ALIASES]

if wrong := clash("partitioning"):
    raise ImportError(wrong)
keep_kernels(Path(__file__).parent)


def __getattr__(name: str):
    if name in ALIASES:
        value = getattr(sys.modules[__name__], ALIASES[name])
    elif name in FUNCTIONS:
        value = import_module("dgraph.service.client.run_dispatch").function_of(name)
    elif name in HOMES:
        value = getattr(import_module(HOMES[name]), name)
    else:
        raise AttributeError(f"module 'dgraph' has no attribute {name!r}{hint(name)}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)


class _Package(ModuleType):
    """``dgraph.run`` is the function, also after something imported the module of that name."""

    def __setattr__(self, name, value):
        if isinstance(value, ModuleType) and name in HOMES:
            value = getattr(import_module(HOMES[name]), name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
