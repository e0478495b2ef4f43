"""GpuEngine: steps of a search for communities on one GPU; ``search_steps.py`` takes them in turn.

Moves, refinement and the polish; levels are made in ``gpu_contraction.py``. The kernels (``community_*.cuh``) give the
bits of ``host_engine.py``. A launch of ``move_rounds`` runs all sub-rounds of many rounds; the host reads one array of
counters after it, and decides in integers of any size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dgraph.algorithms.communities.community_totals import GROUPS, group_count
from dgraph.algorithms.communities.gpu_contraction import GpuContraction
from dgraph.algorithms.communities.gpu_steps import (
    CHUNKS,
    MOVES,
    RESULTS,
    STALLED,
    USED,
    WORDS,
    GpuLevel,
    slots_of,
    squares_of,
    tiles_of,
)
from dgraph.algorithms.communities.refinement import inverse
from dgraph.algorithms.communities.serial_moves import PASSES as SWEEPS

NO_SLACK = -1e300
"""Slack of a vertex that must be evaluated."""

AT_ONCE = 64
"""Rounds of one launch at most: a run is cancelled between launches."""

BEST, GAINED, LAST, ROUNDS, ENDS, ACTIVES = 2, 4, 5, 7, 8, 9
"""Words of ``search``, see ``community_lists.cuh``, before the numbers of active vertices of a launch's rounds."""


def _limbs(number: int) -> tuple[int, int]:
    """Return a signed integer of 128 bits as two words."""
    return number >> 64 & 0xFFFFFFFFFFFFFFFF, number & 0xFFFFFFFFFFFFFFFF


def _integer(words: np.ndarray) -> int:
    """Return the signed integer of 128 bits that two words hold."""
    return (int(words[0].view(np.int64)) << 64) + int(words[1])


class GpuPartition:
    """Labels of a level with the totals of communities, as :class:`Partition`.

    Attributes:
        bounds: arrays by which kernels know vertices that gain by no move.
    """

    def __init__(self, level: GpuLevel, labels: Any, totals: dict[str, Any], bounds: dict[str, Any]):
        self.level, self.labels, self.totals, self.bounds = level, labels, totals, bounds

    @property
    def arrays(self) -> dict[str, Any]:
        """Arrays of kernels."""
        return self.level.rows | {"labels": self.labels} | self.totals | self.bounds


class GpuEngine(GpuContraction):
    """Steps of moves, of refinement and of the polish."""

    def partition(self, level: GpuLevel, labels: Any) -> GpuPartition:
        """Return labels with their totals."""
        xp, n = self.xp, level.n
        bounds = {"slack": xp.empty(n, np.float64), "crossed": xp.zeros(n, np.int64), "outflow": xp.zeros(n, np.int64)}
        bounds["drift"] = xp.zeros(2, np.uint64)
        return GpuPartition(level, labels, self._totals(level, labels, bounds["slack"]), bounds)

    def _totals(self, level: GpuLevel, labels: Any, slack: Any | None = None) -> dict[str, Any]:
        """Return the totals of communities; drop all bounds of ``slack``."""
        xp, n = self.xp, level.n
        totals = {"mass_of": xp.zeros(n, np.int64), "sizes": xp.zeros(n, np.uint32), "sole": xp.zeros(n, np.uint32)}
        self._launch("add_totals", level.rows | {"labels": labels, "slack": slack} | totals)
        return totals

    def quality(self, level: GpuLevel) -> int:
        """Return the exact quality of communities that are a level's vertices, and of vertices without arcs."""
        squares = self._squares(level.rows["mass"]) + self.squares_apart
        return self.units.scale * level.loops - self.units.price * squares

    def move(
        self, partition: GpuPartition, salts: Callable[[], int], go_on: Callable[[int], bool], least: int = 0,
        share: int = 0, active: Any = None, balanced: bool = False, patience: int = 0, many: int = 0,
    ) -> int:  # fmt: skip
        """Move vertices in rounds, of which the first has active ones, or all; see ``moves.py``.

        A launch runs many rounds. It compares the quality by its changes: the weight within communities begins at 0.
        """
        xp, device, n, units = self.xp, self.device, partition.level.n, self.units
        kept, words = self.copied(partition.labels), xp.zeros(WORDS + ACTIVES + AT_ONCE, np.uint64)
        search = words[WORDS:]
        flags = xp.empty(n, np.uint8) if active is None else self.copied(active)
        arrays = partition.arrays | {"active": flags, "proposed": xp.empty(n, np.uint32), "kept": kept, "tally": words}
        arrays |= {"search": search, "actives": search[ACTIVES:], "inflow": xp.zeros(n, np.int64) if balanced else None}
        shares = self.shares_of(partition.level)
        places = {"next_tally": words, "used": words[USED:], "results": words[RESULTS:]}
        places["tiles"] = tiles_of(len(partition.level.rows["targets"]), group_count(n, n))
        places |= {} if shares is None else shares.members
        salt = salts()
        self._launch("begin_moves", arrays, int(active is None), next_salt=salt, **places)
        counts, lists = device.read(words).copy(), {"listed": xp.empty(n, np.uint32)}
        device.write(search[:2], np.array(_limbs(-units.price * squares_of(counts)), np.uint64))
        best = last = 0
        while (count := int(counts[:CHUNKS].sum())) and go_on(count):
            lists = self._listing(counts, lists, n)
            blocks, fewest, most_rows = self._grid("move_rounds", count, n)
            bounds = {"most_chunks": len(lists["chunk_row"]), "most_slots": len(self.tables["table"])}
            if shares is not None:  # the table's length differs by GPU
                bounds["most_slots"] = slots_of(counts, group_count(count, n))
                places |= shares.begin()
            bounds |= {"fewest": fewest, "most_rows": min(most_rows, n), "share": share, "balanced": int(balanced)}
            bounds |= {"patience": patience, "many": many}
            bounds["least_high"], bounds["least_low"] = _limbs(least)
            self._clear()
            self._launch(
                "move_rounds", arrays | lists, min(self.left(), AT_ONCE), blocks, True, scale=units.scale,
                price=units.price, salt=salt, **bounds, **places,
            )  # fmt: skip
            counts = device.read(words).copy()
            if shares is not None:
                shares.check(int(counts[STALLED]))
            after = counts[WORDS:]
            for active_rows in after[ACTIVES + 1 : ACTIVES + int(after[ROUNDS])]:
                salts()
                go_on(int(active_rows))
            best, last = _integer(after[BEST:]), _integer(after[LAST:])
            if after[ENDS]:
                break
            salt = salts()
        if last < best:
            self.take(partition, kept)
        return best

    def gaining(self, partition: GpuPartition) -> tuple[Any, int]:
        """Return 1 for vertices that gain by a move, uint8 (n,), and their number."""
        xp, n, scale, price = self.xp, partition.level.n, self.units.scale, self.units.price
        arrays = partition.arrays | {"active": xp.empty(n, np.uint8), "proposed": xp.empty(n, np.uint32)}
        shares = self.shares_of(partition.level)
        numbers = {"scale": scale, "price": price} | ({} if shares is None else shares.members)
        self._clear()
        self._launch("mark_candidates", arrays, **numbers)
        counts = self._counted()
        if shares is None and not counts[:CHUNKS].any():
            return arrays["active"], 0
        lists = self._listing(counts, {})
        self._clear()
        blocks = self._grid("find_gaining", int(counts[:CHUNKS].sum()), n)[0]
        numbers |= {} if shares is None else shares.begin()
        self._launch("find_gaining", arrays | lists, self._fewest(counts), blocks, True, **numbers)
        counts = self._counted()
        if shares is not None:
            shares.check(int(counts[STALLED]))
        return arrays["active"], int(counts[MOVES])

    def sweep(self, partition: GpuPartition, active: Any, count: int, marks: Any | None) -> Any:
        """Move vertices that have marks and the first ``count`` active ones, in turn; return marks of all of them."""
        xp, n, scale, price = self.xp, partition.level.n, self.units.scale, self.units.price
        arrays = partition.arrays | {
            "listed": xp.empty(n, np.uint32),
            "flags": xp.zeros(n, np.uint32) if marks is None else marks,
        }
        arrays |= {"proposed": self.copied(partition.labels), "active": active}
        self._clear()
        self._launch("list_swept", arrays, count, self._grid("list_swept", n, n)[0], True)
        self._launch("sweep", arrays, SWEEPS, 1, scale=scale, price=price)
        self._launch("end_round", arrays)
        return arrays["flags"]

    def take(self, partition: GpuPartition, labels: Any) -> None:
        """Take labels whose communities are mostly the same, by any names; see :meth:`Partition.take`."""
        level, xp, n = partition.level, self.xp, partition.level.n
        names = {"chosen": xp.zeros(n, np.uint64), "owners": xp.zeros(n, np.uint64)}
        arrays = partition.arrays | self.lists_of(level) | names | {"proposed": labels}
        for kernel in ("choose_members", "choose_owners", "drop_bounds", "end_round"):
            self._launch(kernel, arrays)
        partition.labels, partition.totals = labels, self._totals(level, labels)

    def refine(self, partition: GpuPartition, salt: int) -> Any:
        """Return the part of each vertex; see ``refinement.py``."""
        xp, n, theta = self.xp, partition.level.n, self.theta or 0.0
        factor = 0.0 if theta == 0 else inverse(theta, self.units)
        names: dict[str, Any] = {"parts": np.uint32, "proposed": np.uint32, "part_sizes": np.uint32}
        names |= {"part_mass": np.int64, "inside": np.int64}
        arrays = partition.arrays | {name: xp.empty(n, kind) for name, kind in names.items()}
        lists = self._listing(self._tallied(arrays, salt), {})
        self._clear()
        blocks, shares = self._grid("refine_rows", n, n)[0], self.shares_of(partition.level, GROUPS)
        share = {} if shares is None else shares.members | shares.begin()
        self._launch(
            "refine_rows", arrays | lists, 0, blocks, True, scale=self.units.scale, price=self.units.price, salt=salt,
            factor=int(np.float64(factor).view(np.int64)), **share,
        )  # fmt: skip
        if shares is not None:
            shares.check(int(self._counted()[STALLED]))
        return arrays["parts"]
