"""Partition: labels of a level's vertices, the totals of each community, and the search for a vertex's best move."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.exact_gains import exceeds, gain
from dgraph.algorithms.communities.graph_level import GraphLevel, sums_by
from dgraph.backend.cpu.threads.atomics import INLINE, OPTIONS, mixed
from dgraph.backend.cpu.threads.plain_kernels import plain_first

GROUPS = 16
"""Sub-rounds of a round."""

ALONE = -1
"""Target of a vertex that moves alone, and leaves its community for an empty one."""


class Partition:
    """Labels and totals.

    Args:
        level: the graph.
        labels: below n, int32 (n,).

    Attributes:
        mass: mass of each community, int64 (n,).
        sizes: vertices of the level in it.
        counts: vertices of the graph in it.
        sole: XOR of its vertices: the only one, if its size is 1.
    """

    def __init__(self, level: GraphLevel, labels: np.ndarray):
        self.level = level
        self.restore(labels)

    def restore(self, labels: np.ndarray) -> None:
        """Take labels, and add up their totals."""
        level, self.labels = self.level, labels
        self.mass, self.counts = sums_by(labels, level.mass), sums_by(labels, level.counts)
        self.sizes, self.sole = sums_by(labels, np.ones(level.n, np.int64)), np.zeros(level.n, np.int32)
        _add_xor(labels, self.sole)

    @property
    def totals(self) -> tuple[np.ndarray, ...]:
        """Arrays that kernels change."""
        return self.labels, self.mass, self.sizes, self.counts, self.sole


@plain_first
@njit(**OPTIONS)
def _add_xor(labels, sole):
    for v in range(len(labels)):
        sole[labels[v]] ^= v


@njit(**INLINE)
def gather(v, offsets, targets, weights, labels, sums, touched):
    """Add up the weights from v to each label; return the number of ``touched`` labels. ``sums`` must be 0."""
    count = 0
    for i in range(offsets[v], offsets[v + 1]):
        c = labels[targets[i]]
        if sums[c] == 0:
            touched[count] = c
            count += 1
        sums[c] += weights[i]
    return count


@njit(**INLINE)
def apply_move(v, old, new, mass, counts, mass_of, sizes, counts_of, sole):
    """Move the totals of v from one community to another."""
    mass_of[old] -= mass[v]
    mass_of[new] += mass[v]
    counts_of[old] -= counts[v]
    counts_of[new] += counts[v]
    sizes[old] -= 1
    sizes[new] += 1
    sole[old] ^= v
    sole[new] ^= v


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
def best_move(v, scale, price, most, rows, totals, sums, touched, salt, group):
    """Return the label that v should have, ``ALONE`` for any empty one; ``sums`` is 0 again afterwards.

    Args:
        v: vertex.
        scale: factor of weights, see ``units.py``.
        price: factor of masses.
        most: largest number of the graph's vertices in a community.
        rows: arrays of the level.
        totals: arrays of the partition.
        sums: of this thread.
        touched: labels, of this thread.
        salt: seed of the round.
        group: sub-round, whose vertices move at once; two lone ones then only join towards the smaller label, and a
            vertex leaves only for its own label, if no vertex has it. -1: v moves alone.
    """
    offsets, targets, weights, mass, counts = rows
    labels, mass_of, sizes, counts_of, sole = totals
    touched_labels = gather(v, offsets, targets, weights, labels, sums, touched)
    own = labels[v]
    cost, chosen = price * mass[v], own
    best = gain(scale, sums[own], cost, mass_of[own] - mass[v])
    for k in range(touched_labels):
        c = touched[k]
        exact = gain(scale, sums[c], cost, mass_of[c])
        sums[c] = 0
        if c == own or not is_better(exact, best, c, chosen, own) or counts_of[c] + counts[v] > most:
            continue
        swaps = group >= 0 and c > own and sizes[own] == 1 and sizes[c] == 1
        if swaps and group_of(sole[c], salt) == group:
            continue
        best, chosen = exact, c
    sums[own] = 0
    if sizes[own] == 1 or best[0] >= 0:
        return chosen
    if group < 0:
        return np.int32(ALONE)
    return np.int32(v) if sizes[v] == 0 else own


@njit(**INLINE)
def group_of(v, salt):
    """Return the sub-round of a vertex."""
    return mixed(np.int64(v), salt) & (GROUPS - 1)


@plain_first
@njit(**OPTIONS)
def by_group(wanted, salt, starts, order):
    """List the wanted vertices by sub-round, ascending, and the start of each."""
    for i in range(len(starts)):
        starts[i] = 0
    for v in range(len(wanted)):
        if wanted[v]:
            starts[group_of(v, salt) + 1] += 1
    for group in range(GROUPS):
        starts[group + 1] += starts[group]
    total = 0
    for v in range(len(wanted) - 1, -1, -1):
        if wanted[v]:
            group = group_of(v, salt)
            starts[group + 1] -= 1
            order[starts[group + 1]] = v
            total += 1
    for group in range(GROUPS):
        starts[group] = starts[group + 1]
    starts[GROUPS] = total
