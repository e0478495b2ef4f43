"""Partition: labels of a level's vertices, the totals of each community, and the search for a vertex's best move."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_arrays import ALONE, ROUNDING, first_plain, list_by_group
from dgraph.algorithms.communities.exact_gains import as_float, exceeds, gain
from dgraph.algorithms.communities.graph_level import GraphLevel, sums_by
from dgraph.backend.cpu.threads.atomics import INLINE, OPTIONS, add_into, barrier, mixed
from dgraph.backend.cpu.threads.team import Team

GROUPS, FEW_GROUPS, SPARSE = 16, 4, 8
"""Sub-rounds of a round, and of one in which at most one of ``SPARSE`` vertices is active: few are neighbours."""

MOST_GROUPS, CROWD = 64, 1 << 16
"""Sub-rounds at most, and vertices of one above which a round has twice as many: too many would join one community."""


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
        sizes: vertices of the level in it.
        counts: vertices of the graph in it.
        sole: sum of its vertices: the only one, if its size is 1, int64 (n,).
        slack: of each vertex, the gain by which staying exceeded every move when it was last evaluated, plus the price
            of its community's mass then and of ``drift``, float64 (n,); -inf: it must be evaluated.
        crossed: weight that its neighbours have moved towards other communities since then, int64 (n,).
        outflow: mass that left each community in this round, int64 (n,).
        margins: of a vertex that is to move, by how much the gain exceeds that of staying, float64 (n,).
        inflow: mass that is to enter each community in this sub-round, less that to leave it, int64 (n,).
        drift: sum of the largest outflow of each round before, the largest one of this round; then the share of
            ``crossed`` that counts for vertices of more arcs than the last entry, float64 (4,); see :func:`estimated`.
    """

    def __init__(self, level: GraphLevel, labels: np.ndarray):
        n, self.level = level.n, level
        self._add(labels)
        self.slack, self.crossed = np.full(n, -np.inf), np.zeros(n, np.int64)
        self.outflow, self.drift = np.zeros(n, np.int64), np.array([0, 0, 1, np.inf])
        self.margins, self.inflow = np.empty(n), np.zeros(n, np.int64)

    def _add(self, labels: np.ndarray) -> None:
        """Set the labels, and add up their totals."""
        n, level, self.labels = self.level.n, self.level, labels
        self.mass, self.counts = sums_by(labels, level.mass, n), sums_by(labels, level.counts, n)
        self.sizes, self.sole = (sums_by(labels, values, n) for values in (np.ones(n, np.int64), np.arange(n)))

    @property
    def totals(self) -> tuple[np.ndarray, ...]:
        """Arrays that kernels change."""
        return self.labels, self.mass, self.sizes, self.counts, self.sole

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
    count = 0
    for i in range(offsets[v], offsets[v + 1]):
        c = labels[targets[i]]
        touched[count] = c
        count += sums[c] == 0  # no branch, which would be mispredicted often
        sums[c] += weights[i]
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
    if slack[v] == -np.inf:
        return False
    weight, cost, outflows = float(scale) * float(crossed[v]), float(price) * float(rows[3][v]), drift[0] + drift[1]
    if estimated(v, rows[0], drift):
        weight, outflows = weight * drift[2], 0.0
    change = cost * (float(mass_of[labels[v]]) + outflows)
    return weight + change + ROUNDING * (abs(weight) + change) < slack[v]


@njit(**INLINE)
def cross(u, own, old, new, weight, crossed, alone):
    """Note for u, whose label is ``own``, that a neighbour has moved."""
    if new == own:
        add_into(crossed, u, -weight, alone)
    else:
        add_into(crossed, u, 2 * weight if old == own else weight, alone)


@njit(**INLINE)
def apply_move(v, old, new, mass, counts, totals, bounds):
    """Move the totals of v from one community to another."""
    _, mass_of, sizes, counts_of, sole = totals
    outflow, drift = bounds[2], bounds[3]
    outflow[old] += mass[v]
    drift[1] = max(drift[1], float(outflow[old]))
    mass_of[old] -= mass[v]
    mass_of[new] += mass[v]
    counts_of[old] -= counts[v]
    counts_of[new] += counts[v]
    sizes[old] -= 1
    sizes[new] += 1
    sole[old] -= v
    sole[new] += v


@njit(**INLINE)
def shift(v, new, rows, totals, bounds):
    """Move v to another community, alone."""
    offsets, targets, weights, mass, counts = rows
    labels, crossed, old = totals[0], bounds[1], totals[0][v]
    apply_move(v, old, new, mass, counts, totals, bounds)
    labels[v] = new
    for i in range(offsets[v], offsets[v + 1]):
        cross(targets[i], labels[targets[i]], old, new, weights[i], crossed, True)


@njit(**INLINE)
def empty_label(v, sizes):
    """Return the first label from v on, cyclically, that no vertex has."""
    c = v
    while sizes[c] > 0:
        c = c + 1 if c + 1 < len(sizes) else 0
    return c


@njit(**INLINE)
def is_better(exact, best, label, chosen, own):
    """Return True if a gain beats the best one; of equal ones the smallest label wins, and staying before all."""
    return exceeds(exact, best) or (exact == best and chosen != own and label < chosen)


@njit(**INLINE)
def best_move(v, scale, price, most, rows, totals, bounds, sums, touched, salt, group, groups):
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
    """
    offsets, targets, weights, mass, counts = rows
    labels, mass_of, sizes, counts_of, sole = totals
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
                and sizes[own] == 1
                and sizes[c] == 1
                and group_of(sole[c], salt, groups) == group
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
    margins[v] = max(first, 0.0) - as_float(staying)
    if estimate and (chosen != own or sizes[own] == 1):
        slack[v] = -np.inf
    if sizes[own] == 1 or best[0] >= 0:
        return chosen
    slack[v] = -np.inf
    if group < 0:
        return np.int32(ALONE)
    return np.int32(v) if sizes[v] == 0 else own


@njit(**INLINE)
def group_of(v, salt, groups):
    """Return the sub-round of a vertex, of a power of two of them."""
    return mixed(np.int64(v), salt) & (groups - 1)


def by_group(
    wanted: np.ndarray, salt: int, groups: int, starts: np.ndarray, order: np.ndarray, threads: int, team: Team
) -> None:  # fmt: skip
    """List the wanted vertices by sub-round, ascending, in ``order``, and the start of each in ``starts``."""
    gate, places = np.zeros(16, np.int64), np.zeros((threads, groups), np.int64)
    team.run(_by_group, threads, gate, wanted, salt, groups, starts, places, order)


@first_plain(rounds=list_by_group)
@njit(**OPTIONS)
def _by_group(t, threads, gate, wanted, salt, groups, starts, places, order):
    """List the vertices of this thread. ``places``: numbers of its vertices, and then their places, by sub-round."""
    n, mine = len(wanted), places[t]
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
