"""Change a partition: remove and insert arcs, with the owners of vertices and the holders of arcs as they are.

:func:`change` is the entry. Every rank knows the edges of a change and finds those that it holds. An arc that is there
stays where it is; a new one goes to its source's owner, or to its target's where all arcs lie at their targets' owners.
A new vertex goes to rank gid mod P. Rows are copied once, in their order (``merge_rows.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import UsageError
from dgraph.graph.block import GraphFacts
from dgraph.graph.build.fingerprint import changed_sum
from dgraph.graph.build.local_graph import check_size, mirror_degrees, mirrors_of_peers
from dgraph.graph.build.part_layout import PartLayout
from dgraph.graph.build.shuffle import Masters
from dgraph.graph.change_record import shifted
from dgraph.graph.changes.local_numbers import Numbers, lids_of, numbers_after
from dgraph.graph.changes.merge_rows import ChangedArcs, carry, count_some, find, merged
from dgraph.graph.changes.new_edges import distinct, merged_weights, repetitions
from dgraph.graph.changes.numbered_batch import NumberedChange, both_ways, distinct_pairs, pair_numbers
from dgraph.graph.local import Csr, LocalGraph


@dataclass(frozen=True)
class ChangedPartition:
    """A changed partition.

    Attributes:
        local: this rank's part.
        facts: size and facts of the graph.
        raised: True if the weight of an edge rose.
        gone, came: arcs that this rank removed and inserted; one whose weight changed is in both.
    """

    local: LocalGraph
    facts: GraphFacts
    raised: bool
    gone: ChangedArcs
    came: ChangedArcs

    def arc_sum(self, before: int, comm: Comm) -> int:
        """Return the sum of arcs' hashes from that of the graph before, if gids did not change; collective."""
        gone, came = ((arcs.src, arcs.dst, arcs.weights) for arcs in (self.gone, self.came))
        return changed_sum(before, gone, came, comm)


@dataclass(frozen=True)
class _Positions:
    """Arcs of a change in the partition before it, equal on every rank but for ``positions``.

    Attributes:
        copies: how many there are of each.
        holder: rank that has it; -1: none.
        positions: that of the first copy on this rank.
    """

    copies: np.ndarray
    holder: np.ndarray
    positions: np.ndarray

    def __getitem__(self, chosen) -> _Positions:
        return _Positions(self.copies[chosen], self.holder[chosen], self.positions[chosen])


def change(
    graph: GraphFacts, local: LocalGraph, what: NumberedChange, comm: Comm, lenient: bool = False
) -> ChangedPartition:
    """Return the partition after a change; the old one is not modified; collective.

    Args:
        graph: the graph's size and facts.
        local: this rank's part of it.
        what: the change.
        comm: communicator of the ranks.
        lenient: ignore edges to remove that are not there.

    Raises:
        UsageError: an edge to remove is not there; a rank would have more than 2**32 vertices.
        DataError: a sum of weights that does not fit.
    """
    facts, gids = graph.facts, shifted(local.gids, what.below)
    with comm.together():
        add, remove = what.add, what.remove
        if not facts.loops_kept:
            add = add[add.src != add.dst]
        if not graph.directed:
            add, remove = both_ways(add), both_ways(remove)
            remove = distinct_pairs(remove, what.n)
        add = distinct(add, facts.merge, facts.duplicates_kept)
    gone = _find(local, gids, remove, comm)
    if not lenient:
        _refuse_missing(what, remove, gone, graph, comm)
    existing = _find(local, gids, add, comm)
    there = (existing.copies > 0) & ~np.isin(pair_numbers(add, what.n), pair_numbers(remove, what.n))
    replaced, raised = _replaced(local, add, existing, there, graph, comm)
    fresh = np.ones(len(add), bool) if facts.duplicates_kept else ~there
    add, existing = add[fresh], existing[fresh]
    loops, duplicates = repetitions(graph, what.n, (remove, gone.copies), (add, existing.copies))
    owners = tuple(_owners(local, gids, end, what, comm) for end in (add.src, add.dst))
    holder = np.where(existing.holder >= 0, existing.holder, owners[_end_that_holds(local, comm)])
    mine = holder == comm.rank
    put = _join_arcs(add[mine], replaced)
    new = what.new[what.new % comm.size == comm.rank]
    numbers = numbers_after(
        local, gids, new, (add.src[mine], add.dst[mine]), tuple(own[mine] for own in owners), comm.rank, comm.size
    )  # fmt: skip
    with comm.together():
        check_size(len(numbers.gids))
    cut = _join_arcs(remove, replaced)
    merged = _merged(local.out, local, gids, numbers, cut, put)
    more = _Sums((remove, add), (-gone.copies, np.ones(len(add), np.int64)))
    partition = _assembled(graph, local, numbers, merged, more, what, comm)
    if graph.directed and "incoming" in local.__dict__:
        before = local.incoming
        partition.incoming_from = lambda: _merged(before, local, gids, numbers, cut.reversed(), put.reversed())
    notes = [*facts.notes, f"changed: {len(what.add):,} edges to add, {len(what.remove):,} to remove"]
    isolated = facts.isolated + what.below.size + _isolated(partition, more, comm)
    facts = replace(
        facts, notes=notes, isolated=isolated, largest_degree=comm.largest(partition.largest_degree), loops=loops,
        duplicates=duplicates,
    )  # fmt: skip
    size = GraphFacts(partition.n, partition.m, partition.arcs, graph.directed, graph.weight_type, what.ids, facts)
    return ChangedPartition(partition, size, raised, _removed(local, gids, cut), put)


def _removed(local: LocalGraph, gids: np.ndarray, cut: ChangedArcs) -> ChangedArcs:
    """Return the copies here of the arcs that go, with their weights."""
    low, high = find(local.out, gids, lids_of(local.masters, gids, local.own_mirrors, cut.src), cut.dst)
    copies = high - low
    arcs = np.repeat(np.arange(len(cut)), copies)
    positions = np.arange(copies.sum()) + np.repeat(low - np.cumsum(copies) + copies, copies)
    return ChangedArcs(
        cut.src[arcs], cut.dst[arcs], None if local.out.weights is None else local.out.weights[positions]
    )


@dataclass(frozen=True)
class _Sums:
    """Arcs that come and go, with the number of copies that do."""

    arcs: tuple[ChangedArcs, ChangedArcs]
    counts: tuple[np.ndarray, np.ndarray]

    @property
    def sources(self) -> np.ndarray:
        return np.concatenate([part.src for part in self.arcs])

    @property
    def copies(self) -> np.ndarray:
        return np.concatenate(self.counts)

    @property
    def loops(self) -> int:
        same = np.concatenate([part.src == part.dst for part in self.arcs])
        return int(self.copies[same].sum())


def _find(local: LocalGraph, gids: np.ndarray, arcs: ChangedArcs, comm: Comm) -> _Positions:
    """Find arcs on all ranks; collective."""
    rows = lids_of(local.masters, gids, local.own_mirrors, arcs.src)
    low, high = find(local.out, gids, rows, arcs.dst)
    here = high - low
    copies = comm.allreduce(here)
    return _Positions(copies, comm.allreduce(np.where(here > 0, comm.rank, -1), "max"), low)


def _refuse_missing(what: NumberedChange, remove: ChangedArcs, gone: _Positions, graph: GraphFacts, comm: Comm) -> None:
    missing = np.flatnonzero(gone.copies == 0)[:1]
    if not missing.size:
        return
    ends = np.array([remove.src[missing[0]], remove.dst[missing[0]]])
    original = what.ids.to_original(ends, comm)
    names = original if what.ids.names is None else what.ids.names.of(original, comm)
    arrow = "→" if graph.directed else "–"
    raise UsageError(f"remove: the graph {graph.facts.name} has no edge {names[0]} {arrow} {names[1]}; leave it out")


def _replaced(
    local: LocalGraph, add: ChangedArcs, existing: _Positions, there: np.ndarray, graph: GraphFacts, comm: Comm
) -> tuple[ChangedArcs, bool]:
    """Return the arcs here that are added a second time and so change their weight; True if some weight rises."""
    none = add[:0]
    if graph.weight_type is None or graph.facts.duplicates_kept:
        return none, False
    rose = 0
    with comm.together():
        positions = np.flatnonzero(there & (existing.holder == comm.rank))
        if positions.size:
            old = local.out.weights[existing.positions[positions]]  # type: ignore[index]
            new = merged_weights(old, add.weights[positions], graph.facts.merge)  # type: ignore[index]
            rose = int(np.count_nonzero(new > old))
            none = ChangedArcs(add.src[positions], add.dst[positions], new)[new != old]
    return none, comm.total(rose) > 0


def _owners(local: LocalGraph, gids: np.ndarray, ends: np.ndarray, what: NumberedChange, comm: Comm) -> np.ndarray:
    """Return the ranks that own vertices; collective."""
    if comm.size == 1:
        return np.zeros(ends.size, np.int64)
    mine = lids_of(local.masters, gids, {}, ends) >= 0
    new = np.isin(ends, what.new)
    return comm.allreduce(np.where(mine, comm.rank, np.where(new, ends % comm.size, -1)), "max")


def _end_that_holds(local: LocalGraph, comm: Comm) -> int:
    """Return the end whose owner gets a new arc: 0 for the source, 1 for the target; collective."""
    columns = any(side.columns for side in local.own_mirrors.values())
    parted, entered = (comm.total(int(flag)) for flag in (not local.whole_rows, columns))
    return int(parted > 0 and not entered)


def _join_arcs(one: ChangedArcs, other: ChangedArcs) -> ChangedArcs:
    weights = None
    if one.weights is not None and other.weights is not None:
        weights = np.concatenate([one.weights, other.weights])
    return ChangedArcs(np.concatenate([one.src, other.src]), np.concatenate([one.dst, other.dst]), weights)


def _merged(csr: Csr, local: LocalGraph, gids: np.ndarray, numbers: Numbers, cut: ChangedArcs, put: ChangedArcs) -> Csr:
    """Return rows without the arcs ``cut`` and with those of ``put``; ends are rows and neighbours."""
    rows = lids_of(local.masters, gids, local.own_mirrors, cut.src)
    here = rows >= 0
    rows, wanted = rows[here], cut.dst[here]
    after = rows if numbers.lids is None else numbers.lids[rows].astype(np.int64)
    old = lids_of(local.masters, gids, local.own_mirrors, put.src)
    now, ends = (lids_of(numbers.masters, numbers.gids, numbers.own_mirrors, end) for end in (put.src, put.dst))
    return merged(csr, gids, numbers, (rows, after, wanted), (old, now, put.dst, ends, put.weights))


def _assembled(
    graph: GraphFacts, local: LocalGraph, numbers: Numbers, merged: Csr, more: _Sums, what: NumberedChange, comm: Comm
) -> LocalGraph:
    """Put the parts together; collective."""
    masters, gids, copies = numbers.masters, numbers.gids, int(more.copies.sum())
    degrees = np.array(_carried(local.out_degree[: local.masters], numbers, masters))
    rows = lids_of(masters, gids, {}, more.sources)
    np.add.at(degrees, rows[rows >= 0], more.copies[rows >= 0])
    peers = local.peer_mirrors
    if comm.size > 1:
        layout, owned = PartLayout(comm.size, comm), [Masters(gids[:masters], degrees, np.zeros(0, np.int64))]
        if comm.total(int(numbers.lids is not None)):
            peers = mirrors_of_peers([numbers.own_mirrors], [gids], owned, layout)[0]
        degrees = mirror_degrees(owned, [peers], layout)[0]
    if what.below.size and what.ids.names is not None:
        original = what.ids.to_original(gids, comm)
    else:
        original = _carried(local.original, numbers, len(gids))
        new = np.zeros(0, np.int64) if numbers.former is None else np.flatnonzero(numbers.former < 0)
        fresh = what.ids.to_original(gids[new], comm)
        if new.size:
            original[new] = fresh
    edges = copies if graph.directed else (copies - more.loops) // 2 + more.loops
    return LocalGraph(
        n=graph.n + what.below.size, m=graph.m + edges, arcs=graph.arcs + copies, masters=masters, gids=gids,
        original=original, out_degree=degrees, out=merged, directed=graph.directed, own_mirrors=numbers.own_mirrors,
        peer_mirrors=peers, pull_requests=local.pull_requests,
    )  # fmt: skip


def _carried(values: np.ndarray, numbers: Numbers, size: int) -> np.ndarray:
    """Return values by lid after a change, 0 for new vertices."""
    if numbers.former is None:
        return values
    carried = np.zeros(size, values.dtype)
    carry(values, numbers.former, carried)
    return carried


def _isolated(local: LocalGraph, more: _Sums, comm: Comm) -> int:
    """Return how many more vertices have no arc; new vertices had none; collective."""
    targets = np.concatenate([part.dst for part in more.arcs])
    ends, numbers = np.unique(np.concatenate([more.sources, targets]), return_inverse=True)
    leaving, into = (np.zeros(ends.size, np.int64) for _ in range(2))
    np.add.at(leaving, numbers.ravel()[: targets.size], more.copies)
    np.add.at(into, numbers.ravel()[targets.size :], more.copies)
    lids = lids_of(local.masters, local.gids, local.own_mirrors, ends)
    mine = np.flatnonzero((lids >= 0) & (lids < local.masters))
    leave = np.zeros(ends.size, np.int64)
    leave[mine] = local.out_degree[lids[mine]]
    leave = comm.allreduce(leave)
    asked = (leave == 0) | (leave == leaving)
    if not local.directed or not asked.any():
        return int(np.count_nonzero(leave == 0)) - int(np.count_nonzero(leave == leaving))
    enter, here = np.zeros(ends.size, np.int64), np.flatnonzero(asked & (lids >= 0))
    counted, counts = np.zeros(local.size, np.bool_), np.zeros(local.size, np.int32)
    counted[lids[here]] = True
    count_some(local.out.neighbours, counted, counts)
    enter[here] = counts[lids[here]]
    enter = comm.allreduce(enter)
    now, before = (leave == 0) & (enter == 0), (leave == leaving) & (enter == into)
    return int(np.count_nonzero(now)) - int(np.count_nonzero(before))
