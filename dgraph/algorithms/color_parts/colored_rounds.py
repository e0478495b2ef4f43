"""Fields of the report's rounds: vertices coloured, and the largest degree that was scanned [003, Figs. 7 and 9]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import State


def describe_rounds(ctx: Context, phases: Sequence[tuple[State, int]]) -> None:
    """Add the fields to the last rounds of the run, each of which gave one colour; collective.

    Args:
        ctx: context of the run.
        phases: of each program, in order, its state at the end and the colour of its first round.
    """
    colors = phases[-1][0]["color"].astype(np.int64)
    ends = [first for _, first in phases[1:]] + [int(np.iinfo(np.int64).max)]
    rounds = sum(state.rounds for state, _ in phases)
    turn, begin = np.full(colors.size, rounds), 0  # round in which each vertex was coloured; the last: in none
    for (state, first), end in zip(phases, ends, strict=True):
        mine = (colors >= first) & (colors < end)
        turn[mine] = begin + colors[mine] - first
        begin += state.rounds
    largest = np.zeros(rounds + 1, np.int64)
    np.maximum.at(largest, turn, ctx.local.out_degree[: colors.size])
    colored = ctx.comm.allreduce(np.bincount(turn, minlength=rounds + 1).astype(np.int64))[:-1]
    largest = np.maximum.accumulate(ctx.comm.allreduce(largest, "max")[::-1])[::-1][:-1]
    ctx.record.rounds.describe_last({"colored": colored.tolist(), "largest_degree": largest.tolist()})
