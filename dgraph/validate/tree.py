"""Certificate of bfs and sssp: Graph500's five validation rules, extended to directed arcs and weights of 0.

Theorem. Let d be distances, p predecessors, s the source, and + the addition of the weights' dtype (for floats it
rounds, but a ≤ b gives a + w ≤ b + w, and a + w ≥ a). If

1. d(s) = 0;
2. d(v) ≤ d(u) + w for every arc u → v of weight w with u reached (so no arc leads from a reached u to an unreached v);
3. every reached v ≠ s has a reached predecessor u and an arc u → v with d(u) + w = d(v);
4. predecessors contain no cycle,

then d(v) is the length of a shortest path from s to v, and p a tree of shortest paths. Proof: by 1 and 2, and induction
along any path, d(v) is at most its length. By 3 and 4 the predecessors of v are a path from s of length d(v).
With a cutoff, rule 2 applies to sums up to it, and no distance exceeds it; the proof holds for the shorter paths.

Comparisons are exact, for floats too: both sides are one addition in one dtype. Without predecessors, rules 3 and 4
must hold for *some* choice of them: v needs a tight arc (d(u) + w = d(v)) from a strictly nearer vertex, or a path of
tight arcs through a plateau of equal distances from a vertex that has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import UNREACHED
from dgraph.validate.tree_rules import tree_rules

Columns = Mapping[str, np.ndarray]


def bfs(distributed: DistributedColumns, columns: Columns, parameters: Mapping[str, Any], rounds: int) -> list[str]:
    """Check levels, and predecessors if the result has them; collective.

    Raises:
        ValidationFailed: a value is wrong.
    """
    tree = _Tree(distributed, columns, parameters["source"], parameters.get("depth_limit"), None)
    return ["levels", *tree.check()]


def sssp(distributed: DistributedColumns, columns: Columns, parameters: Mapping[str, Any], rounds: int) -> list[str]:
    """Check distances, and predecessors if the result has them; collective.

    Raises:
        ValidationFailed: a value is wrong.
    """
    tree = _Tree(distributed, columns, parameters["source"], parameters.get("cutoff"), distributed.block.weights)
    return ["distances", *tree.check()]


class _Tree:
    """Claimed shortest-path tree. ``parent`` holds gids, -1 for none; it is None if the result has no predecessors."""

    def __init__(self, distributed, columns, source, cutoff, weights):
        self.distributed, self.cutoff, self.weights = distributed, cutoff, weights
        self.rules = tree_rules(cutoff)
        self.distance = columns["distance"]
        self.far = UNREACHED if self.distance.dtype.kind == "i" else self.distance.dtype.type(np.inf)
        self.reached = self.distance != self.far
        self.is_source = distributed.gids == distributed.gid(source)
        self.predecessor = columns.get("predecessor")
        self.parent = None
        if self.predecessor is not None:
            self.parent = distributed.block.ids.to_gid(self.predecessor, distributed.comm)

    def check(self) -> list[str]:
        """Test all rules and return the properties proved."""
        self._values()
        if self.parent is None:
            self._supported()
            return ["no arc is a short cut", "every vertex is reached from a nearer one"]
        self._tree()
        return ["no arc is a short cut", "predecessors are a tree of tight arcs from the source"]

    def _rules(self, *names):
        return [self.rules[name] for name in names]

    def _values(self):
        """Test the rules that need no arcs."""
        source, negative, beyond = self._rules("source", "negative", "beyond")
        at = {"v": self.distributed.gids}, {"d": self.distance}
        source.test(self.is_source & (self.distance != 0), *at)
        negative.test(~(self.distance >= 0), *at)
        beyond.test(self._beyond(self.distance) & self.reached & ~self.is_source, *at)
        self.distributed.judge(source, negative, beyond)
        if self.predecessor is None:
            return
        root, out, none, lost = self._rules("root", "out", "none", "lost")
        at[1]["p"] = self.predecessor
        child = self.reached & ~self.is_source
        root.test(self.is_source & (self.predecessor != -1), *at)
        out.test(~self.reached & (self.predecessor != -1), *at)
        none.test(child & (self.parent < 0), *at)
        self.distributed.judge(root, out, none)
        before = np.zeros(self.distance.size, bool)
        before[child] = self.distributed.fetch(self.parent[child], self.reached)[0]
        lost.test(child & ~before, *at)
        self.distributed.judge(lost)

    def _arcs(self, *columns):
        """Yield pieces with both ends' distances and tight arcs, and test the rule that no arc is a short cut."""
        far, short = self.far, self.rules["short"]
        for piece in self.distributed.pieces(self.distance, *columns):
            here, there = self.distance[piece.rows], piece.there[0]
            if self.weights is None:
                weights = np.broadcast_to(np.ones(1, here.dtype), here.shape)
            else:
                weights = self.weights[piece.start : piece.stop].astype(here.dtype, copy=False)
            with np.errstate(over="ignore"):
                most = here + weights
            if far == UNREACHED:
                most[most < here] = far  # the sum overflowed 64 bits, or u is unreached
            bad = (there > most) & ~self._beyond(most)
            ends = {"u": piece.src, "v": piece.dst}
            short.test(bad, ends, {"w": weights, "du": here, "most": most, "dv": there})
            yield piece, here, there, (most == there) & (there != far)
        self.distributed.judge(short)

    def _tree(self):
        """Test that every predecessor's arc exists and is tight, and that predecessors lead to the source."""
        distributed, size = self.distributed, self.distance.size
        joined, tight = np.zeros(size, bool), np.zeros(size, bool)
        for piece, _, _, exact in self._arcs(self.parent):
            tree = piece.there[1] == piece.src
            distributed.mark(piece.dst[tree], joined)
            distributed.mark(piece.dst[tree & exact], tight)
        child = self.reached & ~self.is_source
        before = np.full(size, self.far, self.distance.dtype)
        before[child] = distributed.fetch(self.parent[child], self.distance)[0]
        arc, exact = self._rules("arc", "tight")
        at = {"v": distributed.gids}, {"p": self.predecessor, "dv": self.distance, "dp": before}
        arc.test(child & ~joined, *at)
        exact.test(child & ~tight, *at)
        distributed.judge(arc, exact)
        self._acyclic(child & (before == self.distance))

    def _acyclic(self, level):
        """Test that predecessors contain no cycle, by pointer jumping.

        A predecessor outside a plateau of equal distances is strictly nearer, so a cycle lies within a plateau: among
        the ``level`` rows, whose predecessor has the same distance. A chain of k rows leaves its plateau after log2(k)
        jumps; a cycle never does.
        """
        distributed = self.distributed
        pointer = np.where(level, self.parent, distributed.gids)
        inside, total = np.flatnonzero(level), distributed.comm.total(int(level.sum()))
        for _ in range(total.bit_length() + 1 if total else 0):
            next_pointer, level_there = distributed.fetch(pointer[inside], pointer, level)
            pointer[inside] = next_pointer
            inside = inside[level_there]
            if not distributed.comm.total(inside.size):
                break
        circle = self.rules["circle"]
        cyclic = np.zeros(level.size, bool)
        cyclic[inside] = True
        circle.test(cyclic, {"v": distributed.gids}, {"d": self.distance, "p": self.predecessor})
        distributed.judge(circle)

    def _supported(self):
        """Test that every reached vertex has a tight arc from a nearer one, or a tight path from one that has."""
        distributed = self.distributed
        settled, rows, targets = self.is_source.copy(), [], []
        for piece, here, there, exact in self._arcs():
            distributed.mark(piece.dst[exact & (here < there)], settled)
            flat = exact & (here == there)
            rows.append(piece.rows[flat].astype(piece.dst.dtype))
            targets.append(piece.dst[flat])
        source = np.concatenate([np.empty(0, distributed.block.targets.dtype), *rows])
        target = np.concatenate([np.empty(0, distributed.block.targets.dtype), *targets])
        while distributed.comm.total(source.size):
            ready = settled[source]
            if not distributed.comm.total(int(ready.sum())):
                break
            distributed.mark(target[ready], settled)
            source, target = source[~ready], target[~ready]
        alone = self.rules["alone"]
        alone.test(self.reached & ~settled, {"v": distributed.gids}, {"d": self.distance})
        distributed.judge(alone)

    def _beyond(self, values):
        """Return True where a value exceeds the cutoff."""
        if self.cutoff is None:
            return np.zeros(values.shape, bool)
        if values.dtype.kind == "f":
            values = values.astype(np.float64)  # else NumPy would round the cutoff to float32
        return values > self.cutoff
