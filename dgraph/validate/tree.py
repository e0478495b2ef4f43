"""Certificate of bfs and sssp: Graph500's five rules, as they must read where arcs go one way and weights may be 0.

Theorem. Let d be distances, p predecessors, s the source, and + the addition of the weights' dtype (for floats it
rounds, but a ≤ b gives a + w ≤ b + w, and a + w ≥ a). If

1. d(s) = 0;
2. d(v) ≤ d(u) + w for every arc u → v of weight w with u reached (and with v unreached there is no such arc);
3. every reached v ≠ s has a reached predecessor u and an arc u → v with d(u) + w = d(v);
4. predecessors do not run in a circle,

then d(v) is the length of a shortest path from s to v, and p a tree of such paths. Proof: by 1 and 2, and induction
along any path, d(v) is at most its length. By 3 and 4 the predecessors of v are a path from s of length d(v).
With a cutoff, 2 is asked of sums up to it, and no distance exceeds it; the same proof holds for shorter paths.

Comparisons are exact, for floats too: both sides are one addition in one dtype. Without predecessors, 3 and 4 are
asked of *some* choice of them: v must be supported by tight arcs from a strictly nearer vertex, or through a plateau
of equal distances from one that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import UNREACHED
from dgraph.validate.tree_rules import tree_rules

Columns = Mapping[str, np.ndarray]


def bfs(ground: DistributedColumns, columns: Columns, parameters: Mapping[str, Any], rounds: int) -> list[str]:
    """Levels, and predecessors where the result has them."""
    tree = _Tree(ground, columns, parameters["source"], parameters.get("depth_limit"), None)
    return ["levels", *tree.check()]


def sssp(ground: DistributedColumns, columns: Columns, parameters: Mapping[str, Any], rounds: int) -> list[str]:
    """Distances, and predecessors where the result has them."""
    tree = _Tree(ground, columns, parameters["source"], parameters.get("cutoff"), ground.block.weights)
    return ["distances", *tree.check()]


class _Tree:
    """A claimed shortest-path tree. ``parent``: gids, -1 where there is none; None where the result has none."""

    def __init__(self, ground, columns, source, cutoff, weights):
        self.ground, self.cutoff, self.weights = ground, cutoff, weights
        self.rules = tree_rules(cutoff)
        self.distance = columns["distance"]
        self.far = UNREACHED if self.distance.dtype.kind == "i" else self.distance.dtype.type(np.inf)
        self.reached = self.distance != self.far
        self.here = ground.gids == ground.gid(source)
        self.predecessor = columns.get("predecessor")
        self.parent = None
        if self.predecessor is not None:
            self.parent = ground.block.ids.to_gid(self.predecessor, ground.comm)

    def check(self) -> list[str]:
        self._values()
        if self.parent is None:
            self._supported()
            return ["no arc is a short cut", "every vertex is reached from a nearer one"]
        self._tree()
        return ["no arc is a short cut", "predecessors are a tree of tight arcs from the source"]

    def _taken(self, *names):
        return [self.rules[name] for name in names]

    def _values(self):
        """What can be seen at a vertex alone."""
        source, negative, beyond = self._taken("source", "negative", "beyond")
        at = {"v": self.ground.gids}, {"d": self.distance}
        source.test(self.here & (self.distance != 0), *at)
        negative.test(~(self.distance >= 0), *at)
        beyond.test(self._cut(self.distance) & self.reached & ~self.here, *at)
        self.ground.judge(source, negative, beyond)
        if self.predecessor is None:
            return
        root, out, none, lost = self._taken("root", "out", "none", "lost")
        at[1]["p"] = self.predecessor
        child = self.reached & ~self.here
        root.test(self.here & (self.predecessor != -1), *at)
        out.test(~self.reached & (self.predecessor != -1), *at)
        none.test(child & (self.parent < 0), *at)
        self.ground.judge(root, out, none)
        before = np.zeros(self.distance.size, bool)
        before[child] = self.ground.fetch(self.parent[child], self.reached)[0]
        lost.test(child & ~before, *at)
        self.ground.judge(lost)

    def _arcs(self, *columns):
        """Pieces with the sums ``d(u) + w`` of their arcs, walked under the rule that none is a short cut."""
        far, short = self.far, self.rules["short"]
        for piece in self.ground.pieces(self.distance, *columns):
            here, there = self.distance[piece.rows], piece.there[0]
            if self.weights is None:
                weights = np.broadcast_to(np.ones(1, here.dtype), here.shape)
            else:
                weights = self.weights[piece.start : piece.stop].astype(here.dtype, copy=False)
            with np.errstate(over="ignore"):
                most = here + weights
            if far == UNREACHED:
                most[most < here] = far  # beyond 64 bits, or from where no path leads
            bad = (there > most) & ~self._cut(most)
            ends = {"u": piece.src, "v": piece.dst}
            short.test(bad, ends, {"w": weights, "du": here, "most": most, "dv": there})
            yield piece, here, there, (most == there) & (there != far)
        self.ground.judge(short)

    def _tree(self):
        """Every predecessor's arc is there and tight, and predecessors lead to the source."""
        ground, size = self.ground, self.distance.size
        joined, tight = np.zeros(size, bool), np.zeros(size, bool)
        for piece, _, _, exact in self._arcs(self.parent):
            tree = piece.there[1] == piece.src
            ground.mark(piece.dst[tree], joined)
            ground.mark(piece.dst[tree & exact], tight)
        child = self.reached & ~self.here
        before = np.full(size, self.far, self.distance.dtype)
        before[child] = ground.fetch(self.parent[child], self.distance)[0]
        arc, exact = self._taken("arc", "tight")
        at = {"v": ground.gids}, {"p": self.predecessor, "dv": self.distance, "dp": before}
        arc.test(child & ~joined, *at)
        exact.test(child & ~tight, *at)
        ground.judge(arc, exact)
        self._acyclic(child & (before == self.distance))

    def _acyclic(self, level):
        """Predecessors out of a plateau are strictly nearer, so a circle lies inside one: among the ``level`` rows,
        whose predecessor is as far as they are. Pointers jump to what they point at points to: a chain of k rows has
        left its plateau after log2(k) jumps, a circle never does."""
        ground = self.ground
        pointer = np.where(level, self.parent, ground.gids)
        inside, total = np.flatnonzero(level), ground.comm.total(int(level.sum()))
        for _ in range(total.bit_length() + 1 if total else 0):
            on, level_there = ground.fetch(pointer[inside], pointer, level)
            pointer[inside] = on
            inside = inside[level_there]
            if not ground.comm.total(inside.size):
                break
        circle = self.rules["circle"]
        left = np.zeros(level.size, bool)
        left[inside] = True
        circle.test(left, {"v": ground.gids}, {"d": self.distance, "p": self.predecessor})
        ground.judge(circle)

    def _supported(self):
        """Every reached vertex has a tight arc from a nearer one, or a path through its plateau from one that has."""
        ground = self.ground
        settled, rows, targets = self.here.copy(), [], []
        for piece, here, there, exact in self._arcs():
            ground.mark(piece.dst[exact & (here < there)], settled)
            flat = exact & (here == there)
            rows.append(piece.rows[flat].astype(piece.dst.dtype))
            targets.append(piece.dst[flat])
        source = np.concatenate([np.empty(0, ground.block.targets.dtype), *rows])
        target = np.concatenate([np.empty(0, ground.block.targets.dtype), *targets])
        while ground.comm.total(source.size):
            ready = settled[source]
            if not ground.comm.total(int(ready.sum())):
                break
            ground.mark(target[ready], settled)
            source, target = source[~ready], target[~ready]
        alone = self.rules["alone"]
        alone.test(self.reached & ~settled, {"v": ground.gids}, {"d": self.distance})
        ground.judge(alone)

    def _cut(self, values):
        """Where values lie above the cutoff."""
        if self.cutoff is None:
            return np.zeros(values.shape, bool)
        if values.dtype.kind == "f":
            values = values.astype(np.float64)  # else NumPy would round the cutoff to float32
        return values > self.cutoff
