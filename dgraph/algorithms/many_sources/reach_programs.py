"""Distances from many sources on GPUs: programs with a bit for each of 64 sources [Then et al., VLDB 2014].

A round ORs the bits that in-neighbours got in the last one. :class:`ReachProgram` sums distances; ``ReachLevels`` keeps
each of them, in binary: bit i of field ``digit_b`` is binary digit b of the distance from source i.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dgraph.algorithms.many_sources.results import (
    ENDLESS,
    LEVELS,
    KeptSources,
    ReachedVertices,
    SourceSearch,
    decoded,
    hops,
)
from dgraph.algorithms.vertex_values import lids_of
from dgraph.backend.row_solver import RowSolver
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import one_of_many
from dgraph.program import OR, Field, Global, Program, bit_count, where

BITS = 64
"""Sources of a program: bits of a word. A difference of two sets of bits, one in the other, does not saturate."""

DIGITS, MORE_DIGITS = 8, 31
"""Binary digits of a distance in the first program, and in the second, if the graph is deeper."""


class ReachProgram(Program):
    """Sum of the distances from up to 64 sources.

    Attributes:
        whole: word with the bits of all sources.
        limit: largest distance.
        reached: given: sources that reached the vertex, at the start itself.
        known: ``reached`` before the last round that changed it.
        new: sources that reached the vertex in the last round.
        far, count: given: sum of distances, and number of sources that reach it, of earlier programs.
        depth: largest distance found.
        left: vertices with new sources after the last round.
    """

    whole: int = 0
    limit: int = ENDLESS
    monotone = True

    reached = Field("int64", reduce=OR, given=True)
    known = Field("int64")
    new = Field("int64")
    far = Field("float64", given=True)
    count = Field("int64", given=True)
    depth = Global("int64")
    left = Global("int64")

    def init(self, v, g):
        """Activate the sources."""
        return {"known": v.reached, "new": v.reached, "active": (v.reached != 0) & (self.limit > 0)}

    def cond(self, v, g):
        """Skip vertices that all sources reached."""
        return v.known != self.whole

    def edge(self, u, e, v):
        """Propose the new sources of ``u``."""
        return {"reached": u.new}

    def apply(self, v, g):
        """Count the sources that are new."""
        new = v.reached - v.known
        bits = bit_count(new)
        return {
            "known": v.reached,
            "new": new,
            "far": v.far + bits * (1.0 * (g.round + 1)),
            "count": v.count + bits,
            "active": new != 0,
        }

    def step(self, g):
        """End when no vertex got a new source, or at the limit."""
        some = g.active > 0
        return {"depth": where(some, g.round, g.depth), "left": g.active, "done": ~some | (g.round >= self.limit)}


@cache
def levels_program(digits: int) -> type[ReachProgram]:
    """Return the program that also keeps distances of up to ``digits`` binary digits."""
    names = [f"digit_{b}" for b in range(digits)]

    def init(self, v, g):
        """Start with distances of 0."""
        return ReachProgram.init(self, v, g) | dict.fromkeys(names, 0)

    def apply(self, v, g):
        """Add the binary digits of this round's distance to the sources that are new."""
        fields_of_round, rest = ReachProgram.apply(self, v, g), g.round + 1
        for name in names:
            half = rest >> 1
            fields_of_round[name] = getattr(v, name) + where(rest - half - half == 1, fields_of_round["new"], 0)
            rest = half
        return fields_of_round

    fields = {name: Field("int64") for name in names}
    return type(
        f"ReachLevels{digits}", (ReachProgram,), fields | {"init": init, "apply": apply, "__module__": __name__}
    )


class ReachByPrograms(RowSolver):
    """Searches from 64 sources after the other on a GPU."""

    programs = (ReachProgram(),)

    def solve(self, ctx: Context, sources: np.ndarray, work: SourceSearch) -> ReachedVertices:
        """Search from ``sources``; collective. See ``reach.py``."""
        masters, lids, depth = ctx.local.masters, lids_of(ctx.local, sources), 0
        keep, limit = work.keep, hops(work.limit)
        kept = KeptSources(masters, len(sources), keep)
        sums = {"far": np.zeros(masters), "count": np.zeros(masters, np.int64)}
        with one_of_many(ctx):
            for first in range(0, len(sources), BITS):
                batch = lids[first : first + BITS]
                own, start = np.flatnonzero(batch >= 0), np.zeros(masters, np.int64)
                start[batch[own]] = np.int64(1) << own
                fields, whole = {"reached": start} | sums, -1 if len(batch) == BITS else (1 << len(batch)) - 1
                if keep == LEVELS:
                    state, digits = _levels(ctx, fields, whole, limit)
                    words = [state[name][:, None] for name in ("known", *(f"digit_{b}" for b in range(digits)))]
                    kept.levels[:, first : first + len(batch)] = decoded(words[0], words[1:], np.arange(len(batch)))
                else:
                    state = ctx.run(ReachProgram(whole=whole, limit=limit), fields)
                if kept.bits.shape[1]:
                    kept.bits[:, first // BITS] = state["known"].view(np.uint64)
                sums, depth = {name: state.raw(name) for name in sums}, max(depth, state.globals["depth"])
        far, count = (np.array(state[name]) for name in sums)
        pairs = ctx.total(int(np.count_nonzero(lids >= 0) + count.sum())) if keep else 0
        return ReachedVertices(far.astype(np.int64), count, pairs, depth, kept.columns())


class LevelsByPrograms(ReachByPrograms):
    """Searches that keep distances."""

    programs = (levels_program(DIGITS)(),)


def _levels(ctx: Context, fields: dict, whole: int, limit: int) -> tuple:
    """Return the state of a search that keeps distances, and the number of their binary digits."""
    for digits in (DIGITS, MORE_DIGITS):
        most = (1 << digits) - 1
        state = ctx.run(levels_program(digits)(whole=whole, limit=min(limit, most)), fields)
        if limit <= most or not state.globals["left"]:
            break
    return state, digits
