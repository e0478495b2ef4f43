"""Runs that are stopped at a boundary between rounds and leave a checkpoint."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from flat_run import flat_run

from dgraph.engine.checkpoint import manager
from dgraph.errors import Checkpointed
from dgraph.graph.stored_graph import Graph


def graph(spec, comm=None, **more):
    return Graph.load(spec, comm=comm, weights="1..20", **more)


class Stopping(manager.CheckpointManager):
    """Manager that requests a stop at its ``after``-th boundary."""

    after = 1

    def boundary(self, program, machine, requests):
        Stopping.after -= 1
        super().boundary(program, machine, requests + (manager.STOP if Stopping.after == 0 else 0))


def stopped(monkeypatch, folder, after, name, loaded, **more):
    """Return True if the run was stopped at that boundary, False if it ended before."""
    monkeypatch.setattr(import_module("dgraph.run"), "CheckpointManager", Stopping)
    Stopping.after = after
    try:
        flat_run(name, loaded, checkpoint=folder, checkpoint_every=1, resume="auto", **more)
        return False
    except Checkpointed:
        return True
    finally:
        monkeypatch.undo()


FLOAT_SUMS = {"pagerank", "hits", "eigenvector", "katz"}
"""Algorithms whose last bits depend on the order of additions, and so on ranks and threads."""


def compare(name, got, wanted):
    """Compare exactly, except float sums, whose last bits depend on the number of ranks."""
    np.testing.assert_allclose(got, wanted, rtol=1e-12 if name in FLOAT_SUMS else 0)
