"""Paths between two vertices, and neighbours of one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dgraph._support.arguments import flag, vertex
from dgraph.comm import collective
from dgraph.graph.bases.graph_subgraphs import GraphSubgraphs
from dgraph.graph.bases.graph_values import solved
from dgraph.graph.bases.shared_attribute import SharedAttribute
from dgraph.graph.kept_columns import gids_of, vertex_array
from dgraph.graph.pair_search import PairSearch


class GraphPaths(GraphSubgraphs):
    """Paths and neighbours of a :class:`~dgraph.Graph`."""

    built_on: Any
    partition: Any
    _pair_search = SharedAttribute()

    @collective
    def shortest_path(self, source: int | str, target: int | str, weighted: bool = False) -> list:
        """Return a shortest path between two vertices: that of ``dgraph.bfs`` or ``dgraph.sssp``; collective.

        On one rank with its rows in the host's memory a path of fewest edges is searched from both ends, by one thread
        [Pohl 1971]; up to 16 bytes a vertex then stay with the graph for the next pair. Otherwise bfs, or with
        ``weighted`` sssp, runs up to ``target``.

        Args:
            source: first vertex, by original id or name.
            target: last vertex.
            weighted: True for the smallest sum of weights, False for fewest edges.

        Returns:
            Original ids, or names, of its vertices, from ``source`` to ``target``; ``[]`` if no path leads there. Of
            several shortest paths the one on which each vertex has its smallest predecessor.

        Raises:
            UsageError: a vertex that the graph does not have, or weights < 0.
        """
        weighted, first, last = self._ends(source, target, weighted)
        if weighted or self.comm.size > 1 or self.built_on is not None or not self.ids.ascending:
            return solved(self, "sssp" if weighted else "bfs", source=first, target=last).path(last)
        search, ends = self._pair(first, last)
        return self._called(self.ids.to_original(search.path(*ends), self.comm)).tolist()

    @collective
    def shortest_path_length(self, source: int | str, target: int | str, weighted: bool = False) -> float:
        """Return the length of :meth:`shortest_path`: its edges, or the sum of its weights; infinite without a path.

        Args:
            source: as of :meth:`shortest_path`.
            target: as of :meth:`shortest_path`.
            weighted: as of :meth:`shortest_path`.

        Raises:
            UsageError: as of :meth:`shortest_path`.
        """
        weighted, first, last = self._ends(source, target, weighted)
        if weighted or self.comm.size > 1 or self.built_on is not None:
            name = "sssp" if weighted else "bfs"
            search = solved(self, name, source=first, target=last, return_predecessors=False)
            length = search.summary["target_distance"]
        else:
            search, ends = self._pair(first, last)
            length = search.hops(*ends)
        return math.inf if length is None or (length < 0 and not weighted) else length

    @collective
    def neighbors(self, vertex: int | str) -> np.ndarray:
        """Return the vertices that an edge leads to from a vertex, ascending by id, on every rank; collective.

        Args:
            vertex: original id or name.

        Returns:
            Original ids, int64, or names, str (dtype object), each once.

        Raises:
            UsageError: a vertex that the graph does not have.
        """
        block = self.block
        row = int(gids_of("vertex", vertex_array("vertex", [vertex]), block, self.comm)[0]) - block.first
        here = 0 <= row < block.rows
        targets = block.targets[block.offsets[row] : block.offsets[row + 1]] if here else np.zeros(0, np.int64)
        gids = np.concatenate(self.comm.allgatherv(np.unique(targets).astype(np.int64)))
        return self._called(np.sort(self.ids.to_original(gids, self.comm)))

    def _ends(self, source: int | str, target: int | str, weighted: bool) -> tuple[bool, Any, Any]:
        with self.comm.together():
            return flag("weighted", weighted), vertex("source", source), vertex("target", target)

    def _pair(self, first: int | str, last: int | str) -> tuple[PairSearch, list[int]]:
        """Return the search of this rank's rows, kept since an earlier call, and the gids of two vertices."""
        block, kept = self.block, self._pair_search
        ends = [gids_of(what, vertex_array(what, [v]), block, self.comm)[0] for what, v in
                (("source", first), ("target", last))]  # fmt: skip
        if kept is None or kept.rows[0] is not block.offsets:
            rows = block.offsets, block.targets
            incoming = self.partition().local.incoming if block.directed else None
            kept = PairSearch(*rows, *(rows if incoming is None else (incoming.offsets, incoming.neighbours)))
            self._pair_search = kept
        return kept, ends

    def _called(self, numbers: np.ndarray) -> np.ndarray:
        """Return vertices as users call them, by original id or name; collective."""
        return numbers if self.ids.names is None else self.ids.names.of(numbers, self.comm)
