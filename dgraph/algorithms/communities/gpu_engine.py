"""GpuEngine: steps of a search for communities on one GPU; ``search_steps.py`` takes them in turn.

The kernels (``community_*.cuh``) give the bits of
``host_engine.py``. A launch of ``move_round`` runs all sub-rounds of a round; the host reads one array of counters
after it, and decides in integers of any size.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.communities.community_totals import CROWD, FEW_GROUPS, GROUPS, MOST_GROUPS, SPARSE, group_count
from dgraph.algorithms.communities.refinement import NOISE_BITS, inverse, noise
from dgraph.algorithms.communities.serial_moves import PASSES as SWEEPS
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cuda.codegen.kernel_parts import in_parts
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of

WARP_SLOTS = {True: 512, False: 256}
"""Slots of a warp's table in shared memory, by whether sums take 32 bits."""

CLASSES, CHUNKS, SLOTS, COUNTS = 4, 4 * MOST_GROUPS, 5 * MOST_GROUPS, 6 * MOST_GROUPS
"""Words of a tally: rows by sub-round and class, then chunks and slots of long rows by sub-round."""

USED, RESULTS = COUNTS, 2 * COUNTS
"""First words of the cursors and of the results that follow a tally in an array of counters."""

INNER, SQUARES, MOVES, LOOPS, GATE, WORDS = (RESULTS + i for i in (0, 1, 5, 6, 8, 9))
"""Words of the results; SQUARES has four limbs of 32 bits."""

NO_SLACK = -1e300
"""Slack of a vertex that must be evaluated."""

GRIDS = (1, 1 << 11, 32), (1 << 10, 1 << 16, 132), (1 << 15, 1 << 40, 1 << 40)
"""Rows from and to which a grid serves, and its blocks at most: barriers of fewer take less time."""

PASSES = 1 << 13
"""Vertices for which a grid has a block more, as each round passes over all of them a few times."""

MOST_BLOCKS = 32
"""Blocks of a multiprocessor at most."""

AT_ONCE = 64
"""Rounds of one launch at most: a run is cancelled between launches."""

TILES, ARCS_OF_A_TILE = 8, 1 << 26
"""Tiles of a chunk of a long row at most, and arcs of a level for each: chunks for all blocks in each sub-round."""

BEST, GAINED, LAST, ROUNDS, ENDS, ACTIVES = 2, 4, 5, 7, 8, 9
"""Words of ``search``, see ``community_lists.cuh``, before the numbers of active vertices of a launch's rounds."""

DENSE = 64
"""Arcs of a level between two vertices are added up if there are more than the square of its vertices over DENSE."""

MEMBERS = (
    "offsets", "targets", "weights", "mass", "labels", "proposed", "mass_of", "sizes", "sole", "active", "parts",
    "part_mass", "inside", "part_sizes", "draws", "tally", "next_tally", "used", "results", "listed", "chunk_row",
    "chunk_index", "chunk_table", "table", "own_sums", "best_high", "best_low", "best_label", "groups",
    "group_rows", "group_starts", "row_starts", "group_mass", "out_targets", "out_weights", "lengths", "out_offsets",
    "slack", "crossed", "outflow", "inflow", "drift", "flags", "swept", "block_counts", "chosen", "place", "vertex",
    "ids", "wide_ids", "degrees", "gate", "kept", "owners", "search", "actives", "n", "scale", "price", "salt",
    "next_salt", "factor", "least_high", "least_low", "share", "fewest", "most_rows", "most_chunks", "most_slots",
    "tiles", "balanced", "distinct",
    "patience", "many",
)  # fmt: skip
"""Members of ``Env``."""

PLACES = {name: place for place, name in enumerate(MEMBERS)}


@cache
def text(narrow: bool, slots: int) -> str:
    """Return the kernels' text. ``narrow``: sums of weights take 32 bits; ``slots``: of a warp's table."""
    definitions = (
        f"typedef {'u32' if narrow else 'u64'} weight_t;\n#define WARP_SLOTS {slots}\n#define DRAWS {1 << NOISE_BITS}\n"
        f"#define GROUPS {GROUPS}\n#define FEW_GROUPS {FEW_GROUPS}\n#define SPARSE {SPARSE}\n"
        f"#define MOST_GROUPS {MOST_GROUPS}\n#define CROWD {CROWD}"
    )
    files = ("lists", "rows", "moves", "sweep", "refinement", "levels")
    return in_parts(own_text(definitions, "union_find", *(f"community_{file}" for file in files)), 8)


def _limbs(number: int) -> tuple[int, int]:
    """Return a signed integer of 128 bits as two words."""
    return number >> 64 & 0xFFFFFFFFFFFFFFFF, number & 0xFFFFFFFFFFFFFFFF


def _integer(words: np.ndarray) -> int:
    """Return the signed integer of 128 bits that two words hold."""
    return (int(words[0].view(np.int64)) << 64) + int(words[1])


class GpuLevel:
    """Rows of a level, as :class:`GraphLevel`, on a GPU.

    Attributes:
        rows: ``offsets`` int64 (n + 1,), ``targets`` uint32, ``weights`` (None: each is 1), ``mass`` int64 (n,), and
            ``distinct``, 1 if no row has two arcs to one vertex.
        loops: weight within the vertices, counted twice.
        lists: arrays of the lists of all rows, once they are there.
        filled: number of rows that have arcs, then.
    """

    filled = 0

    def __init__(self, offsets: Any, targets: Any, weights: Any, mass: Any, loops: int, distinct: bool = True):
        self.n, self.loops = len(offsets) - 1, loops
        self.rows = {"offsets": offsets, "targets": targets, "weights": weights, "mass": mass}
        self.rows["distinct"] = int(distinct)
        self.lists: dict[str, Any] | None = None


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


class GpuEngine:
    """Steps on arrays of a GPU: labels are uint32 (n,).

    Args:
        device: the GPU.
        narrow: True if all weights are 1 and their sum is below 2^32.
        theta: randomness of the refinement.
        left: returns the number of rounds that a launch may take, 1 or more.

    Attributes:
        units: of the quality, once level 0 is there.
    """

    units: Units

    def __init__(self, device: Any, narrow: bool, theta: float | None, left: Callable[[], int]):
        self.device, self.xp, self.theta, self.left = device, device.xp, theta, left
        self.kind = np.uint32 if narrow else np.uint64
        self.module = device.module(text(narrow, WARP_SLOTS[narrow]), f"communities_{'narrow' if narrow else 'wide'}")
        self.counters = [self.xp.zeros(WORDS, np.uint64) for _ in range(2)]
        self.tables: dict[str, Any] = {
            "table": None,
            "block_counts": self.xp.empty(MOST_BLOCKS * device.blocks, np.uint64),
        }
        self.draws = None if theta is None else device.put(noise())

    def _launch(
        self, kernel: str, arrays: dict[str, Any], argument: int = 0, blocks: int = 0, cooperative: bool = False,
        **numbers: Any,
    ) -> None:  # fmt: skip
        """Start a kernel; lists of ``arrays`` name the counters with their tally, and results go to the other ones."""
        tally, other = self.counters
        address = self.device.address(other)
        places = {"n": len(arrays["offsets"]) - 1 if "offsets" in arrays else len(arrays["labels"]), "tally": tally}
        results = {"next_tally": address, "used": address + 8 * USED, "results": address + 8 * RESULTS}
        results |= {"gate": address + 8 * GATE, "draws": self.draws}
        if "targets" in arrays:
            results["tiles"] = min(1 << (len(arrays["targets"]) // ARCS_OF_A_TILE).bit_length(), TILES)
        words = [0] * len(MEMBERS)
        for values in (places, self.tables, results, arrays, numbers):
            for name, value in values.items():
                if value is not None and (place := PLACES.get(name)) is not None:
                    words[place] = value
        self.module.set_environment(words_of(self.device, words))
        blocks = blocks or self.device.blocks * self.module.resident(kernel)
        self.module.launch(kernel, blocks, argument, cooperative)

    def copied(self, array: Any) -> Any:
        """Return a copy, without a kernel of CuPy's, which it would compile."""
        copy = self.xp.empty(len(array), array.dtype)
        self.device.copy(copy, array)
        return copy

    def _clear(self) -> None:
        self.device.clear(self.counters[1])

    def _counted(self) -> np.ndarray:
        """Return the counters of the last launches, whose tally is then that of the next lists."""
        self.counters.reverse()
        return self.device.read(self.counters[0]).copy()

    def _tallied(self, arrays: dict[str, Any], every: bool, salt: int) -> np.ndarray:
        self._clear()
        self._launch("tally_rows", arrays, int(every), next_salt=salt)
        return self._counted()

    def _listing(self, counts: np.ndarray, lists: dict[str, Any], n: int = 0) -> dict[str, Any]:
        """Return arrays for the lists of a tally, ``lists`` where they are long enough; make room in the tables.

        Args:
            counts: the tally.
            lists: arrays.
            n: vertices of a level whose active rows a round has; 0: of rows for another step.
        """
        xp = self.xp
        rows, chunks = int(counts[:CHUNKS].sum()), int(counts[CHUNKS:SLOTS].sum())
        if not lists or len(lists["listed"]) < rows:
            lists["listed"] = xp.empty(rows, np.uint32)
        if "chunk_row" not in lists or len(lists["chunk_row"]) < chunks:
            lists |= {"chunk_row": xp.empty(chunks, np.uint32), "chunk_index": xp.empty(chunks, np.uint32)}
            lists |= {"chunk_table": xp.empty(chunks, np.uint64)}
        groups = group_count(rows, n) if n else GROUPS
        tables, slots = self.tables, int(counts[SLOTS:COUNTS].reshape(-1, groups).sum(axis=0).max())
        if tables["table"] is None or len(tables["table"]) < slots:
            tables["table"] = None
            tables["table"] = xp.empty((slots, 2), self.kind)
        if "own_sums" not in tables or len(tables["own_sums"]) < chunks:
            tables |= {"own_sums": xp.empty(chunks, np.uint64), "best_high": xp.empty(chunks, np.int64)}
            tables |= {"best_low": xp.empty(chunks, np.uint64), "best_label": xp.empty(chunks, np.uint32)}
        return lists

    def lists_of(self, level: GpuLevel) -> dict[str, Any]:
        """Return the lists of all rows of a level, with their tally."""
        if level.lists is None:
            counts = self._tallied(level.rows, True, 0)
            lists, level.filled = self._listing(counts, {}), int(counts[:CHUNKS].sum())
            self._clear()
            lists["tally"] = self.copied(self.counters[0][:COUNTS])
            self._launch("list_rows", level.rows | lists, 1)
            level.lists = lists
        return level.lists

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
        """Return the exact quality of communities that are a level's vertices."""
        self._clear()
        self._launch("add_quality", level.rows | {"mass_of": level.rows["mass"]})
        return self._quality(level.loops, self._counted())

    def _quality(self, inner: int, counts: np.ndarray) -> int:
        squares = sum(int(counts[SQUARES + i]) << 32 * i for i in range(4))
        return self.units.scale * inner - self.units.price * squares

    def move(
        self, partition: GpuPartition, salts: Callable[[], int], go_on: Callable[[int], bool], least: int = 0,
        share: int = 0, active: Any = None, balanced: bool = False, patience: int = 0, many: int = 0,
    ) -> int:  # fmt: skip
        """Move vertices in rounds, of which the first has active ones, or all; see ``moves.py``.

        A launch runs many rounds. It compares the quality by its changes: the weight within communities begins at 0.
        """
        xp, device, n, units = self.xp, self.device, partition.level.n, self.units
        self._clear()
        self._launch("add_quality", partition.arrays)
        start, kept = self._quality(0, self._counted()), self.copied(partition.labels)
        words = xp.zeros(WORDS + ACTIVES + AT_ONCE, np.uint64)
        search = words[WORDS:]
        device.write(search[:2], np.array(_limbs(start), np.uint64))
        flags = xp.empty(n, np.uint8) if active is None else self.copied(active)
        arrays = partition.arrays | {"active": flags, "proposed": xp.empty(n, np.uint32), "kept": kept, "tally": words}
        arrays |= {"search": search, "actives": search[ACTIVES:]}
        arrays["inflow"] = xp.zeros(n, np.int64) if balanced else None
        places = {"next_tally": words, "used": words[USED:], "results": words[RESULTS:]}
        self._launch("begin_moves", arrays, int(active is None))
        salt = salts()
        self._launch("tally_rows", arrays, next_salt=salt, **places)
        counts, lists = device.read(words).copy(), {"listed": xp.empty(n, np.uint32)}
        best = last = 0
        while (count := int(counts[:CHUNKS].sum())) and go_on(count):
            lists = self._listing(counts, lists, n)
            blocks, fewest, most_rows = self._grid("move_rounds", count, n)
            bounds = {"most_chunks": len(lists["chunk_row"]), "most_slots": len(self.tables["table"])}
            bounds |= {"fewest": fewest, "most_rows": min(most_rows, n), "share": share, "balanced": int(balanced)}
            bounds |= {"patience": patience, "many": many}
            bounds["least_high"], bounds["least_low"] = _limbs(least)
            self._clear()
            self._launch(
                "move_rounds", arrays | lists, min(self.left(), AT_ONCE), blocks, True, scale=units.scale,
                price=units.price, salt=salt, **bounds, **places,
            )  # fmt: skip
            counts = device.read(words).copy()
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

    def _grid(self, kernel: str, rows: int, n: int) -> tuple[int, int, int]:
        """Return the blocks of a cooperative kernel for rows of n, and the rows from and to which it has these."""
        least, most, blocks = next(grid for grid in reversed(GRIDS) if rows >= grid[0] or grid is GRIDS[0])
        blocks = max(blocks, n // PASSES)
        return min(blocks, self.device.blocks * self.module.resident(kernel)), least, most

    def gaining(self, partition: GpuPartition) -> tuple[Any, int]:
        """Return 1 for vertices that gain by a move, uint8 (n,), and their number."""
        xp, n, scale, price = self.xp, partition.level.n, self.units.scale, self.units.price
        arrays = partition.arrays | {"active": xp.empty(n, np.uint8), "proposed": xp.empty(n, np.uint32)}
        self._launch("mark_candidates", arrays, scale=scale, price=price)
        counts = self._tallied(arrays, False, 0)
        if not counts[:CHUNKS].any():
            return arrays["active"], 0
        lists = self._listing(counts, {})
        self._clear()
        blocks = self._grid("find_gaining", int(counts[:CHUNKS].sum()), n)[0]
        self._launch("find_gaining", arrays | lists, 0, blocks, True, scale=scale, price=price)
        return arrays["active"], int(self._counted()[MOVES])

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
        lists = self._listing(self._tallied(arrays, True, salt), {})
        self._clear()
        blocks = self._grid("refine_rows", n, n)[0]
        self._launch(
            "refine_rows", arrays | lists, 0, blocks, True, scale=self.units.scale, price=self.units.price, salt=salt,
            factor=int(np.float64(factor).view(np.int64)),
        )  # fmt: skip
        return arrays["parts"]

    def coarse(self, level: GpuLevel, labels: Any, large: bool = False) -> tuple[GpuLevel, Any]:
        """Return the level with a vertex for each label, and the vertex of it for each vertex.

        ``large``: labels are of few vertices each. Most arcs then lead to a group of their own, and are not added up.
        """
        xp, n = self.xp, level.n
        lists, kind = self.lists_of(level), self.kind
        arrays = level.rows | {"labels": labels, "flags": xp.zeros(n, np.uint32)}
        arrays |= {"groups": xp.empty(n, np.uint32), "swept": xp.empty(n, np.uint32)}
        self._clear()
        self._launch("number_groups", arrays, 0, self._grid("number_groups", n, n)[0], True)
        count = int(self._counted()[MOVES])
        arrays |= {"group_rows": xp.zeros(count, np.int64), "group_mass": xp.zeros(count, np.int64)}
        arrays["row_starts"] = xp.empty(n, np.int64)
        if large and (count - level.n + level.filled) ** 2 > DENSE * len(level.rows["targets"]):
            return self._gathered(level, arrays | lists), arrays["groups"]
        self._launch("place_rows", arrays)
        arrays["group_starts"], arcs = self._starts(arrays["group_rows"]), len(level.rows["targets"])
        arrays |= {"out_targets": xp.empty(arcs, np.uint32), "out_weights": xp.empty(arcs, kind)}
        self._launch("map_arcs", arrays | lists)
        weights = arrays["out_weights"]
        mapped = {"offsets": arrays["group_starts"], "targets": arrays["out_targets"], "out_weights": weights}
        mapped |= {"weights": None if level.rows["weights"] is None else weights, "lengths": xp.zeros(count, np.int64)}
        lists = self._listing(self._tallied(mapped, True, 0), {})
        tally = self.copied(self.counters[0][:COUNTS])
        self._clear()
        self._launch("merge_rows", mapped | lists, 0, self._grid("merge_rows", count, count)[0], True)
        inner = int(self._counted()[LOOPS])
        offsets = self._starts(mapped["lengths"])
        arcs = int(self.device.get(offsets[-1:])[0])
        packed = {"out_targets": xp.empty(arcs, np.uint32), "out_weights": xp.empty(arcs, kind)}
        mapped |= {"weights": weights, "out_offsets": offsets, "tally": tally}
        self._launch("pack_rows", mapped | lists | packed)
        rows = offsets, packed["out_targets"], packed["out_weights"], arrays["group_mass"]
        return GpuLevel(*rows, level.loops + inner), arrays["groups"]

    def _gathered(self, level: GpuLevel, arrays: dict[str, Any]) -> GpuLevel:
        """Return the level of groups with all arcs between them."""
        xp, arcs, weighted = self.xp, len(level.rows["targets"]), level.rows["weights"] is not None
        arrays |= {"lengths": xp.zeros(level.n, np.int64), "out_targets": xp.empty(arcs, np.uint32)}
        arrays["out_weights"] = xp.empty(arcs, self.kind) if weighted else None
        self._clear()
        self._launch("map_leaving", arrays)
        inner = int(self._counted()[LOOPS])
        self._launch("place_rows", arrays)
        offsets = arrays["group_starts"] = self._starts(arrays["group_rows"])
        arcs = int(self.device.get(offsets[-1:])[0])
        arrays |= {
            "targets": arrays["out_targets"],
            "weights": arrays["out_weights"],
            "out_targets": xp.empty(arcs, np.uint32),
        }
        arrays["out_weights"] = xp.empty(arcs, self.kind) if weighted else None
        self._launch("pack_rows", arrays)
        rows = offsets, arrays["out_targets"], arrays["out_weights"], arrays["group_mass"]
        return GpuLevel(*rows, level.loops + inner, distinct=False)

    def _starts(self, lengths: Any) -> Any:
        """Return the starts of adjacent ranges, and the end of the last."""
        starts = self.xp.zeros(len(lengths) + 1, np.int64)
        self.xp.cumsum(lengths.view(np.uint64), out=starts[1:].view(np.uint64))
        return starts

    def connected(self, level: GpuLevel, labels: Any, parts: Any | None = None) -> Any:
        """Return the smallest vertex of the connected piece of each vertex within its community, and part of it."""
        arrays = level.rows | {"labels": labels, "groups": parts, "parts": self.alone(level.n)} | self.lists_of(level)
        arrays["chosen"] = self.xp.zeros(level.n, np.uint64)
        for kernel in ("connect_some", "flatten_pieces", "choose_members", "connect_rows", "flatten_pieces"):
            self._launch(kernel, arrays)
        return arrays["parts"]

    def alone(self, n: int) -> Any:
        """Return labels of single vertices."""
        labels = self.xp.empty(n, np.uint32)
        self._launch("number_alone", {"labels": labels})
        return labels

    def count(self, labels: Any) -> int:
        """Return the number of communities."""
        self._clear()
        self._launch("count_labels", {"labels": labels, "flags": self.xp.zeros(len(labels), np.uint32)})
        return int(self._counted()[MOVES])

    def within(self, labels: Any, bound: int) -> Any:
        """Return labels below a bound as 0, 1, … in their order."""
        xp, n = self.xp, len(labels)
        arrays = {"labels": labels, "flags": xp.zeros(bound, np.uint32), "swept": xp.empty(bound, np.uint32)}
        arrays["groups"] = xp.empty(n, np.uint32)
        self._clear()
        self._launch("number_labels", arrays, bound, self._grid("number_labels", bound, bound)[0], True)
        return arrays["groups"]

    def above(self, groups: Any, labels: Any, n: int) -> Any:
        """Return the smallest label of each of n groups."""
        least = self.xp.zeros(n, np.uint32)
        self._launch("label_groups", {"labels": labels, "groups": groups, "proposed": least})
        self._launch("complement", {"labels": least})
        return least

    def through(self, labels: Any, groups: Any) -> Any:
        """Return the label of each vertex's group."""
        mapped = self.xp.empty(len(groups), np.uint32)
        self._launch("map_labels", {"labels": groups, "swept": labels, "proposed": mapped})
        return mapped

    def named(self, graph: Any, labels: Any) -> Any:
        """Return the original id of each vertex's label, int64, by position of the graph."""
        place, vertex = graph.id_places
        arrays = {"labels": labels, "place": place, "vertex": vertex, "degrees": self.xp.empty(len(labels), np.int64)}
        arrays["ids" if graph.original.dtype == np.uint32 else "wide_ids"] = graph.original
        self._launch("name_labels", arrays)
        return arrays["degrees"]

    def changes(self, labels: Any, others: Any) -> int:
        """Return the number of vertices with two labels."""
        self._clear()
        self._launch("count_changes", {"labels": labels, "proposed": others})
        return int(self._counted()[MOVES])

    def level_of(self, graph: Any, weights: Any, cpm: bool) -> tuple[GpuLevel, int]:
        """Return level 0 of a graph, its vertices by original id, and the sum of all weights, with loops twice.

        Args:
            graph: on the GPU.
            weights: integers by arc; None: each is 1.
            cpm: the mass of a vertex is 1, and not the weight of its arcs.
        """
        xp, n = self.xp, graph.local.size
        arcs = graph.incoming  # as those that leave
        offsets = arcs.offsets
        if offsets.dtype == np.uint32:
            offsets = xp.empty(len(arcs.offsets), np.int64)
            self._launch("widen", {"labels": arcs.offsets, "degrees": offsets})
        rows = {"offsets": offsets, "targets": arcs.neighbours, "weights": weights}
        source = GpuLevel(rows["offsets"], rows["targets"], weights, None, 0)
        arrays = rows | self.lists_of(source) | {"place": graph.id_places[0], "degrees": xp.zeros(n, np.int64)}
        arrays["lengths"] = xp.zeros(n, np.int64)
        self._clear()
        self._launch("count_arcs", arrays)
        counts = self._counted()
        offsets = self._starts(arrays["lengths"])
        kept = int(self.device.get(offsets[-1:])[0])
        arrays |= {"lengths": xp.zeros(n, np.int64), "out_offsets": offsets, "out_targets": xp.empty(kept, np.uint32)}
        arrays["out_weights"] = None if weights is None else xp.empty(kept, self.kind)
        self._launch("copy_arcs", arrays)
        degrees = arrays["degrees"]
        mass = xp.ones(n, np.int64) if cpm else degrees
        whole = int(self.device.get(degrees.sum())) if n else 0
        level = GpuLevel(
            offsets, arrays["out_targets"], arrays["out_weights"], mass, int(counts[LOOPS]), not counts[MOVES]
        )
        return level, whole
