"""Prover on the CPUs: counts violations of rules in the rows as they were loaded, by all threads of a rank.

Methods return rule → (violations on this rank, place of the first), see :class:`dgraph.validate.violation.Violations`.
All are collective.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dgraph.validate import answer_kernels, tree_kernels
from dgraph.validate.component_forest import ComponentForest
from dgraph.validate.host.host_forest import HostForest
from dgraph.validate.host.host_peel import HostPeel
from dgraph.validate.host.host_ranks import HostRanks
from dgraph.validate.host.host_rows import HostRows
from dgraph.validate.host.host_strong import HostClasses
from dgraph.validate.rule import UNREACHED
from dgraph.validate.violation import NOWHERE

Found = dict[str, tuple[int, Any]]

FAR = 255
"""Level of an unreached vertex where levels have one byte."""


class HostProver:
    """Rows of every rank. ``threads``: of this rank; None: its share of the cores."""

    def __init__(self, distributed: Any, threads: int | None = None):
        self._distributed, self.block, self.comm = distributed, distributed.block, distributed.comm
        self._threads = threads
        self._rows: HostRows | None = None

    @property
    def rows(self) -> HostRows:
        """The rows; collective at first use."""
        if self._rows is None:
            self._rows = HostRows(self._distributed, self._threads)
        return self._rows

    def weight(self, u: int, v: int, dtype: np.dtype, weighted: bool) -> np.generic:
        """Return the smallest weight of an arc u → v of this rank; not collective."""
        block = self.block
        if not weighted:
            return dtype.type(1)
        piece = slice(*block.offsets[u - block.first : u - block.first + 2].tolist())
        return block.weights[piece][block.targets[piece] == v].min().astype(dtype)

    def prove_tree(
        self,
        distance: np.ndarray,
        parent: np.ndarray | None,
        source: int | np.ndarray,
        cutoff: float | None,
        weighted: bool,
        signed: bool = False,
    ) -> Found:
        """Check distances from one or the nearest of several gids, and the gids of predecessors.

        ``signed``: weights may be negative.
        """
        block, rows, kernels = self.block, self.rows, tree_kernels
        real = distance.dtype.kind == "f"
        far = distance.dtype.type(np.inf) if real else np.int64(UNREACHED)
        starts = np.isin(self._distributed.gids, source)
        signed = signed and self.comm.total(bool((block.weights < 0).any())) > 0
        limit, least = _limit(cutoff, real), (-math.inf if real else np.iinfo(np.int64).min) if signed else 0
        weights = _weights(block.weights if weighted else None, distance.dtype)
        levels = None if weighted or real else self._levels(distance)
        if levels is not None:
            distance, far = levels, np.uint8(FAR)
        parents = np.zeros(0, np.int64) if parent is None else parent
        before = distance[:0] if parent is None else self._before(distance, parent, far)
        claims = distance, far, starts, limit, parents, before, block.n, least
        violations = rows.count(kernels.VERTEX_RULES, lambda *part: kernels.tree_vertices(*part, *claims))
        joined, tight = marks = np.zeros((2, block.rows), np.bool_)
        graph = block.offsets, block.targets, weights, block.first
        counts: Any = [(1, 0)]
        if not block.directed and weighted:
            columns = rows.by_gid(distance), far, real, limit, parents
            counts = rows.run(lambda _, *part: kernels.tree_rows(*part, *graph, *columns, *marks))
        elif not block.directed:
            unweighted = block.offsets, block.targets, block.first, rows.by_gid(distance), far, limit, parents, *marks
            counts = [(short, 0) for short in rows.run(lambda _, *part: kernels.level_rows(*part, *unweighted))]
        short, plateaus = np.array(counts, np.int64).reshape(-1, 2).sum(axis=0).tolist()
        violations |= {"short": (0, -1), "plateaus": (plateaus, -1)}
        if self.comm.total(short):  # of an undirected graph: the first violation by its source
            marks = np.zeros((2, rows.size), np.bool_)
            pointers = parents if parent is None else rows.extended(parent)
            extended = rows.table, rows.extended(distance), far, real, limit, pointers
            violations |= rows.count(
                kernels.ARC_RULES, lambda *part: kernels.tree_arcs(*part, *graph, *extended, *marks)
            )
            joined, tight = (rows.returned(column, np.logical_or) for column in marks)
        joined, tight = (column[: block.rows] for column in (joined, tight))
        is_child = (distance != far) & ~starts
        plateaus = self.comm.total(violations.pop("plateaus")[0]) > 0 or signed
        if plateaus and not self.comm.total(violations["short"][0]):
            if parent is None:
                tight &= not signed
                tight[(distance == 0) & ~is_child] = True  # the source
                self._follow_tight(distance, weights, far, tight, signed)
            else:
                violations["circle"] = self._circles(
                    parent, is_child & (before != far if signed else before == distance)
                )
        violations["plateaus"] = 0, -1
        ends = distance, far, starts, parent is not None, joined, tight
        return violations | rows.count(kernels.END_RULES, lambda *part: kernels.tree_ends(*part, *ends))

    def _levels(self, distance: np.ndarray) -> np.ndarray | None:
        """Return levels as one byte each, ``FAR`` for the unreached; None if those of some rank do not fit."""
        fit = (distance >= 0) & (distance < FAR - 1) | (distance == UNREACHED)
        return None if self.comm.total(not fit.all()) else np.minimum(distance, FAR).astype(np.uint8)

    def _before(self, distance: np.ndarray, parent: np.ndarray, far: np.generic) -> np.ndarray:
        """Return the distance of each row's predecessor; ``far`` without one."""
        before = np.full(distance.size, far, distance.dtype)
        named = (parent >= 0) & (parent < self.block.n)
        if distance.itemsize == 1:
            before[named] = self.rows.by_gid(distance)[parent[named]]
        else:
            before[named] = self._distributed.fetch(parent[named], distance)[0]
        return before

    def _circles(self, parent: np.ndarray, level: np.ndarray) -> tuple[int, int]:
        """Test that predecessors contain no cycle, by pointer jumping.

        A predecessor outside a plateau of equal distances is strictly nearer, so a cycle lies within a plateau: among
        the ``level`` rows, whose predecessor has the same distance. A chain of k rows leaves its plateau after log2(k)
        jumps; a cycle never does. With negative weights all rows with a predecessor are ``level``.
        """
        distributed = self._distributed
        pointer = np.where(level, parent, distributed.gids)
        inside, total = np.flatnonzero(level), distributed.comm.total(int(level.sum()))
        for _ in range(total.bit_length() + 1 if total else 0):
            next_pointer, level_there = distributed.fetch(pointer[inside], pointer, level)
            pointer[inside] = next_pointer
            inside = inside[level_there]
            if not distributed.comm.total(inside.size):
                break
        return inside.size, int(inside[0]) + self.block.first if inside.size else -1

    def _follow_tight(
        self, distance: np.ndarray, weights: np.ndarray, far: np.generic, settled: np.ndarray, signed: bool
    ) -> None:
        """Mark vertices to which tight arcs lead from a settled vertex, of the same distance unless ``signed``."""
        distributed, block = self._distributed, self.block
        rows, targets = [], []
        for piece in distributed.pieces(distance):
            here, there = distance[piece.rows], piece.there[0]
            weight = weights[piece.start : piece.stop] if weights.size != 1 else weights[0]
            follows = ((here == there) | signed) & (here != far) & (here + weight == there)
            rows.append(piece.rows[follows].astype(piece.dst.dtype))
            targets.append(piece.dst[follows])
        source = np.concatenate([np.empty(0, block.targets.dtype), *rows])
        target = np.concatenate([np.empty(0, block.targets.dtype), *targets])
        while distributed.comm.total(source.size):
            ready = settled[source]
            if not distributed.comm.total(int(ready.sum())):
                break
            distributed.mark(target[ready], settled)
            source, target = source[~ready], target[~ready]

    def prove_colors(self, color: np.ndarray) -> tuple[Found, int]:
        """Check colours, and return the smallest colour that no vertex has."""
        block = self.block
        most = min(int(self.comm.largest(int(color.max(initial=-1)))), block.n)
        used = np.zeros(max(most, 0) + 2, np.bool_)
        used[color[(color >= 0) & (color <= most)]] = True
        used = self.comm.allreduce(used.astype(np.int64)) > 0
        gap = int(np.argmin(used))
        violations = {"given": self._vertices(color < 0), "beyond": self._vertices(color > gap)}
        return violations | self._unequal("differ", color, True), gap

    def _unequal(self, rule: str, column: np.ndarray, equal: bool) -> Found:
        block = self.block
        graph = block.offsets, block.targets, block.first, self.rows.by_gid(column), equal
        return self.rows.count((rule,), lambda *part: answer_kernels.unequal_arcs(*part, *graph))

    def _vertices(self, bad: np.ndarray) -> tuple[int, int]:
        hits = int(np.count_nonzero(bad))
        return hits, self.block.first + int(np.argmax(bad)) if hits else -1

    def prove_set(self, inside: np.ndarray) -> Found:
        """Check membership of a maximal independent set."""
        block, rows = self.block, self.rows
        member, covered = inside == 1, np.zeros(block.rows, np.bool_)
        graph = block.offsets, block.targets, rows.table, rows.extended(member), covered
        violations = rows.count(("apart",), lambda *part: answer_kernels.member_arcs(*part, *graph))
        violations["decided"] = self._vertices(~member & (inside != 0))
        violations["maximal"] = self._vertices(~member & ~covered)
        return violations

    def prove_labels(self, label: np.ndarray, claimed: np.ndarray) -> tuple[Found, Any]:
        """Check labels (gids); return also a function that returns the smallest original id joined to a gid."""
        block, distributed = self.block, self._distributed
        violations: Found = {"vertex": self._vertices(label < 0)}
        if self.comm.total(violations["vertex"][0]):
            return violations, None
        violations["own"] = self._vertices(distributed.fetch(label, label)[0] != label)
        violations |= self._unequal("equal", label.astype(block.targets.dtype), False)
        label = label if block.ids.ascending else claimed
        forest = ComponentForest(distributed, self.rows)
        lowest = forest.lowest(quick=not block.directed)
        if self.comm.total(int(np.count_nonzero(lowest != label))):  # a wrong label, or arcs that were not visited
            lowest = forest.lowest()
        violations |= {"under": self._vertices(lowest < label), "apart": self._vertices(lowest > label)}

        def smallest(gid: int | None) -> np.generic:
            lowest_there = distributed.read(lowest, gid)
            if not block.ids.ascending:
                return lowest_there
            return np.append(block.ids.to_original(np.array([lowest_there]), self.comm), 0)[0]

        return violations, smallest

    def prove_strong(self, root: np.ndarray, claimed: np.ndarray) -> Found:
        """Check labels of strong components (gids); rules that come after a broken one are left out."""
        distributed, total, ids = self._distributed, self.comm.total, self.block.ids
        violations: Found = {"vertex": self._vertices(root < 0)}
        if total(violations["vertex"][0]):
            return violations
        if not self.block.directed:  # if its components are right, searches have nothing to find
            of_components = self.prove_labels(root, claimed)[0]
            if not total(sum(count for count, _ in of_components.values())):
                return of_components
        violations["own"] = self._vertices(distributed.fetch(root, root)[0] != root)
        originals = distributed.gids if ids.ascending else ids.to_original(distributed.gids, self.comm)
        violations["larger"] = self._vertices((root if ids.ascending else claimed) > originals)
        if total(violations["own"][0] + violations["larger"][0]):
            return violations
        classes = HostClasses(distributed, self.rows, root)
        behind = classes.behind()
        before = classes.before() if self.block.directed else behind
        violations |= {"behind": self._vertices(~behind), "before": self._vertices(~before)}
        if not total(violations["behind"][0] + violations["before"][0]):
            violations["apart"] = self._vertices(classes.on_cycles())
        return violations

    def prove_forest(
        self, source: np.ndarray, target: np.ndarray, weight: np.ndarray, ends: tuple[np.ndarray, np.ndarray]
    ) -> tuple[Found, HostForest]:
        """Check the edges of rows, of which ``ends`` are gids; return also the forest."""
        chosen = (source >= 0) | (target >= 0) | (weight != (np.inf if weight.dtype.kind == "f" else UNREACHED))
        first, second = ends
        violations: Found = {"valid": self._vertices(chosen & ((first < 0) | (second < 0) | (first == second)))}
        right = chosen if not self.comm.total(violations["valid"][0]) else np.zeros_like(chosen)
        forest = HostForest(self.comm, self.block.n, first[right], second[right], weight[right])
        violations |= {"circle": forest.circle(), "apart": NOWHERE, "light": NOWHERE, "missing": NOWHERE}
        if not self.comm.total(violations["valid"][0] + violations["circle"][0]):
            violations |= forest.check(self.rows)
        return violations, forest

    def prove_cores(self, core: np.ndarray, k: int = -1, multiple: bool = False) -> tuple[Found, int]:
        """Check core numbers, or membership of the ``k``-core; return also how many the first that lacks any has.

        Loops do not count, and parallel arcs once, or each if ``multiple``.
        """
        block = self.block
        values = core.astype(np.int64, copy=False)
        first = second = np.ones(block.rows, np.bool_)
        if k >= 0:
            first, second, values = values == 1, values == 0, k - 1 + values
        violations: Found = {"flag": self._vertices(~(first | second)), "larger": (0, -1)}
        peeling = HostPeel(self._distributed, self.rows, values, multiple)
        degree = peeling.degree
        violations["few"] = lacks, lacking = self._vertices(first & (degree < values))
        if self.comm.total(lacks + violations["flag"][0]):
            return violations, int(degree[lacking - block.first]) if lacks else 0
        violations["larger"] = self._vertices(second & ~peeling.peeled(second & (degree <= values)))
        return violations, 0

    def prove_ranks(self, rank: np.ndarray, alpha: float, jump: np.ndarray | None, single: bool) -> HostRanks:
        """Check ranks one by one, and return the iterations' steps."""
        claimed = rank.astype(np.float64, copy=False)
        return HostRanks(self._distributed, self.rows, claimed, alpha, jump, single)


def _limit(cutoff: float | None, real: bool) -> np.generic:
    if real:
        return np.float64(math.inf if cutoff is None else cutoff)
    return np.int64(UNREACHED if cutoff is None or cutoff >= UNREACHED else math.floor(cutoff))


def _weights(weights: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
    """Return weights whose sums with distances have the distances' dtype; one for all if there are none."""
    if weights is None:
        return np.ones(1, np.int32 if dtype.kind == "i" else dtype)
    return weights if weights.dtype.kind == dtype.kind == "i" else weights.astype(dtype, copy=False)
