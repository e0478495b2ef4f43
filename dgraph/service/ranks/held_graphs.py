"""Graphs that stay on the ranks, by name and version, and subgraphs of theirs that jobs run on."""

from __future__ import annotations

import json
import operator
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.errors import UsageError, unknown
from dgraph.graph.stored_graph import Graph
from dgraph.service.ranks.held_results import NotFound

MOST_SUBGRAPHS = 4
"""Subgraphs that are kept for later jobs on them."""

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

Key = tuple[str, int]


class HeldGraphs:
    """Graphs by (name, version), the same on every rank.

    A graph that only a GPU holds is closed where memory is short, and opened again from its folder by its next use.

    Attributes:
        stores: folders of the graphs.
        reopen: function that opens the graph of a folder; collective.
    """

    def __init__(self) -> None:
        self.stores: dict[Key, Path] = {}
        self.reopen: Callable[[Path], Graph] | None = None
        self._graphs: OrderedDict[Key, Graph | None] = OrderedDict()
        self._subgraphs: OrderedDict[tuple[Key, str], Graph] = OrderedDict()

    def __iter__(self) -> Iterator[Graph]:
        return (graph for graph in self._graphs.values() if graph is not None)

    def hold(self, name: str, version: int, graph: Graph, store: Path) -> None:
        """Hold a graph, in place of the one of that name and version; ``store`` is its folder."""
        self.drop(name, version)
        self.stores[name, version] = store
        self._graphs[name, version] = graph

    def find(self, name: str, version: int) -> Graph:
        """Return a graph; collective if it was closed for others.

        Raises:
            NotFound: the ranks do not hold it.
        """
        if (name, version) not in self._graphs:
            versions = sorted(number for graph_name, number in self._graphs if graph_name == name)
            there = f"its versions here are {', '.join(map(str, versions))}" if versions else "load it first"
            raise NotFound(f"the ranks do not hold version {version} of the graph {name!r}; {there}")
        graph = self._graphs[name, version]
        if graph is None:
            assert self.reopen is not None
            graph = self._graphs[name, version] = self.reopen(self.stores[name, version])
        self._graphs.move_to_end((name, version))
        return graph

    def evict(self, but: Key | None = None) -> bool:
        """Close the graph that was unused for longest and that only a GPU holds, other than ``but``.

        Returns:
            False if there is none.
        """
        if self.reopen is None:
            return False
        for key, graph in self._graphs.items():
            if key != but and graph is not None and graph.built_on is not None:
                self._forget_subgraphs(key)
                self._graphs[key] = None
                graph.close()
                return True
        return False

    def drop(self, name: str, version: int | None = None) -> None:
        """Close and forget one version, or all; nothing happens if there is none."""
        for key in [key for key in self._graphs if key[0] == name and version in (None, key[1])]:
            self._forget_subgraphs(key)
            graph = self._graphs.pop(key)
            if graph is not None:
                graph.close()
            del self.stores[key]

    def replace(self, name: str, version: int, graph: Graph) -> None:
        """Set another handle of the same edges, such as one with a further column."""
        self._forget_subgraphs((name, version))
        self._graphs[name, version] = graph

    def chosen(self, name: str, version: int, where: dict[str, Any] | None) -> Graph:
        """Return a graph, or the subgraph of the vertices that ``where`` selects; collective.

        Args:
            name: name of the graph.
            version: its version.
            where: ``{"column": …, "is": "==", "value": …}``: a kept column, "vertex" or "out_degree", compared with a
                value; None: all vertices.

        Raises:
            NotFound: the ranks do not hold the graph.
            UsageError: no such column or comparison, or no vertex is selected.
        """
        graph = self.find(name, version)
        if where is None:
            return graph
        predicate = _predicate(where)
        key = (name, version), json.dumps(where, sort_keys=True)
        if key not in self._subgraphs:
            while len(self._subgraphs) >= MOST_SUBGRAPHS:
                self._subgraphs.popitem(last=False)[1].close()
            self._subgraphs[key] = graph.filter_vertices(predicate)
        self._subgraphs.move_to_end(key)
        return self._subgraphs[key]

    def _forget_subgraphs(self, key: Key) -> None:
        for subgraph in [entry for entry in self._subgraphs if entry[0] == key]:
            self._subgraphs.pop(subgraph).close()


def _predicate(where: dict[str, Any]) -> Callable[[Any], np.ndarray]:
    """Return the comparison of one column with a value."""
    if not isinstance(where, dict) or set(where) - {"column", "is", "value"} or not {"column", "value"} <= set(where):
        raise UsageError(f"where = {where!r:.80} is not a selection; give column, value, and is, a comparison")
    name, compared, value = where["column"], where.get("is", "=="), where["value"]
    if compared not in COMPARISONS:
        raise unknown("comparison", str(compared), COMPARISONS)
    if not isinstance(value, (bool, int, float, str)):
        raise UsageError(f"where compares with one number, bool or text; {value!r:.40} is not one; give one")
    return lambda rows: np.asarray(COMPARISONS[compared](rows[str(name)], value), bool)
