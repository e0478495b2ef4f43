"""First run on a machine: the ranks of a node compile what loading a graph needs in parallel, a part each.

Otherwise all ranks of a node reach a function together, one compiles it, and the others wait. Entry:
:func:`compile_in_parallel`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import partitioning
from dgraph._support.cache import folder, publish
from dgraph._support.version import __version__
from dgraph.comm import Comm, SerialComm
from dgraph.comm.hosts import ranks_here
from dgraph.graph.block import EdgeBlock
from dgraph.graph.ids import ConsecutiveIds
from dgraph.graph.stored_graph import Graph


def compile_in_parallel(comm: Comm, spec: str, weights: str | None) -> None:
    """Compile this rank's part, unless an earlier run did; collective.

    Args:
        comm: communicator of the run.
        spec: the graph that will be loaded.
        weights: rule that makes its weights, or None.
    """
    here, done = ranks_here(comm), folder() / f"loading-{__version__}-{np.__version__}.compiled"
    if len(here) == 1 or done.exists():
        return
    parts: list[Callable[[], None]] = [_partitioning, _exchange, _distribution]
    if spec.startswith("rmat:"):
        parts.insert(0, lambda: _generation(weights))
    for part in parts[here.index(comm.rank) :: len(here)]:
        part()
    publish(done, b"")


def _generation(weights: str | None) -> None:
    Graph.load("rmat:4", weights=weights, comm=SerialComm())


def _partitioning() -> None:
    from dgraph.graph.build.local_graph import build_parts

    alone, n = SerialComm(), 64
    offsets, targets = np.arange(n + 1, dtype=np.int64), np.arange(n, dtype=np.uint32)[::-1].copy()
    block = EdgeBlock(n, n, n, 0, offsets, targets, np.ones(n, np.int32), True, ConsecutiveIds(n))
    build_parts(block, partitioning.plan("auto", block, 2, alone), alone)


def _exchange() -> None:
    from dgraph.engine.sync.bitset_kernels import load_kernels

    load_kernels("int32", "int64")


def _distribution() -> None:
    from dgraph.engine.rounds.field_figures import reached
    from dgraph.graph.build.clean import by_row

    longs = np.zeros(1, np.int64)
    by_row(np.zeros(1, np.uint32), np.arange(2))
    reached(np.zeros(1, np.int32), longs)
