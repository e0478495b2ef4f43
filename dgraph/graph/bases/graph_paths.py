"""Path between two vertices of a graph."""

from __future__ import annotations

from typing import Any

from dgraph._support.arguments import flag, vertex
from dgraph.comm import collective
from dgraph.graph.bases.graph_subgraphs import GraphSubgraphs
from dgraph.graph.bases.graph_values import solved
from dgraph.graph.kept_columns import gids_of, vertex_array
from dgraph.graph.pair_search import path_between


class GraphPaths(GraphSubgraphs):
    """Path between two vertices of a :class:`~dgraph.Graph`."""

    built_on: Any
    partition: Any

    @collective
    def shortest_path(self, source: int | str, target: int | str, weighted: bool = False) -> list:
        """Return a shortest path between two vertices: that of ``dgraph.bfs`` or ``dgraph.sssp``; collective.

        On one rank with its rows in the host's memory a path of fewest edges is searched from both ends, by one thread
        [Pohl 1971]. Otherwise bfs, or with ``weighted`` sssp, runs up to ``target``.

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
        with self.comm.together():
            weighted = flag("weighted", weighted)
            first, last = vertex("source", source), vertex("target", target)
        if weighted or self.comm.size > 1 or self.built_on is not None or not self.ids.ascending:
            return solved(self, "sssp" if weighted else "bfs", source=first, target=last).path(last)
        block, names = self.block, self.ids.names
        ends = [gids_of(what, vertex_array(what, [v]), block, self.comm)[0] for what, v in
                (("source", first), ("target", last))]  # fmt: skip
        rows = block.offsets, block.targets
        incoming = self.partition().local.incoming if block.directed else None
        in_rows = rows if incoming is None else (incoming.offsets, incoming.neighbours)
        numbers = block.ids.to_original(path_between(*rows, *in_rows, *ends), self.comm)
        return (numbers if names is None else names.of(numbers, self.comm)).tolist()
