"""Certificate of random walks: steps are looked up on the graph as it was loaded, and some walks are made again.

It proves that each walk begins at its source, that each step crosses an edge of the graph or returns to the source,
that walks end only where no edge can be drawn, and that visits are counts of the walks. Up to ``SOME`` walks are made
again, draw by draw, in the order of ids; of the others it does not prove that they are those of the seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.errors import ValidationFailed
from dgraph.validate.certificate_register import Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.rule import Rule

SOME = 32
"""Walks that are made again."""

STEP = 1 << 20
"""Steps that are looked up at a time."""

LOW = (1 << 64) - 1


@certifies("random_walks")
def random_walks(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check the walks where the answer has them, and column ``visits``; collective.

    Raises:
        ValidationFailed: a step, an end or a count is wrong, or a walk differs from the one made again.
    """
    _check_sources(distributed, columns["visits"], parameters)
    if distributed.walks is None:
        return ["every source was visited by its walks; the walks are not here"]
    again = _Walks(distributed, parameters)
    again.check_starts()
    again.check_steps()
    again.check_visits(columns["visits"])
    return [
        f"{distributed.walks.total} walks begin at their sources, cross edges and end where none can be drawn",
        f"{again.make_some()} walks were made again",
    ]


def _check_sources(distributed: DistributedColumns, visits: np.ndarray, parameters: Mapping[str, Any]) -> None:
    """Check that a vertex has at least the visits of the walks that begin at it; collective."""
    named, begun = parameters["sources"], np.ones(distributed.block.rows)
    if named is not None:
        begun[:] = 0
        mine = np.array(list(named)[distributed.comm.rank :: distributed.comm.size], np.int64)
        distributed.add(distributed.block.ids.to_gid(mine, distributed.comm), np.ones(len(mine)), begun)
    begun = begun.astype(np.int64) * parameters["walks"]
    few = Rule("walks visit their sources", "vertex {v} has {x} visits, and {y} walks begin at it")
    distributed.judge(few.test(visits < begun, {"v": distributed.gids}, {"x": visits, "y": begun}))


class _Walks:
    """Walks as gids, with the rows of all ranks, sorted by target and weight."""

    def __init__(self, distributed: DistributedColumns, parameters: Mapping[str, Any]):
        self.distributed, self.parameters, self.comm = distributed, parameters, distributed.comm
        block, walks = distributed.block, distributed.walks
        self.first, self.total, self.ids = walks.first, walks.total, walks.here
        ended = self.ids < 0
        self.gids = block.ids.to_gid(np.where(ended, 0, self.ids).ravel(), self.comm).reshape(self.ids.shape)
        vertices = Rule("walks are of vertices", "a walk visits {id}, which is not a vertex of the graph")
        distributed.judge(vertices.test(((self.gids < 0) & ~ended).ravel(), {}, {"id": self.ids.ravel()}))
        self.gids[ended] = -1
        self.weights = walks.weights
        self.rows = np.repeat(np.arange(block.rows), np.diff(block.offsets))
        values = np.ones(len(self.rows)) if block.weights is None else np.asarray(block.weights, np.float64)
        self.by_id: np.ndarray | None = None
        self.places: np.ndarray | None = None
        if not block.ids.ascending:
            originals = block.ids.to_original(distributed.gids, self.comm)
            self.by_id = np.argsort(np.concatenate(self.comm.allgatherv(originals)))
            self.places = np.argsort(self.by_id)
        order = np.lexsort((values, self._placed(block.targets), self.rows))
        self.targets, self.values = np.asarray(block.targets, np.int64)[order], values[order]
        self.offsets = np.asarray(block.offsets, np.int64)
        self.keys = self.rows * int(distributed.starts[-1]) + self._placed(self.targets)
        self.by_weight = parameters["weighted"] and distributed.comm.total(int(block.weights is not None)) > 0
        widths = self.values if self.by_weight else np.ones(len(self.values))
        self.ends = np.bincount(self.rows, widths, block.rows) == 0

    def _placed(self, gids: np.ndarray) -> np.ndarray:
        """Return the places of vertices by ascending original id, in which draws number the targets of a row."""
        return gids if self.places is None else self.places[gids]

    def sources(self, walks: np.ndarray) -> np.ndarray:
        """Return the gids of the sources of walks by number."""
        places, named = walks // self.parameters["walks"], self.parameters["sources"]
        if named is None:
            return places if self.by_id is None else self.by_id[places]
        return self.distributed.block.ids.to_gid(np.array(list(named), np.int64), self.comm)[places]

    def check_starts(self) -> None:
        """Check the shape of the walks and the first vertex of each."""
        n, named = int(self.distributed.starts[-1]), self.parameters["sources"]
        wanted = self.parameters["walks"] * (n if named is None else len(named))
        shape = self.comm.total(len(self.gids)), self.gids.shape[1]
        if shape != (wanted, self.parameters["length"] + 1) or self.total != wanted:
            raise ValidationFailed(
                f"the answer is wrong: there are {shape[0]} walks of {shape[1]} vertices, and {wanted} of "
                f"{self.parameters['length'] + 1} are due"
            )
        begins = Rule("walks begin at their sources", "walk {walk} begins at {v}, and its source is {s}")
        walks = np.arange(self.first, self.first + len(self.gids))
        sources = self.sources(walks)
        begins.test(self.gids[:, 0] != sources, {"v": self.gids[:, 0], "s": sources}, {"walk": walks})
        self.distributed.judge(begins)

    def check_steps(self) -> None:
        """Look up every step at the owner of the vertex before it."""
        length, restarts = self.gids.shape[1] - 1, self.parameters["restart"] > 0
        rule = Rule("steps cross edges", "walk {walk} goes from {u} to {v}, and no such edge can be drawn")
        ends = Rule("walks end where no edge can be drawn", "walk {walk} ends at {u}, and has an edge to go on by")
        after = Rule("walks do not go on after their end", "walk {walk} has a vertex after its end")
        weighs = Rule("weights are those of the edges", "walk {walk} crosses {u} → {v} with weight {x}")
        for low in range(0, self.comm.largest(len(self.gids)), step := max(STEP // max(length, 1), 1)):
            part = self.gids[low : low + step]
            walks = np.repeat(np.arange(low, low + len(part)) + self.first, length)
            u, v = part[:, :-1].ravel(), part[:, 1:].ravel()
            here = u >= 0
            after.test(~here & (v >= 0), {}, {"walk": walks})
            walks, u, v = walks[here], u[here], v[here]
            crossed = np.full(len(u), np.nan)
            if self.weights is not None:
                crossed = self.weights[low : low + step].ravel()[here]
            verdict = self.distributed.ask(
                u, np.column_stack([v, crossed.view(np.int64)]).ravel().view("V16"), self._seen
            )
            home = (v == self.sources(walks)) & restarts
            going = v >= 0
            back = home & ((verdict & 1) == 0)
            ends.test(~going & (((verdict & 2) == 0) | restarts), {"u": u}, {"walk": walks})
            rule.test(going & ((verdict & 1) == 0) & ~home, {"u": u, "v": v}, {"walk": walks})
            if self.weights is not None:
                lacks = np.isnan(crossed)
                wrong = going & np.where(lacks, ~home, back | ((verdict & 4) == 0))
                weighs.test(wrong, {"u": u, "v": v}, {"walk": walks, "x": crossed})
        self.distributed.judge(after, ends, rule, weighs)

    def _seen(self, rows: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Return bits: 1 the edge exists and can be drawn; 2 the row has none that can; 4 one has that weight."""
        pairs = asked.view(np.int64).reshape(-1, 2)
        sought, weight = pairs[:, 0], pairs[:, 1].copy().view(np.float64)
        keys = rows * int(self.distributed.starts[-1]) + self._placed(sought)
        low, last = (np.searchsorted(self.keys, keys, side=side) for side in ("left", "right"))
        low, last = np.where(sought < 0, 0, low), np.where(sought < 0, 0, last)
        drawn, equal = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
        for place in range(int((last - low).max(initial=0))):  # parallel edges
            there = np.flatnonzero(low + place < last)
            values = self.values[low[there] + place]
            able = values > 0 if self.by_weight else np.ones(len(there), bool)
            drawn[there] |= able
            equal[there] |= able & (values == weight[there])
        return drawn + 2 * self.ends[rows] + 4 * equal

    def check_visits(self, visits: np.ndarray) -> None:
        """Count the visits again."""
        counts = np.zeros(self.distributed.block.rows)
        seen = self.gids[self.gids >= 0]
        self.distributed.add(seen, np.ones(len(seen)), counts)
        equal = Rule("visits are counts of the walks", "vertex {v} has {x} visits, and {y} were counted")
        equal.test(visits != counts, {"v": self.distributed.gids}, {"x": visits, "y": counts.astype(np.int64)})
        self.distributed.judge(equal)

    def make_some(self) -> int:
        """Make some walks again, draw by draw; return how many."""
        chosen = np.unique(np.linspace(0, max(self.total - 1, 0), min(self.total, SOME)).astype(np.int64))
        mine = [int(w) for w in chosen if self.first <= w < self.first + len(self.gids)]
        draws, sources = (
            [_Draws(self.parameters["random_state"], w) for w in mine],
            self.sources(np.array(mine, np.int64)),
        )
        v, back = sources.copy(), int(self.parameters["restart"] * 2.0**64)
        same = Rule("walks are those of the seed", "walk {walk} goes to {x} at step {step}, and was made to go to {y}")
        for step in range(self.parameters["length"]):
            bits = np.array([one.number(2 * step) for one in draws], np.uint64)
            goes = np.array([one.number(2 * step + 1) >= back for one in draws], bool) & (v >= 0)
            following = np.full(len(v), -1)
            following[goes] = self.distributed.ask(v[goes], bits[goes], self._drawn)
            following = np.where((following < 0) & (v >= 0) & (back > 0), sources, following)
            there = self.gids[np.array(mine, np.int64) - self.first, step + 1]
            same.test(
                following != there,
                {},
                {"walk": np.array(mine), "step": np.full(len(v), step + 1), "x": there, "y": following},
            )
            v = there
        self.distributed.judge(same)
        return len(chosen)

    def _drawn(self, rows: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Return the target that each draw takes in its row; -1 if there is none."""
        targets = np.full(len(rows), -1)
        for i, (row, draw) in enumerate(zip(rows.tolist(), bits.tolist(), strict=True)):  # at most SOME
            part = slice(*self.offsets[row : row + 2].tolist())
            if self.ends[row]:
                continue
            place = (part.stop - part.start) * draw >> 64
            if self.by_weight:
                sums = np.add.accumulate(self.values[part])
                sought = (draw >> 11) / 2**53 * sums[-1]
                place = int(np.flatnonzero((sums > sought) | (sums == sums[-1]))[0])
            targets[i] = self.targets[part][place]
        return targets


class _Draws:
    """Draws of one walk."""

    def __init__(self, seed: int, walk: int):
        key = _mixed((_mixed((seed + GOLDEN) & LOW) + 0x77616C6B + GOLDEN) & LOW)
        self.start = _mixed((key + (walk + 1) * GOLDEN) & LOW)

    def number(self, number: int) -> int:
        """Return 64 random bits."""
        return _mixed((self.start + (number + 1) * GOLDEN) & LOW)


GOLDEN = 0x9E3779B97F4A7C15


def _mixed(x: int) -> int:
    """Return SplitMix64's output function of 64 bits [Steele, Lea & Flood, OOPSLA 2014]."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ x >> shift) * factor & LOW
    return x ^ x >> 31
