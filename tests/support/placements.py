"""Placements of a simulated graph on simulated ranks, and the balance of shares."""

from __future__ import annotations

from simulated import succeed

from partitioning import plan


def placed(graph, name, ranks, **layout):
    """Return the placements of all ranks."""
    return succeed(ranks, lambda comm: plan(name, graph.block(comm, **layout), comm.size, comm))


def balance(values):
    return values.max() / values.mean()
