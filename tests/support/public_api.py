"""Public functions, classes and methods of ``dgraph`` with arguments that fit, for calls in which one does not fit.

:func:`places` walks ``dgraph.__all__``, so a new function, algorithm or method is called without an edit here.
:func:`complaint` makes one call and returns what is wrong with its outcome.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

import dgraph
from dgraph._support.arguments import is_integer
from dgraph.graph.load_options import LoadOptions

FRAME = {"source": [0, 1], "target": [1, 2]}

VERTEX_LABELS = {0: 0, 1: 0, 2: 1, 3: 1}
"""Labels of the vertices of the graphs."""

FITS: dict[str, Callable[[], Any]] = {
    "timeout": lambda: 1.0, "patience": lambda: 0.0, "overwrite": lambda: False,
    "graph": lambda: graphs()[0], "algorithm": lambda: "bfs", "folder": lambda: "store", "path": lambda: "x.csv",
    "spec": lambda: "path:4", "address": lambda: "unix:/nowhere", "source": lambda: 0, "target": lambda: 2,
    "vertex": lambda: 0, "center": lambda: 0, "vertices": lambda: [0, 1], "sources": lambda: [0], "k": lambda: 2,
    "name": lambda: "distance", "keep": lambda: lambda v: v.vertex >= 0, "src": lambda: [0, 1], "dst": lambda: [1, 2],
    "offsets": lambda: [0, 1, 1], "targets": lambda: [1], "help": lambda: "text", "dtype": lambda: "int64",
    "type": lambda: int, "default": lambda: None, "a": lambda: 1, "b": lambda: 2, "x": lambda: 1,
    "condition": lambda: True, "labels": lambda: (list(VERTEX_LABELS), list(VERTEX_LABELS.values())),
    "first": lambda: VERTEX_LABELS, "second": lambda: VERTEX_LABELS, "columns": lambda: [VERTEX_LABELS, VERTEX_LABELS],
}  # fmt: skip
"""Parameter → an argument that fits, where no row of ``FITTING`` has another."""

VERTICES = ("source", "target", "vertex", "center", "vertices", "sources")

FITTING: dict[str, dict[str, Callable[[], Any]]] = {
    "Graph.from_pandas": {"df": lambda: pd.DataFrame(FRAME)},
    "Graph.from_polars": {"df": lambda: pl.DataFrame(FRAME)},
    "Graph.from_arrow": {"table": lambda: pa.table(FRAME)},
    "Graph.from_table": {"table": lambda: pd.DataFrame(FRAME)},
    "Graph.from_networkx": {"graph": lambda: nx.path_graph(3)},
    "Graph.from_scipy": {"matrix": lambda: scipy.sparse.eye_array(3, format="csr")},
    "Graph.open": {"path": lambda: stored()},
    "run": {"algorithm": lambda: "cc"},
    "Graph.save_store": {"path": lambda: "store"},
    "Graph.filter_edges": {"keep": lambda: lambda e: e.source >= 0},
    "DistanceMatrix.save": {"path": lambda: "x.npy"},
}
"""Function → parameter → an argument that fits."""

LEFT_OUT = {
    "Graph": "made by its class methods",
    "Result": "made by a run",
    "Answer": "made by an algorithm",
    "Comm": "an interface: communicators implement it",
    "Algorithm": "a base class: algorithms are fuzzed by their functions",
    "Program": "a base class: programs of users run as they are written",
    "build_on_gpus": "needs a GPU",
}
"""Class → why its constructor is not called."""

ENGINE = {
    "Comm", "Algorithm", "Program", "Parameter", "Graph.builder", "Graph.builder_of_listed", "Graph.opener",
    "Graph.opened", "Graph.planned", "Graph.fit_for", "Graph.close", "Graph.simplified", "Graph.partition",
    "Graph.keep_backend", "Graph.keep_building", "Result.first_rows",
}  # fmt: skip
"""Classes whose methods, and methods, that the engine alone calls."""


@dataclass(frozen=True)
class Place:
    """One function or method, bound to what it is called on.

    Attributes:
        name: as in the documentation, such as "Graph.ego".
        call: the function.
        required: names of parameters that have no default.
        names: names of all parameters, in order; options of a load for ``**options``.
        named: True if the vertices of what it is called on have names.
    """

    name: str
    call: Callable[..., Any]
    required: tuple[str, ...]
    names: tuple[str, ...]
    named: bool = False

    def fits(self, name: str) -> Any:
        """Return an argument that fits."""
        argument = FITTING.get(self.name, {}).get(name, FITS.get(name, lambda: None))()
        if self.named and name in VERTICES:
            return ["a", "b"] if isinstance(argument, list) else "a"
        return argument


@functools.cache
def graphs() -> tuple[Any, ...]:
    """Return small graphs: directed with weights, undirected, with names."""
    return (
        dgraph.Graph.from_edges([0, 0, 1, 2, 3], [1, 2, 2, 3, 0], [1, 4, 2, 7, 1]),
        dgraph.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False),
        dgraph.Graph.from_edges(["a", "b", "c"], ["b", "c", "a"], [0.5, 1.5, 2.5]),
    )


@functools.cache
def stored() -> str:
    """Return the folder of a store, which is there until the process ends."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = os.path.join(folder.name, "store")
    graphs()[0].save_store(path)
    return path


@functools.cache
def receivers() -> tuple[Any, ...]:
    """Return the objects whose methods are called."""
    weighted, _, named = graphs()
    results = [dgraph.bfs(weighted, 0), dgraph.bfs(named, "a"), dgraph.pagerank(weighted)]
    pairs, edges = dgraph.apsp(weighted), dgraph.edge_bc(weighted)
    return (*graphs(), *results, pairs, pairs.matrix, dgraph.apsp(named).matrix, edges, edges.edges, dgraph.Options())


@functools.cache
def places() -> tuple[Place, ...]:
    """Return the functions, constructors, class methods and methods that are public."""
    return tuple(_places())


def _places() -> Iterator[Place]:
    """Yield the functions, constructors, class methods and methods that are public."""
    for name in dgraph.__all__:
        value = getattr(dgraph, name)
        if inspect.isclass(value):
            if issubclass(value, BaseException):
                continue
            if name not in LEFT_OUT:
                yield _place(name, value)
            if name not in ENGINE:
                for method, _ in inspect.getmembers(value, inspect.ismethod):
                    yield from _method(name, value, method)
        elif inspect.isfunction(value) and name not in LEFT_OUT:
            yield _place(name, value)
    for receiver in receivers():
        kind = type(receiver)
        for method, _ in inspect.getmembers(kind, inspect.isfunction):
            yield from _method(kind.__name__, receiver, method)


def _method(owner: str, receiver: Any, method: str) -> Iterator[Place]:
    name = f"{owner}.{method}"
    if not method.startswith("_") and name not in ENGINE:
        place = _place(name, getattr(receiver, method), _named_vertices(receiver))
        if place.names and (method != "path" or "predecessor" in getattr(receiver, "columns", ("predecessor",))):
            yield place


def _named_vertices(receiver: Any) -> bool:
    holders = receiver, getattr(receiver, "ids", None)  # ids of a graph have its names
    return any(getattr(holder, name, None) is not None for holder in holders for name in ("names", "named"))


def _place(name: str, call: Callable[..., Any], named: bool = False) -> Place:
    names, required = [], []
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            names += OPTIONS.get(parameter.name, ("unknown",))
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            names.append(parameter.name)
            if parameter.default is parameter.empty:
                required.append(parameter.name)
    return Place(name, call, tuple(required), tuple(dict.fromkeys(names)), named)


OPTIONS = {
    "options": (*(field.name for field in fields(LoadOptions)), "n", "vertices"),
    "loading": tuple(field.name for field in fields(LoadOptions)),
    "parameters": ("source", "k"),
    "columns": ("score", "vertex"),
}
"""Name of a parameter ``**name`` → keywords that are passed for it."""


def complaint(place: Place, hostile: dict[str, Any]) -> str:
    """Call a function with hostile arguments; return "" if it answers or refuses one by name, else what it did.

    Args:
        place: the function.
        hostile: hostile arguments by name.
    """
    arguments = {name: place.fits(name) for name in place.required} | hostile
    if is_integer(vertices := hostile.get("n")) and 1 << 20 < int(vertices) < 1 << 40:
        return ""  # answered with gigabytes, where the machine has them
    if "options" in place.names and "max_iter" in hostile:
        arguments["options"] = dgraph.Options(max_rounds=9)  # a hostile limit of rounds may be endless
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", dgraph.ConvergenceWarning)
            place.call(**arguments)
    except dgraph.DgraphError as refused:
        text = str(refused).lower()
        shown = [str(value).lower() for value in hostile.values() if isinstance(value, (str, os.PathLike))]
        if not (any(_named(name, text) for name in hostile) or any(word in text for word in shown)) and (
            _reason(text) != _reason(_refusal(place, hostile))
        ):
            return f"names none of {', '.join(hostile)}: {text[:300]}"
        left = sorted(name for name in os.listdir() if name != ".hypothesis")
        return f"leaves {', '.join(left)}" if left else ""
    except Exception as fault:
        return f"{type(fault).__name__}: {fault!s:.200}"
    finally:
        _tidy()
    return ""


def _refusal(place: Place, hostile: dict[str, Any]) -> str:
    """Return how the call ends with arguments that fit in place of the hostile ones."""
    try:
        place.call(**{name: place.fits(name) for name in (*place.required, *hostile)})
    except dgraph.DgraphError as refused:
        return str(refused).lower()
    return ""


def _reason(text: str) -> str:
    """Return a message without the file or address before it."""
    return text.partition(": ")[2] or text


ALSO = {
    **dict.fromkeys(
        ("df", "table", "graph", "add", "remove", "matrix"), "table|graph|column|edge|source|target|node|weight"
    ),
    "sources": "source", "center": "vertices", "path": "output format", "offsets": "targets", "n": "within",
}  # fmt: skip
"""Parameter → other words by which a message names it: those of a table are its columns."""


def _named(name: str, text: str) -> bool:
    words = f"{re.escape(name.lower().replace('_', ' '))}|{ALSO.get(name, name.lower())}"
    return re.search(rf"\b({words})", text.replace("_", " ").replace("-", " ")) is not None


def _tidy() -> None:
    for left in os.listdir():
        shutil.rmtree(left) if os.path.isdir(left) else os.unlink(left)
