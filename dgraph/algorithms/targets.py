"""Searches that stop at a target: the parameter, its check, and the answer without what lies beyond.

An answer has the vertices that are no farther from the source than the target, as if the target's distance were the
cutoff, whether or not the search could stop there: it does not depend on variant, ranks or device.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dgraph.algorithms.base import check_vertex
from dgraph.algorithms.parameter import Parameter
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import State
from dgraph.graph.pair_search import PairSearch

TARGET = Parameter(
    "target",
    "vertex",
    None,
    "stop at this vertex, by its original id: farther ones count as unreached; the command line prints the path to it",
)
"""Parameter ``target`` of searches."""


def check_target(ctx: Context, target: int | None) -> int | None:
    """Return the target as an int if it is a vertex of the graph, None if there is none; collective.

    Raises:
        UsageError: on every rank, for a target that is not an integer, or not a vertex.
    """
    return None if target is None else check_vertex(ctx, "target", target)


def hops_between(ctx: Context, source: int, target: int, limit: int) -> int | None:
    """Return the fewest arcs from ``source`` to ``target`` on the only rank, searched from both ends by one thread.

    Args:
        ctx: context of the algorithm, on a CPU.
        source: original id.
        target: original id.
        limit: most arcs.

    Returns:
        None if there are more than ``limit`` or no path, or if rounds push and the in-edges would have to be built.
    """
    local = ctx.local
    if ctx.direction == "push" and not local.has_incoming:
        return None
    ahead = local.out
    back = local.incoming if local.directed else ahead
    rows = ahead.offsets, ahead.neighbours, back.offsets, back.neighbours
    ends = [row for row in (local.lid(source), local.lid(target)) if row is not None]
    hops = PairSearch(*rows).hops(*ends)
    return hops if 0 <= hops <= limit else None


def up_to_target(ctx: Context, state: State, name: str, target: int | None) -> tuple[State, float | None]:
    """Return the state of a search without vertices farther than the target, and the target's distance; collective.

    Args:
        ctx: context of the algorithm.
        state: state whose distances up to the target's are final.
        name: field of the distances.
        target: original id; None: all vertices stay.

    Returns:
        The state as it was, and None, if there is no target, if it is unreached, or if a limit ended the search.
    """
    if target is None or not state.finished:
        return state, None
    lid, values = ctx.local.lid(target), state[name]
    real = values.dtype.kind == "f"
    far = values.dtype.type(np.inf) if real else np.iinfo(values.dtype).max
    mine = np.array([far if lid is None else values[lid]], np.float64 if real else np.int64)
    distance = ctx.comm.allgather(mine).min().tolist()
    if distance == far:
        return state, None
    return replace(state, fields={name: np.where(values <= distance, values, far)}, summary=None), distance


def target_summary(target: int | None, distance: float | None) -> dict[str, float | None]:
    """Return the figures of a search's summary that are about its target."""
    return {} if target is None else {"target": target, "target_distance": distance}
