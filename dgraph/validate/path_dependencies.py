"""Dependencies, computed again on the graph as it was loaded, and the certificate of the betweenness of edges.

Distances from a source are found by Bellman and Ford's rounds over the vertices that changed. The arcs that lie on
shortest paths make an acyclic graph. Numbers of paths are summed over it, each vertex after its predecessors, and
dependencies in the reverse order.
Dependencies are at least 0, so those of some sources are a lower bound of a sum; it is the sum if these are all.
By hops, the dependencies of all edges on a source also sum to its distances: every arc of a path counts it once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.errors import ValidationFailed
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule
from dgraph.validate.searched_arcs import AGAIN, NEAR, SearchedArcs, chosen_sources, places_of, row_offsets

Level = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Rows of this rank, the distinct ends of their arcs, and the place of each arc's end among them."""


class PathDependencies:
    """Dependencies of one source after the other, of this rank's rows; every method is collective.

    Args:
        distributed, arcs: the graph.
        weighted: distances are sums of weights, not hops.
        goals: 1 for rows to which paths count, else 0, float64; None: all.
        edges: dependencies of arcs are wanted, too; there are none otherwise.
    """

    def __init__(
        self,
        distributed: DistributedColumns,
        arcs: SearchedArcs,
        weighted: bool,
        goals: np.ndarray | None = None,
        edges: bool = False,
    ):
        self.distributed, self.arcs, self.edges = distributed, arcs, edges
        self.goals = np.ones(distributed.block.rows) if goals is None else goals
        self.hops, self.weights = not weighted, arcs.weights

    def of(self, source: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return dependencies of rows and of arcs, and the distances; None if numbers of paths overflow."""
        distributed, rows, targets, offsets = self.distributed, self.arcs.rows, self.arcs.targets, self.arcs.offsets
        n, first, places = distributed.block.rows, distributed.block.first, None
        begin = np.array([source - first] if 0 <= source - first < n else [], np.int64)
        if self.hops:
            distance, paths, levels = self._by_hops(begin)
        else:
            distance = self._distances(begin)
            length = distance[rows] + self.weights
            places = np.flatnonzero((length == self.arcs.at_targets(distance)) & (length < np.inf))
            rows, targets = rows[places], targets[places]
            offsets = row_offsets(rows, n)
            paths, levels = self._paths(begin, rows, targets, offsets)
        if distributed.comm.total(int(not np.isfinite(paths).all())):
            return None
        dependency, share, of_arcs = np.zeros(n), np.zeros(n), self._of_arcs()
        while levels:  # by hops, arcs lead to the next one at most: other shares there are still 0
            level, ends, ends_of_arcs = levels.pop()
            lengths = offsets[level + 1] - offsets[level]
            parts = np.repeat(paths[level], lengths) * distributed.fetch(ends, share)[0][ends_of_arcs]
            if len(parts):
                filled, after = level[lengths > 0], np.cumsum(lengths[lengths > 0])
                dependency[filled] = np.add.reduceat(parts, np.append(0, after[:-1]))
            share[level] = (self.goals[level] + dependency[level]) / paths[level]
            if self.edges:
                below = places_of(offsets, level)
                of_arcs[below if places is None else places[below]] = parts
        return dependency, of_arcs, distance

    def _of_arcs(self) -> np.ndarray:
        return np.zeros(len(self.arcs.rows) if self.edges else 0)

    def _by_hops(self, level: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Level]]:
        """Return the hops from the row in ``level``, the numbers of paths, and the levels."""
        distributed, arcs = self.distributed, self.arcs
        levels: list[Level] = []
        distance, paths, added = np.full(distributed.block.rows, np.inf), *np.zeros((2, distributed.block.rows))
        distance[level], paths[level] = 0.0, 1.0
        while distributed.comm.total(len(level)):
            ends, ends_of_arcs = distributed.numbered(arcs.targets[places_of(arcs.offsets, level)])
            levels.append((level, ends, ends_of_arcs))
            amounts = np.repeat(paths[level], arcs.offsets[level + 1] - arcs.offsets[level])
            with np.errstate(over="ignore"):
                entered = distributed.add(ends, np.bincount(ends_of_arcs, amounts, ends.size), added)
            level = entered[distance[entered] == np.inf]
            distance[level], paths[level] = len(levels), added[level]
            added[entered] = 0.0
        return distance, paths, levels

    def _distances(self, changed: np.ndarray) -> np.ndarray:
        """Return the distances from the row in ``changed``, on the rank that has it."""
        distributed, arcs = self.distributed, self.arcs
        distance = np.full(distributed.block.rows, np.inf)
        distance[changed] = 0.0
        while distributed.comm.total(len(changed)):
            arcs_out = places_of(arcs.offsets, changed)
            arcs_out = arcs_out[np.argsort(arcs.targets[arcs_out], kind="stable")]
            entered, starts = np.unique(arcs.targets[arcs_out], return_index=True)
            offers = distance[arcs.rows[arcs_out]] + self.weights[arcs_out]
            offers = np.minimum.reduceat(offers, starts) if len(starts) else offers
            rows, received = distributed.send(entered, offers)
            before = distance[rows]
            np.minimum.at(distance, rows, received)
            changed = np.unique(rows[distance[rows] < before])
        return distance

    def _paths(
        self, level: np.ndarray, rows: np.ndarray, targets: np.ndarray, offsets: np.ndarray
    ) -> tuple[np.ndarray, list[Level]]:
        """Return the numbers of paths from the row in ``level`` along arcs, and levels, each after those before it."""
        distributed, paths, entering = self.distributed, *np.zeros((2, self.distributed.block.rows))
        levels: list[Level] = []
        paths[level] = 1.0
        distributed.add(targets, np.ones(len(targets)), entering)
        while distributed.comm.total(len(level)):
            arcs_out = places_of(offsets, level)
            levels.append((level, *distributed.numbered(targets[arcs_out])))
            with np.errstate(over="ignore"):
                distributed.add(targets[arcs_out], paths[rows[arcs_out]], paths)
            reached = distributed.add(targets[arcs_out], np.full(len(arcs_out), -1.0), entering)
            level = reached[entering[reached] == 0]
        return paths, levels

    def summed(self, sources: np.ndarray, endpoints: bool = False) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the sums of rows and arcs over up to ``AGAIN`` of the sources, and their number."""
        again = sources[np.unique(np.linspace(0, max(len(sources) - 1, 0), min(len(sources), AGAIN)).astype(np.int64))]
        of_rows, of_arcs, counted = np.zeros(self.distributed.block.rows), self._of_arcs(), 0
        for source in again.tolist():
            sums = self.of(source)
            if sums is not None:
                dependency, arcs, distance = sums
                reached = distance < np.inf
                dependency[reached] += endpoints
                others = self.distributed.comm.total(int(reached.sum())) - 1
                dependency[self.distributed.gids == source] = others * endpoints
                of_rows += dependency
                of_arcs += arcs
                counted += 1
        return of_rows, of_arcs, counted


@certifies("edge_bc")
def edge_bc(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check the values of edges, and the columns ``edge_bc`` and ``target``; collective.

    Raises:
        ValidationFailed: an edge is missing, or its value is wrong or below what some sources give.
    """
    arcs, n, comm = SearchedArcs(distributed), int(distributed.starts[-1]), distributed.comm
    undirected, weighted = not distributed.block.directed, parameters["weighted"]
    sources = chosen_sources(distributed, parameters)
    ends = max(n * (n - 1), 1)
    scale = (1 if parameters["normalized"] else ends / (2 if undirected else 1)) * n / (max(len(sources), 1) * ends)
    source, target = arcs.rows + distributed.block.first, arcs.targets
    _, part, counted = PathDependencies(distributed, arcs, weighted, edges=True).summed(sources)
    if undirected:
        part = part + arcs.of_reverse(part)
    part *= scale
    if distributed.edges is None:
        return _vertices_alone(distributed, columns, arcs, part, counted == len(sources))
    values = _placed(distributed, arcs, undirected)
    _figures(distributed, columns, arcs, values)
    pair = {"u": source, "v": target}
    least = Rule("betweenness is at least that of some sources", "edge {u} → {v} has {x}, and some alone give {y}")
    distributed.judge(least.test(~(values >= part - NEAR * (1 + part)), pair, {"x": values, "y": part}))
    if counted == len(sources):
        equal = Rule("betweenness is of the dependencies", "edge {u} → {v} has {x}, and {y} was computed")
        equal.test(~(np.abs(values - part) <= NEAR * (1e-3 + part)), pair, {"x": values, "y": part})
        distributed.judge(equal)
        return [f"dependencies of all {counted} sources were computed again"]
    if weighted and distributed.block.weights is not None:
        return [f"dependencies of {counted} of {len(sources)} sources are a bound"]
    wanted = scale * (1 + undirected) * sum(arcs.inner(sources[i : i + 64], 1) for i in range(0, len(sources), 64))
    total = distributed.sum(values)
    whole = Rule("the total is that of the distances", "values sum to {x}, and distances to {y}")
    off = np.array([abs(total - wanted) > NEAR * (1 + wanted) and comm.rank == 0])
    distributed.judge(whole.test(off, {}, {"x": np.array([total]), "y": np.array([wanted])}))
    return ["values sum to the distances", f"those of {counted} of {len(sources)} sources are a bound"]


def _placed(distributed: DistributedColumns, arcs: SearchedArcs, undirected: bool) -> np.ndarray:
    """Return the value of each arc of this rank; an undirected edge gives it to both arcs."""
    source, target = distributed.edge_ends()
    values, comm = distributed.edges.values, distributed.comm
    if undirected:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
        values = np.tile(values, 2)
    order = np.argsort(source, kind="stable")
    rows, ends, values = distributed.send(source[order], target[order], values[order])
    order = np.lexsort((ends, rows))
    rows, ends, values = rows[order], ends[order], values[order]
    same = len(rows) == len(arcs.rows) and np.array_equal(rows, arcs.rows) and np.array_equal(ends, arcs.targets)
    if comm.total(int(not same)):
        raise ValidationFailed("the answer is wrong: its edges are not those of the graph, each once")
    return values


def _figures(distributed: DistributedColumns, columns: Mapping, arcs: SearchedArcs, values: np.ndarray) -> None:
    """Compare the columns of vertices with the values of their edges."""
    most = _largest(arcs, values)
    largest = Rule("a vertex has its edge of largest value", "vertex {v} has {x}, and its edges at most {y}")
    largest.test(columns["edge_bc"] != most, {"v": distributed.gids}, {"x": columns["edge_bc"], "y": most})
    best, last = values == most[arcs.rows], np.iinfo(np.int64).max
    nearest = np.full(distributed.block.rows, last)
    ends = distributed.block.ids.to_original(arcs.targets[best], distributed.comm)
    np.minimum.at(nearest, arcs.rows[best], ends)
    nearest[nearest == last] = -1
    other = Rule("target is the other end of that edge", "vertex {v} names another edge")
    other.test(columns["target"] != nearest, {"v": distributed.gids}, {})
    distributed.judge(largest, other)


def _largest(arcs: SearchedArcs, values: np.ndarray) -> np.ndarray:
    """Return the largest value of each row's arcs, infinite without arcs."""
    most = np.full(arcs.distributed.block.rows, -np.inf)
    np.maximum.at(most, arcs.rows, values)
    most[most == -np.inf] = np.inf
    return most


def _vertices_alone(
    distributed: DistributedColumns, columns: Mapping, arcs: SearchedArcs, part, exact: bool
) -> list[str]:
    """Check the columns of an answer without values of edges; ``part`` are the values if they are ``exact``."""
    claimed, most = columns["edge_bc"], _largest(arcs, part)
    rule = Rule("a vertex has its edge of largest value", "vertex {v} has {x}, and its edges at most {y}")
    below = NEAR * (1e-3 + np.where(most < np.inf, most, 0.0))
    with np.errstate(invalid="ignore"):
        wrong = ~((claimed == most) | (claimed > most - below)) | (exact & (claimed > most + below))
    rule.test(wrong | ((claimed == np.inf) != (most == np.inf)), {"v": distributed.gids}, {"x": claimed, "y": most})
    target = Rule("a vertex with edges names one of them", "vertex {v} names no edge of it")
    named = distributed.block.ids.to_gid(columns["target"], distributed.comm)
    has = np.zeros(distributed.block.rows, bool)
    has[arcs.rows[arcs.targets == named[arcs.rows]]] = True
    has |= (columns["target"] == -1) & (most == np.inf)
    target.test(~has, {"v": distributed.gids}, {})
    distributed.judge(rule, target)
    return ["columns of vertices have the largest values of their edges"]
