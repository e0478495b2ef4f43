"""GpuContraction: coarse levels on one GPU, pieces of communities, and other names of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.communities.community_totals import GROUPS
from dgraph.algorithms.communities.gpu_shares import RowShares
from dgraph.algorithms.communities.gpu_steps import COUNTS, FEW_FILLED, LOOPS, MOVES, STALLED, GpuLevel, GpuSteps

DENSE = 64
"""Arcs of a level between two vertices are added up if there are more than the square of its vertices over DENSE."""

PAIRS = 4
"""Pairs of groups for each arc at most, as each takes 8 bytes."""


class GraphLevel0(GpuLevel):
    """Level 0 of a graph, which is kept for the next call.

    Attributes:
        kept_as: key of the graph and its parameters.
        places, squares_apart: as of :class:`GpuContraction`.
        whole: sum of all weights, with loops twice.
        shift: weights are scaled by a power of two.
        bytes: of the arrays, since the last call.
    """

    kept_as: tuple[str, bool]
    places: tuple[Any, Any]
    squares_apart = whole = shift = bytes = 0

    def rest(self) -> None:
        """Count the bytes at the end of a call, in which lists of rows may have been added."""
        arrays = *self.rows.values(), *(self.lists or {}).values(), *self.places
        self.bytes = sum(getattr(array, "nbytes", 0) for array in arrays)


class GpuContraction(GpuSteps):
    """Steps that make a level of a graph or of another level.

    Attributes:
        places: vertex of level 0 at each position of the graph, NONE if it has no arcs, and the position of each
            vertex; None twice if equal.
        squares_apart: sum of the squares of the masses of vertices without arcs.
    """

    places: tuple[Any, Any] = None, None
    squares_apart = 0

    def level_of(self, graph: Any, weights: Any, cpm: bool) -> GraphLevel0:
        """Return level 0 of a graph, its vertices with arcs by id.

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
        self.places = graph.id_places
        arrays = rows | self.lists_of(source) | {"place": self.places[0], "degrees": xp.zeros(n, np.int64)}
        arrays["lengths"] = xp.zeros(n, np.int64)
        self._clear()
        self._launch("count_arcs", arrays)
        counts, degrees = self._counted(), arrays["degrees"]
        whole = int(self.device.get(degrees.sum())) if n else 0
        masses, lengths = self._linked(arrays)
        count = len(masses)
        if cpm:
            masses, self.squares_apart = xp.ones(count, np.int64), n - count
        elif count < n and counts[LOOPS]:
            self.squares_apart = self._squares(degrees) - self._squares(masses)
        offsets = self._starts(lengths)
        kept = int(self.device.get(offsets[-1:])[0])
        arrays |= {"place": self.places[0], "lengths": xp.zeros(count, np.int64), "out_offsets": offsets}
        arrays |= {"out_targets": xp.empty(kept, np.uint32)}
        arrays["out_weights"] = None if weights is None else xp.empty(kept, self.kind)
        level = GraphLevel0(
            offsets, arrays["out_targets"], arrays["out_weights"], masses, int(counts[LOOPS]), not counts[MOVES]
        )
        shares, members = self.shares_of(level), {}
        if shares is not None:
            arrays["others"], members = xp.zeros(count, np.uint32), shares.members
            level.rows["others"] = arrays["others"]
        self._launch("copy_arcs", arrays, **members)
        level.places, level.squares_apart, level.whole = self.places, self.squares_apart, whole
        return level

    def _linked(self, arrays: dict[str, Any]) -> tuple[Any, Any]:
        """Return degrees and lengths of the vertices with arcs; number these in ``places`` if there are others."""
        xp, n = self.xp, len(arrays["lengths"])
        numbers = {"swept": xp.empty(n, np.uint32), "kept": xp.empty(n, np.uint32)}
        packed = {"group_mass": xp.empty(n, np.int64), "group_rows": xp.empty(n, np.int64)}
        self._clear()
        self._launch("number_linked", arrays | numbers | packed, 0, self._grid("number_linked", n, n)[0], True)
        count = int(self._counted()[MOVES])
        if not 0 < count < n:
            return arrays["degrees"], arrays["lengths"]
        place, vertex = self.places
        linked = numbers["kept"][:count]
        self.places = (
            numbers["swept"] if place is None else self.through(numbers["swept"], place),
            linked if vertex is None else self.through(vertex, linked),
        )
        return self.copied(packed["group_mass"][:count]), packed["group_rows"][:count]

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
        filled = self._filled(arrays, count)
        if filled <= FEW_FILLED and filled**2 <= PAIRS * len(level.rows["targets"]):
            return self._paired(level, arrays | lists, filled), arrays["groups"]
        starts = arrays["group_starts"] = self._starts(arrays["group_rows"])
        arcs, shares, lengths = len(level.rows["targets"]), self.shares_of(level), xp.zeros(count, np.int64)
        cuts = [0, count] if shares is None else self._cuts(starts, shares)
        first, end = cuts[:2] if shares is None else cuts[shares.number : shares.number + 2]
        split = {} if shares is None else shares.split(first, end)
        arrays |= {"out_targets": xp.empty(arcs, np.uint32), "out_weights": xp.empty(arcs, kind)}
        self._launch("map_arcs", arrays | lists, **split)
        weights = arrays["out_weights"]
        mapped = {"offsets": starts[first : end + 1], "targets": arrays["out_targets"], "out_weights": weights}
        mapped |= {"weights": None if level.rows["weights"] is None else weights, "lengths": lengths[first:end]}
        mapped["most_labels"] = count
        counts = self._tallied(mapped, 0)
        lists, tally = self._listing(counts, {}), self.copied(self.counters[0][:COUNTS])
        groups = self._fewest(counts)
        self._clear()
        split |= {} if shares is None else shares.begin()
        self._launch("merge_rows", mapped | lists, groups, self._grid("merge_rows", count, count)[0], True, **split)
        counts = self._counted()
        if shares is not None:
            shares.check(int(counts[STALLED]))
            shares.spread(lengths, cuts)
        offsets = self._starts(lengths)
        begins = [int(self.device.get(offsets[cut : cut + 1])[0]) for cut in cuts]
        packed = {"out_targets": xp.empty(begins[-1], np.uint32), "out_weights": xp.empty(begins[-1], kind)}
        mapped |= {"weights": weights, "out_offsets": offsets[first:], "tally": tally}
        self._launch("pack_rows", mapped | lists | packed, groups)
        if shares is not None:
            for array in packed.values():
                shares.spread(array, begins)
        inner, rows = int(counts[LOOPS]), (offsets, packed["out_targets"], packed["out_weights"], arrays["group_mass"])
        return GpuLevel(*rows, level.loops + inner), arrays["groups"]

    def _cuts(self, starts: Any, shares: RowShares) -> list[int]:
        """Return the first group whose row each GPU folds, and the number of groups, by the starts of their rows."""
        count = len(starts) - 1
        self._launch("cut_groups", {"offsets": starts, "group_starts": starts}, count, 1, **shares.split(0, 0))
        return [*self.device.read(self.tables["block_counts"][: shares.gpus]).tolist(), count]

    def _filled(self, arrays: dict[str, Any], count: int) -> int:
        """Return how many of the groups have arcs to others; number these if they are few."""
        xp, n = self.xp, len(arrays["groups"])
        arrays |= {"filled": xp.empty(n, np.uint16), "kept": xp.empty(FEW_FILLED, np.uint32)}
        arrays["flags"] = xp.zeros(count, np.uint32)
        self._clear()
        self._launch("number_filled", arrays, count, self._grid("number_filled", n, n)[0], True)
        return int(self._counted()[MOVES])

    def _paired(self, level: GpuLevel, arrays: dict[str, Any], filled: int) -> GpuLevel:
        """Return the level of groups of which few have arcs to others."""
        xp, count, shares = self.xp, len(arrays["group_mass"]), self.shares_of(level)
        gpus, number, members = (1, 0, {}) if shares is None else (shares.gpus, shares.number, shares.members)
        cuts = [gpu * filled * filled for gpu in range(gpus + 1)]
        pairs = xp.zeros(cuts[-1], np.uint64)
        self._clear()
        self._launch("add_pairs", arrays | {"pairs": pairs[cuts[number] : cuts[number + 1]]}, filled, **members)
        inner = int(self._counted()[LOOPS])
        if shares is not None:
            inner = shares.total(inner)
            shares.spread(pairs, cuts)
        arrays |= {"pairs": pairs, "lengths": xp.zeros(count, np.int64)}
        self._launch("take_pairs", arrays, filled, gpus=gpus)
        offsets = self._starts(arrays["lengths"])
        arcs = int(self.device.get(offsets[-1:])[0])
        arrays |= {"out_targets": xp.empty(arcs, np.uint32), "out_weights": xp.empty(arcs, self.kind)}
        self._launch("take_pairs", arrays | {"out_offsets": offsets}, filled, gpus=gpus)
        rows = offsets, arrays["out_targets"], arrays["out_weights"], arrays["group_mass"]
        return GpuLevel(*rows, level.loops + inner)

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
        self._launch("pack_rows", arrays, GROUPS)
        rows = offsets, arrays["out_targets"], arrays["out_weights"], arrays["group_mass"]
        return GpuLevel(*rows, level.loops + inner, distinct=False)

    def _starts(self, lengths: Any) -> Any:
        """Return the starts of adjacent ranges, and the end of the last."""
        starts = self.xp.zeros(len(lengths) + 1, np.int64)
        self.xp.cumsum(lengths.view(np.uint64), out=starts[1:].view(np.uint64))
        return starts

    def connected(self, level: GpuLevel, labels: Any, parts: Any | None = None) -> Any:
        """Return the smallest vertex of the connected piece of each vertex within its community, and part of it."""
        parents = self.alone(level.n)
        arrays = level.rows | {"labels": labels, "groups": parts, "parts": parents} | self.lists_of(level)
        arrays["chosen"], shares = self.xp.zeros(level.n, np.uint64), self.shares_of(level)
        for kernel in ("connect_some", "flatten_pieces", "choose_members", "connect_rows", "flatten_pieces"):
            self._launch(kernel, arrays, **({} if shares is None else shares.members))
        if shares is not None:
            shares.bring(
                parents, lambda _, first, piece: self._launch("join_pieces", {"labels": piece, "parts": parents}, first)
            )
            self._launch("flatten_pieces", arrays)
        return parents

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
        """Return the original id of each vertex's label, or its own without arcs, int64, by position of the graph."""
        place, vertex = self.places
        names = self.xp.empty(len(graph.original), np.int64)
        arrays = {"degrees": names, "labels": labels, "place": place, "vertex": vertex}
        arrays["ids" if graph.original.dtype == np.uint32 else "wide_ids"] = graph.original
        self._launch("name_labels", arrays)
        return names

    def changes(self, labels: Any, others: Any) -> int:
        """Return the number of vertices with two labels."""
        self._clear()
        self._launch("count_changes", {"labels": labels, "proposed": others})
        return int(self._counted()[MOVES])
