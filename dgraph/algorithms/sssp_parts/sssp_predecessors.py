"""Predecessors of shortest paths, found after the distances by programs of one round.

A predecessor is the smallest original id among strictly nearer in-neighbours on a shortest path. Vertices that have
none lie in a plateau: vertices of equal distance, connected by edges of weight 0. Entries: :func:`nearer_program`,
:func:`predecessors`, :func:`predecessors_of_each`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgraph.algorithms.base import OnePass
from dgraph.algorithms.bfs_programs import parents
from dgraph.algorithms.distances import summarize
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import one_of_many
from dgraph.engine.rounds.return_state import State
from dgraph.program import ALL, INF, MIN, Field, Program, where
from dgraph.result.columns import UNREACHED, Column


class Nearer(OnePass):
    """Smallest original id among strictly nearer in-neighbours on a shortest path, in one round."""

    end_figure = "reached", "parent"

    dist = Field("int64", given=True)
    parent = Field("int64", reduce=MIN)

    def edge(self, u, e, v):
        """Propose ``u`` if the edge is tight and ``u`` is nearer."""
        tight = (u.dist + e.weight == v.dist) & (u.dist < v.dist)
        return {"parent": where(tight, u.id, INF)}


class NearerParents(Nearer):
    """Pull variant: every vertex with a distance scans its in-edges, up to the first valid parent if sorted."""

    domain = ALL
    monotone = True

    def cond(self, v, g):
        """Skip vertices without a path."""
        return v.dist != INF


class PushedNearerParents(Nearer):
    """Push variant: every vertex with a distance proposes itself to its neighbours."""

    directions = ("push",)

    def init(self, v, g):
        """Activate the vertices with a path."""
        return {"active": v.dist != INF}


class CloserNearer(Nearer):
    """Predecessors after distances fell, where all weights are above 0: see ``CloserParents`` of bfs.

    Attributes:
        moved: given: True if the vertex proposes itself: its distance fell, or an added edge leaves it.
        parent: given: the former predecessor; INF where there is none, or the distance fell.
    """

    directions = ("push",)

    moved = Field("bool", given=True)
    parent = Field("int64", reduce=MIN, given=True)

    def init(self, v, g):
        """Activate the vertices that propose themselves."""
        return {"active": v.moved & (v.dist != INF)}


class PlateauHops(Program):
    """Hops inside a plateau from its vertices that have a parent.

    A plateau is a set of vertices with equal distance, connected by edges of weight 0 (or too small to change it).

    Attributes:
        settled: given: True if the vertex has a parent.
    """

    dist = Field("int64", given=True)
    settled = Field("bool", given=True)
    hop = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Start from the vertices with a parent."""
        return {"hop": where(v.settled, 0, INF), "active": v.settled}

    def edge(self, u, e, v):
        """Propose one hop more inside the plateau."""
        tight = (u.dist + e.weight == v.dist) & (u.dist == v.dist)
        return {"hop": where(tight, u.hop + 1, INF)}


class PlateauParents(OnePass):
    """Smallest original id among plateau neighbours one hop nearer to a vertex with a parent, which excludes cycles."""

    dist = Field("int64", given=True)
    hop = Field("int64", given=True)
    parent = Field("int64", reduce=MIN)

    def init(self, v, g):
        """Activate the vertices with a hop count."""
        return {"active": v.hop != INF}

    def edge(self, u, e, v):
        """Propose ``u`` if it is one hop nearer."""
        tight = (u.dist + e.weight == v.dist) & (u.dist == v.dist) & (u.hop + 1 == v.hop)
        return {"parent": where(tight, u.id, INF)}


def nearer_program(ctx: Context) -> Nearer:
    """Return the predecessor program. Pull is preferred: it can stop at the first valid parent and needs no atomics."""
    pull = NearerParents()
    pulls = not ctx.local.directed or ctx.direction in ("pull", "flip") or ctx.affords(pull)
    return pull if pulls else PushedNearerParents()


def predecessors(
    ctx: Context, program: Program, sources: Sequence[int], state: State, dtype: str, reached: int
) -> Column:
    """Return the predecessor column: a strictly nearer vertex if there is one, else one of the same plateau.

    Args:
        ctx: context of the algorithm.
        program: program that finds strictly nearer predecessors.
        sources: original ids of the vertices without a predecessor.
        state: final state of the distances.
        dtype: dtype of distances.
        reached: vertices of all ranks with a distance. If all but the sources have a nearer predecessor, no plateau is
            searched.
    """
    nearer = ctx.run(program, {"dist": state.raw("dist")})
    settled, *_ = summarize(nearer, "parent", ctx.local).over_ranks(ctx.comm)
    if reached - settled == len(sources):
        return nearer.column("parent", parents)
    predecessor, dist = nearer["parent"].copy(), state["dist"]
    end = np.inf if dtype[0] == "f" else np.iinfo(dtype).max
    done = (predecessor != UNREACHED) | np.isin(ctx.local.original[: ctx.local.masters], sources)
    hop = ctx.run(PlateauHops().retype(dist=dtype), {"dist": dist, "settled": done.astype(np.uint8)})["hop"]
    plateau = ctx.run(PlateauParents().retype(dist=dtype), {"dist": dist, "hop": hop})["parent"]
    lost = (dist != end) & ~done
    predecessor[lost] = plateau[lost]
    return parents(predecessor)


def predecessors_of_each(ctx: Context, sources: np.ndarray, distances: Sequence[Column]) -> list[Column]:
    """Return the predecessors of searches from many sources, one after the other; collective.

    Args:
        ctx: context of the algorithm.
        sources: original ids.
        distances: column of each source: int64, ``UNREACHED`` where there is no path, or floats.
    """
    columns: list[Column] = []
    with one_of_many(ctx):
        for source, distance in zip(sources.tolist(), distances, strict=True):
            dist = np.asarray(distance() if callable(distance) else distance)
            state = State(fields={"dist": dist}, globals={}, rounds=0, finished=True)
            reached, *_ = summarize(state, "dist", ctx.local).over_ranks(ctx.comm)
            program = nearer_program(ctx).retype(dist=dist.dtype.name)
            columns.append(predecessors(ctx, program, [source], state, dist.dtype.name, reached))
    return columns
