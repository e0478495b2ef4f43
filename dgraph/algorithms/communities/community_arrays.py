"""Array rounds of the kernels of communities, which answer first runs in place of 8 s of compilation.

A sub-round evaluates all of its vertices at once. Gains are int64: these rounds take 32-bit weights alone, whose
products are below 2^62 (:meth:`Units.kind`). The best move does not depend on the order of a row, so labels and bounds
are those of the kernels. The rounds change arrays in place and cannot begin again: they yield first, and only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from dgraph.algorithms.many_sources.drawn_sources import hashed
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.graph.rows import edges_of

ROUNDING = 1e-12
"""Bound of the relative error of a few sums and products in float64."""

DRAWS = 1 << 16
"""Values of the draw that decides whether a vertex moves beside others."""

MASS, SIZE, INSIDE, JOINS = range(4)
"""Places of the totals of a part: mass, vertices, weight from it to its community's rest, vertices to join it."""

ALONE = -1
"""Target of a vertex that moves alone, and leaves its community for an empty one."""

first_plain = partial(plain_first, most=1 << 21, patience=3.0)
"""Decorator of the kernels of communities: each file of them compiles for about 3 s."""

Arrays = tuple[np.ndarray, ...]


def narrow(rounds: Callable[..., Iterator[None]]) -> Callable[..., Iterator[None] | None]:
    """Return array rounds that leave rows with 64-bit weights to the kernel's text."""

    def chosen(*args):
        rows = next(arg for arg in args if isinstance(arg, tuple))
        return rounds(*args) if rows[2].dtype == np.int32 else None

    return chosen


def sub_rounds(v: np.ndarray, salt: int, groups: int) -> np.ndarray:
    """Return the sub-round of each vertex, as ``group_of``."""
    return hashed(v.astype(np.int64), salt).view(np.int64) & (groups - 1)


def list_by_group(wanted, salt, groups, starts, order) -> None:
    """List the wanted vertices by sub-round."""
    v = np.flatnonzero(wanted)
    group = sub_rounds(v, salt, groups)
    starts[: groups + 1] = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))])
    order[: len(v)] = v[np.argsort(group, kind="stable")]


def summed(keys: np.ndarray, weights: np.ndarray) -> Arrays:
    """Return distinct keys, ascending, and the sums of their weights."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    heads = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[heads], np.add.reduceat(weights[order].astype(np.int64), heads) if len(heads) else heads


def as_floats(exact: np.ndarray) -> np.ndarray:
    """Return gains in float64, with the bits of ``as_float``."""
    upper = np.where(exact < 0, -(2.0**64), 0.0)
    return upper + exact.view(np.uint64).astype(np.float64)


def chosen_labels(v, scale, price, most, rows, totals, bounds, beside) -> np.ndarray:
    """Return the label that each of ``v`` should have, and set its bounds, as ``best_move``.

    ``beside``: mask of the vertices of the sub-round; None: each moves alone.
    """
    offsets, targets, weights, mass, counts = rows
    labels, mass_of, members, counts_of = totals
    sizes, sole = members[::2], members[1::2]
    slack, crossed, _, drift, margins, _ = bounds
    own, cost = labels[v], price * mass[v]
    row, e = edges_of(offsets, v)
    keys, sums = summed(row * len(labels) + labels[targets[e]], weights[e])
    row, c = np.divmod(keys, len(labels))
    inside, mine = np.zeros(len(v), np.int64), c == own[row]
    inside[row[mine]] = sums[mine]
    staying = scale * inside - cost * (mass_of[own] - mass[v])
    row, c, sums = row[~mine], c[~mine], sums[~mine]
    exact = scale * sums - cost[row] * mass_of[c]
    better = (exact > staying[row]) & (counts_of[c] + counts[v[row]] <= most)
    if beside is not None:
        better &= (c < own[row]) | (sizes[own[row]] > 1) | (sizes[c] > 1) | ~beside[np.where(sizes[c] == 1, sole[c], 0)]
    best, chosen, rival = staying.copy(), own.copy(), np.zeros(len(v), np.int64)
    np.maximum.at(best, row[better], exact[better])
    first = np.flatnonzero(better & (exact == best[row]))[::-1]  # of equal ones the smallest label
    chosen[row[first]] = c[first]
    others, moves = c != chosen[row], chosen != own
    np.maximum.at(rival, row[others], exact[others])
    rival[moves] = np.maximum(rival[moves], staying[moves])
    kept, estimates = mass_of[chosen] + np.where(moves, mass[v], 0), offsets[v + 1] - offsets[v] > drift[3]
    price_then = cost.astype(np.float64) * (kept + np.where(estimates, 0, drift[0]))
    highest, second = as_floats(best), as_floats(rival)
    slack[v] = highest - second + price_then - ROUNDING * (np.abs(highest) + second + price_then)
    crossed[v] = 0
    if len(margins):
        margins[v] = np.maximum(highest, 0.0) - as_floats(staying)
    leaves = (sizes[own] > 1) & (best < 0)
    slack[v[leaves | estimates & (moves | (sizes[own] == 1))]] = -np.inf
    alone = ALONE if beside is None else np.where(sizes[v] == 0, v, own)
    return np.where(leaves, alone, chosen).astype(labels.dtype)


def moving(v, scale, price, rows, labels, mass_of, bounds) -> np.ndarray:
    """Return the vertices that may gain by a move, as bounds show: those for which ``stays`` is false."""
    slack, crossed, _, drift, _, _ = bounds
    estimates, cost = np.diff(rows[0])[v] > drift[3], (price * rows[3][v]).astype(np.float64)
    weight = float(scale) * crossed[v] * np.where(estimates, drift[2], 1)
    change = cost * (mass_of[labels[v]].astype(np.float64) + np.where(estimates, 0, drift[0] + drift[1]))
    return v[~(weight + change + ROUNDING * (np.abs(weight) + change) < slack[v])]


@narrow
def _find_gaining(
    taken, vertices, passes, scale, price, most, rows, totals, bounds, flags, all_sums, all_touched
) -> Iterator[None]:  # fmt: skip
    """Flag vertices that gain by a move."""
    yield
    v = moving(np.arange(len(flags)), scale, price, rows, totals[0], totals[1], bounds)
    gains = v[chosen_labels(v, scale, price, most, rows, totals, bounds, None) != totals[0][v]]
    flags[gains], bounds[0][gains] = 1, -np.inf


def find_gaining(taken, vertices, passes, *args) -> Iterator[None] | None:
    """Return array rounds that flag vertices that gain by a move; moves in turn have none."""
    return None if passes else _find_gaining(taken, vertices, passes, *args)


@narrow
def move_in_rounds(
    gate, taken, starts, places, order, scale, price, most, rows, totals, bounds, proposed, active, salt, groups,
    balanced, all_sums, all_touched, changes,
) -> Iterator[None]:  # fmt: skip
    """Run the sub-rounds of a round."""
    yield
    list_by_group(active, salt, groups, starts, order)
    offsets, targets, weights, mass, counts = rows
    labels, mass_of, members, counts_of = totals
    sizes, sole = members[::2], members[1::2]
    slack, crossed, outflow, drift, margins, _ = bounds
    sub_round, change, masses = sub_rounds(np.arange(len(labels)), salt, groups), 0, 0
    limited = most < counts.sum()
    for group in range(groups):
        v = order[starts[group] : starts[group + 1]]
        active[v] = 0
        v = moving(v, scale, price, rows, labels, mass_of, bounds)
        if not len(v):
            continue
        new = chosen_labels(v, scale, price, most, rows, totals, bounds, sub_round == group)
        v, new = v[new != labels[v]], new[new != labels[v]]
        old, kept = labels[v], np.ones(len(v), bool)
        if balanced:
            kept = ~_unbalanced(v, old, new, price, mass, margins, salt)
        if limited:
            sizes_then = counts_of.copy()
            for k in np.flatnonzero(kept):
                kept[k] = sizes_then[new[k]] + counts[v[k]] <= most
                sizes_then[new[k]] += counts[v[k]] * kept[k]
                sizes_then[old[k]] -= counts[v[k]] * kept[k]
        active[v[~kept]], slack[v[~kept]] = 1, -np.inf
        v, old, new = v[kept], old[kept], new[kept]
        if not len(v):
            continue
        ends = np.unique(np.concatenate([old, new]))
        masses -= int((mass_of[ends] ** 2).sum())
        np.add.at(outflow, old, mass[v])
        drift[1] = max(drift[1], float(outflow[old].max()))
        for total, amount in ((mass_of, mass[v]), (counts_of, counts[v]), (sizes, 1), (sole, v)):
            np.subtract.at(total, old, amount)
            np.add.at(total, new, amount)
        masses += int((mass_of[ends] ** 2).sum())
        labels[v] = new
        row, e = edges_of(offsets, v)
        u, weight = targets[e], weights[e].astype(np.int64)
        before, after = proposed[u], labels[u]
        joined, left = after == new[row], before == old[row]
        np.add.at(crossed, u, np.where(joined, -weight, np.where(after == old[row], 2 * weight, weight)))
        active[u[~joined]] = 1
        weight[before == after] *= 2
        change += int(weight[joined].sum()) - int(weight[left].sum())
        proposed[v] = new
    changes[0, :3] = change, masses // 2 & 0xFFFFFFFF, masses // 2 >> 32


def _unbalanced(v, old, new, price, mass, margins, salt) -> np.ndarray:
    """Return a mask of the vertices that stay, since the moves of others may take their gain; see ``_balance``."""
    inflow = np.zeros(len(mass), np.int64)
    np.add.at(inflow, new, mass[v])
    np.subtract.at(inflow, old, mass[v])
    others = inflow[new] - inflow[old] - 2 * mass[v]
    draw = sub_rounds(v, salt + 1, DRAWS).astype(np.float64)
    lost = (price * mass[v]).astype(np.float64) * others.astype(np.float64) * draw
    return (others > 0) & ~(lost < margins[v] * float(DRAWS))


@narrow
def refine_in_rounds(
    gate, taken, starts, places, order, joined, wanted, scale, price, rows, labels, mass_of, parts, proposed, totals,
    change, salt, factor, draws, all_sums, all_touched,
) -> Iterator[None]:  # fmt: skip
    """Run all sub-rounds of the refinement."""
    yield
    list_by_group(wanted, salt, len(starts) - 1, starts, order)
    offsets, targets, weights, mass, _ = rows
    n, totals, groups = len(labels), totals.reshape(-1, 4), len(starts) - 1
    v, e = edges_of(offsets, np.arange(n))
    within = labels[targets[e]] == labels[v]
    totals[:, INSIDE] = np.bincount(v[within], weights[e[within]], n)
    sub_round = sub_rounds(np.arange(n), salt, groups)
    for group in range(groups):
        v = order[starts[group] : starts[group + 1]]
        v = v[(totals[v, SIZE] == 1) & (parts[v] == v)]
        whole = mass_of[labels[v]]
        v = v[scale * totals[v, INSIDE] - price * mass[v] * (whole - mass[v]) >= 0]
        row, e = edges_of(offsets, v)
        e, row = (ends[labels[targets[e]] == labels[v[row]]] for ends in (e, row))
        keys, sums = summed(row * n + parts[targets[e]], weights[e])
        row, part = np.divmod(keys, n)
        mass_in, whole = totals[part, MASS], mass_of[labels[v[row]]]
        exact = scale * sums - price * mass[v[row]] * mass_in
        joins = (exact >= 0) & ((totals[part, SIZE] > 1) | (sub_round[part] != group))
        joins &= scale * totals[part, INSIDE] - price * mass_in * (whole - mass_in) >= 0
        row, part, sums, exact = row[joins], part[joins], sums[joins], exact[joins]
        if factor > 0:
            score, best = as_floats(exact) * factor + _noises(v[row], part, salt, draws), _noises(v, v, salt, draws)
        else:
            score, best = exact, np.zeros(len(v), np.int64)
        least = best.copy()
        np.maximum.at(best, row, score)
        first = np.flatnonzero((score == best[row]) & ((score > least[row]) | (part < v[row])))[::-1]
        chosen = v.copy()
        chosen[row[first]], change[v[row[first]]] = part[first], totals[v[row[first]], INSIDE] - 2 * sums[first]
        v, part = v[chosen != v], chosen[chosen != v]
        proposed[v] = part
        np.add.at(totals, (part, JOINS), 1)
        row, e = edges_of(offsets, v)
        u = targets[e]
        twice = (totals[part, JOINS] > 1)[row] & (proposed[u] == part[row]) & (parts[u] != part[row])
        np.subtract.at(change, v[row[twice]], weights[e[twice]])
        parts[v] = part
        totals[v, SIZE] = totals[v, MASS] = totals[part, JOINS] = 0
        for place, amount in ((SIZE, 1), (MASS, mass[v]), (INSIDE, change[v])):
            np.add.at(totals, (part, place), amount)


def _noises(v: np.ndarray, part: np.ndarray, salt: int, draws: np.ndarray) -> np.ndarray:
    """Return the noise of pairs of a vertex and a part."""
    return draws[hashed(hashed(v.astype(np.int64), salt).view(np.int64) ^ part, salt + 1) & np.uint64(len(draws) - 1)]


def fold_rows(
    taken, starts, order, firsts, rows, loops, groups, out_targets, out_weights, lengths, loops_of, mass_of, counts_of,
    all_sums, all_touched,
) -> Iterator[None]:  # fmt: skip
    """Write the row of each group, with one arc for each neighbouring group, in ascending order, and its totals."""
    yield
    offsets, targets, weights, mass, counts = rows
    count = len(lengths)
    v, e = edges_of(offsets, np.arange(len(groups)))
    keys, sums = summed(groups[v].astype(np.int64) * count + groups[targets[e]], weights[e])
    group, other = np.divmod(keys, count)
    own = group == other
    for total, values in ((loops_of, loops), (mass_of, mass), (counts_of, counts)):
        total[:] = 0
        np.add.at(total, groups, values)
    loops_of[group[own]] += sums[own]
    group, other, sums = group[~own], other[~own], sums[~own]
    lengths[:] = np.bincount(group, minlength=count)
    place = firsts[group] + np.arange(len(group)) - (np.cumsum(lengths) - lengths)[group]
    out_targets[place], out_weights[place] = other, sums


def pack_rows(taken, firsts, offsets, targets, weights, out_targets, out_weights) -> Iterator[None]:
    """Move rows together."""
    yield
    places = np.arange(len(out_targets)) + np.repeat(firsts[: len(offsets) - 1] - offsets[:-1], np.diff(offsets))
    out_targets[:], out_weights[:] = targets[places], weights[places]
