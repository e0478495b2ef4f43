"""Whole graph of few edges on the GPU of each rank: the hosts gather it, and it is uploaded as on one rank.

CuPy would compile some twenty kernels, 0.1 s each, to gather it between GPUs on a fresh machine.
"""

from __future__ import annotations

import numpy as np

from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.lazy_result import gpu_columns
from dgraph.backend.cuda.device_graph.small_graph import FEW
from dgraph.comm import Comm
from dgraph.graph.halo.numbered_rows import numbered_rows
from dgraph.graph.local import Csr, LocalGraph
from dgraph.result.columns import Column, FieldColumn


def gathers_on_host(part: DeviceGraph, comm: Comm) -> bool:
    """Return True if the whole graph has few edges, and no GPU built its part; collective."""
    local = part.local
    return max(local.n, local.arcs) <= FEW and not comm.total(int(hasattr(local, "built")))


def gathered_on_host(local: LocalGraph, comm: Comm) -> LocalGraph:
    """Return the graph of all ranks, without weights, as the partition of a single rank; collective."""
    rows = numbered_rows(local, comm, "gid", False).gathered()
    return LocalGraph(
        local.n, local.m, local.arcs, local.n, np.arange(local.n), rows.ids, np.diff(rows.offsets),
        Csr(rows.offsets, rows.targets, None), local.directed,
    )  # fmt: skip


def masters_column(part: DeviceGraph, name: str, column: Column) -> FieldColumn:
    """Return the values of this rank's masters on its GPU.

    Args:
        part: this rank's part of the graph.
        name: of the column.
        column: values by gid.
    """
    local, device = part.local, part.device
    values = np.asarray(column() if callable(column) else column)
    lids = slice(local.masters) if part.order is None else device.get(part.order[: local.masters])
    return gpu_columns(part, {name: device.put(values[local.gids[lids]])})[name]
