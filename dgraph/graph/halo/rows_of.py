"""Rows of a partition by scope and order of the vertices: the entry of this package."""

from __future__ import annotations

from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.graph.halo.degree_rows import DegreeRows, degree_rows
from dgraph.graph.halo.ghost_rows import GidRows, gid_rows
from dgraph.graph.halo.numbered_rows import NumberedRows, numbered_rows
from dgraph.graph.local import LocalGraph

ORDERS = {"own": ("gid", "id"), "all": ("gid", "id"), "ghosts": ("gid", "degree")}
"""Orders of the vertices, by scope."""


def rows_of(
    local: LocalGraph, comm: Comm, scope: str, order: str = "gid", *, oriented: bool = False, weights: bool = False,
    simple: bool = True, threads: int = 1,
) -> GidRows | DegreeRows | NumberedRows:  # fmt: skip
    """Return rows in which neighbours have numbers that ascend in the order; collective.

    Args:
        local: this rank's partition.
        comm: the ranks.
        scope: "ghosts": a rank has the rows of its masters, and numbers these and their neighbours. "all": every rank
            has the rows of all vertices. "own": it has a range of them, the same number on each rank.
        order: "gid", or "id" for original ids, in which a search takes the same steps on any number of ranks;
            "degree" for degree, then gid, of undirected graphs.
        oriented: rows by degree have arcs to higher numbers alone.
        weights: rows of "own" and "all" have the weights as ``costs``, if the graph has some.
        simple: loops and parallel arcs are left out; only rows of "own" can have them.
        threads: threads that orient rows.

    Raises:
        UsageError: the scope does not have the order.
    """
    if order not in ORDERS.get(scope, ()):
        able = ", ".join(f"{scope}: {' or '.join(orders)}" for scope, orders in ORDERS.items())
        raise UsageError(f"there are no rows of scope {scope!r} in the order {order!r}; choose from {able}")
    if scope == "ghosts":
        return gid_rows(local, comm) if order == "gid" else degree_rows(local, comm, oriented, threads)
    rows = numbered_rows(local, comm, order, weights)
    rows = rows.simple() if simple else rows
    return rows.gathered() if scope == "all" else rows
