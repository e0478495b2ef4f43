"""Partition: labels of a level's vertices, the totals of each community, and the search for a vertex's best move."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_arrays import ALONE, ROUNDING, first_plain
from dgraph.algorithms.communities.exact_gains import as_float, exceeds, gain
from dgraph.algorithms.communities.graph_level import GraphLevel, tally
from dgraph.backend.cpu.threads.atomics import INLINE, INNER, OPTIONS, add_into, barrier, load, mixed, pointers

GROUPS, FEW_GROUPS, SPARSE = 16, 4, 8
"""Sub-rounds of a round, and of one in which at most one of ``SPARSE`` vertices is active: few are neighbours."""

MOST_GROUPS, CROWD = 64, 1 << 16
"""Sub-rounds at most, and vertices of one above which a round has twice as many: too many would join one community."""

UNLIMITED = 1 << 62
"""Most vertices of a community without a limit."""


def group_count(active: int, n: int) -> int:
    """Return the number of sub-rounds of a round by how many of n vertices are active, a power of two."""
    if active * SPARSE <= n:
        return FEW_GROUPS
    groups = GROUPS
    while groups < MOST_GROUPS and active > groups * CROWD:
        groups *= 2
    return groups


class Partition:
    """Labels and totals.

    Args:
        level: the graph.
        labels: below n, int32 (n,).

    Attributes:
        mass: mass of each community, int64 (n,).
        members: of each community the number of its vertices, and their sum: the only one, if it is 1, int64 (2 n,).
        counts: vertices of the graph in it; rounds keep it up only where they limit it.
        slack: of each vertex, the gain by which staying exceeded every move when it was last evaluated, plus the price
            of its community's mass then and of ``drift``, float64 (n,); -inf: it must be evaluated.
        crossed: weight that its neighbours have moved towards other communities since then, int64 (n,).
        outflow: mass that left each community in this round, int64 (n,).
        margins: of a vertex that is to move, by how much the gain exceeds that of staying, float64 (n,); empty, as
            ``inflow``, where no moves are balanced.
        inflow: mass that is to enter each community in this sub-round, less that to leave it, int64 (n,).
        drift: sum of the largest outflow of each round before, the largest one of this round; then the share of
            ``crossed`` that counts for vertices of more arcs than the last entry, float64 (4,); see :func:`estimated`.
    """

    def __init__(self, level: GraphLevel, labels: np.ndarray):
        n, self.level = level.n, level
        self._add(labels)
        self.slack, self.crossed = np.full(n, -np.inf), np.zeros(n, np.int64)
        self.outflow, self.drift = np.zeros(n, np.int64), np.array([0, 0, 1, np.inf])
        self.margins, self.inflow = np.empty(0), np.zeros(0, np.int64)

    def _add(self, labels: np.ndarray) -> None:
        """Set the labels, and add up their totals."""
        n, level, self.labels = self.level.n, self.level, labels
        self.mass, self.members, self.counts = (np.zeros(size, np.int64) for size in (n, 2 * n, n))
        _total(*self.totals, level.mass, level.counts)

    @property
    def totals(self) -> tuple[np.ndarray, ...]:
        """Arrays that kernels change."""
        return self.labels, self.mass, self.members, self.counts

    @property
    def bounds(self) -> tuple[np.ndarray, ...]:
        """Arrays by which kernels know vertices that gain by no move, and how many may move at once."""
        return self.slack, self.crossed, self.outflow, self.drift, self.margins, self.inflow

    def end_round(self) -> None:
        """Begin another round of outflows."""
        self.drift[:2] = self.drift[:2].sum(), 0
        self.outflow.fill(0)

    def take(self, labels: np.ndarray) -> None:
        """Take labels whose communities are mostly the same, by any names.

        Bounds depend on no names. They stay but for vertices that left their community or that joined another one with
        it, and for neighbours of these.
        """
        names = np.full((2, self.level.n), -1, np.int64)
        _relabel(self.labels, labels, self.level.rows, *names, self.slack, self.outflow, self.drift)
        self.end_round()
        self._add(labels)


@first_plain
@njit(**OPTIONS)
def _total(labels, mass_of, members, counts_of, mass, counts):
    for v in range(len(labels)):
        c = load(labels, v)
        add_into(mass_of, c, load(mass, v), True)
        add_into(members, 2 * c, 1, True)
        add_into(members, 2 * c + 1, v, True)
        add_into(counts_of, c, load(counts, v), True)


@first_plain
@njit(**OPTIONS)
def _relabel(old, new, rows, chosen, owners, slack, outflow, drift):
    """Drop the bounds that other labels make wrong, and add up the mass that leaves each community.

    Args:
        old: labels.
        new: labels.
        rows: arrays of the level.
        chosen: gets the vertex of most arcs of each old community, whose new one takes its place; -1 before.
        owners: gets the old community whose place each new one takes; -1 before.
        slack: of each vertex.
        outflow: gets the mass that leaves each new community.
        drift: of the partition.
    """
    offsets, targets, _, mass, _ = rows
    for v in range(len(old)):
        most = chosen[old[v]]
        if most < 0 or offsets[v + 1] - offsets[v] > offsets[most + 1] - offsets[most]:
            chosen[old[v]] = v
    for community in range(len(old)):
        v = chosen[community]
        if v >= 0:
            owner = owners[new[v]]
            most = -1 if owner < 0 else chosen[owner]
            if most < 0 or offsets[v + 1] - offsets[v] > offsets[most + 1] - offsets[most]:
                owners[new[v]] = community
    for v in range(len(old)):
        place = new[chosen[old[v]]]
        if place == new[v] and owners[place] == old[v]:
            continue
        if place != new[v]:
            outflow[place] += mass[v]
            drift[1] = max(drift[1], float(outflow[place]))
        slack[v] = -np.inf
        for i in range(offsets[v], offsets[v + 1]):
            slack[targets[i]] = -np.inf


@njit(**INLINE)
def gather(v, offsets, targets, weights, labels, sums, touched):
    """Add up the weights from v to each label; return the number of ``touched`` labels. ``sums`` must be 0.

    ``touched`` has an entry more than there are labels.
    """
    count = np.int64(0)
    for i in range(offsets[v], offsets[v + 1]):
        count = tally(labels[targets[i]], weights[i], sums, touched, count)
    return count


@njit(**INLINE)
def estimated(v, offsets, drift):
    """Return True if the bounds of v are an estimate: without outflows, and with a share of ``crossed``."""
    return offsets[v + 1] - offsets[v] > drift[3]


@njit(**INLINE)
def stays(v, scale, price, rows, labels, mass_of, bounds):
    """Return True if bounds show that v gains by no move: the row need not be read.

    A gain changes with the weights to two communities and with their masses. The mass of v's own community is exact,
    others have lost at most the drift.
    """
    slack, crossed, _, drift, _, _ = bounds
    least = slack[v]
    if least == -np.inf:
        return False
    weight, cost = float(scale) * float(crossed[v]), float(price) * float(rows[3][v])
    outflows = drift[0] + drift[1]
    if estimated(v, rows[0], drift):
        weight, outflows = weight * drift[2], 0.0
    change = cost * (float(mass_of[labels[v]]) + outflows)
    return weight + change + ROUNDING * (abs(weight) + change) < least


@njit(**INLINE)
def cross(u, own, old, new, weight, crossed, alone):
    """Note for u, whose label is ``own``, that a neighbour has moved."""
    add_into(crossed, np.int64(u), -weight if new == own else 2 * weight if old == own else weight, alone)


@njit(**INLINE)
def apply_move(v, old, new, mass, totals, bounds, alone):
    """Move the totals of v, but for counts; return half the change of the squares over the mass, and the outflow."""
    _, mass_of, members, _ = totals
    old, new, one = np.int64(old), np.int64(new), np.int64(1)  # types of one add_into
    left, joined = add_into(mass_of, old, -mass, alone), add_into(mass_of, new, mass, alone)
    add_into(members, 2 * old, -one, alone)
    add_into(members, 2 * old + 1, np.int64(-v), alone)
    add_into(members, 2 * new, one, alone)
    add_into(members, 2 * new + 1, np.int64(v), alone)
    return joined - left + mass, add_into(bounds[2], old, mass, alone) + mass


@njit(**INLINE)
def shift(v, new, rows, totals, bounds, alone):
    """Move v to another community; there is one thread, so ``alone`` is True."""
    offsets, targets, weights, mass, counts = rows
    labels, counts_of, crossed, drift, old = totals[0], totals[3], bounds[1], bounds[3], totals[0][v]
    drift[1] = max(drift[1], float(apply_move(v, old, new, mass[v], totals, bounds, alone)[1]))
    counts_of[old] -= counts[v]
    counts_of[new] += counts[v]
    labels[v] = new
    for i in range(offsets[v], offsets[v + 1]):
        cross(targets[i], labels[targets[i]], old, new, np.int64(weights[i]), crossed, alone)


@njit(**INLINE)
def empty_label(v, members, n):
    """Return the first label from v on, cyclically, that no vertex has."""
    c = v
    while members[2 * c] > 0:
        c = np.int32(c + 1 if c + 1 < n else 0)
    return c


@njit(**INLINE)
def is_better(exact, best, label, chosen, own):
    """Return True if a gain beats the best one; of equal ones the smallest label wins, and staying before all."""
    return exceeds(exact, best) or (exact == best and chosen != own and label < chosen)


@njit(**INLINE)
def best_move(v, scale, price, most, rows, totals, bounds, sums, touched, salt, group, groups, balanced):
    """Return the label that v should have, ``ALONE`` for any empty one, and set its bounds.

    ``sums`` is 0 again afterwards.

    Args:
        v: vertex.
        scale: factor of weights, see ``units.py``.
        price: factor of masses.
        most: largest number of the graph's vertices in a community.
        rows: arrays of the level.
        totals: arrays of the partition.
        bounds: arrays of the partition.
        sums: of this thread.
        touched: labels, of this thread.
        salt: seed of the round.
        group: sub-round, whose vertices move at once; two lone ones then only join towards the smaller label, and a
            vertex leaves only for its own label, if no vertex has it. -1: v moves alone.
        groups: sub-rounds of the round.
        balanced: True sets the margin of v.
    """
    offsets, targets, weights, mass, counts = rows
    labels, mass_of, members, counts_of = totals
    slack, crossed, _, drift, margins, _ = bounds
    touched_labels = gather(v, offsets, targets, weights, labels, sums, touched)
    own = labels[v]
    cost, chosen, kept = price * mass[v], own, mass_of[own]
    staying = gain(scale, sums[own], cost, kept - mass[v])
    best, rival = staying, gain(0, 0, 0, 0)
    for k in range(touched_labels):
        c = touched[k]
        exact = gain(scale, sums[c], cost, mass_of[c])
        sums[c] = 0
        if c == own:
            continue
        if (
            is_better(exact, best, c, chosen, own)
            and counts_of[c] + counts[v] <= most
            and not (
                group >= 0
                and c > own
                and members[2 * own] == 1
                and members[2 * c] == 1
                and group_of(members[2 * c + 1], salt, groups) == group
            )
        ):
            exact, best, chosen, kept = best, exact, c, mass_of[c] + mass[v]
        if exceeds(exact, rival):
            rival = exact
    sums[own] = 0
    estimate = estimated(v, offsets, drift)
    outflows = 0.0 if estimate else drift[0]
    first, second, price_then = as_float(best), as_float(rival), float(cost) * (float(kept) + outflows)
    slack[v] = first - second + price_then - ROUNDING * (abs(first) + second + price_then)
    crossed[v] = 0
    if balanced:
        margins[v] = max(first, 0.0) - as_float(staying)
    if estimate and (chosen != own or members[2 * own] == 1):
        slack[v] = -np.inf
    if members[2 * own] == 1 or best[0] >= 0:
        return chosen
    slack[v] = -np.inf
    if group < 0:
        return np.int32(ALONE)
    return np.int32(v) if members[2 * v] == 0 else own


@njit(**INLINE)
def group_of(v, salt, groups):
    """Return the sub-round of a vertex, of a power of two of them."""
    return mixed(np.int64(v), salt) & (groups - 1)


@njit(**INNER)
def by_group(t, threads, gate, wanted, salt, groups, starts, places, order):
    """List the wanted vertices by sub-round, ascending, in ``order``, and the start of each in ``starts``.

    All threads call it, and wait for each other at their next barrier. ``places`` of a thread: 0; gets the numbers of
    its vertices, and then their places, by sub-round.
    """
    n = len(wanted)
    wanted, order, starts, mine = pointers((wanted, order, starts, places[t]))
    first, last = n * t // threads, n * (t + 1) // threads
    for v in range(first, last):
        if wanted[v]:
            mine[group_of(v, salt, groups)] += 1
    barrier(gate, threads)
    if t == 0:
        total = 0
        for group in range(groups):
            starts[group] = total
            for thread in range(threads):
                count = places[thread][group]
                places[thread][group] = total
                total += count
        starts[groups] = total
    barrier(gate, threads)
    for v in range(first, last):
        if wanted[v]:
            group = group_of(v, salt, groups)
            order[mine[group]] = v
            mine[group] += 1
