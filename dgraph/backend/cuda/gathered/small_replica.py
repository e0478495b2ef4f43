"""Whole graph of few edges on the GPU of each rank: the hosts gather it, and it is uploaded as on one rank.

CuPy would compile some twenty kernels, 0.1 s each, to gather it between GPUs on a fresh machine.
"""

from __future__ import annotations

import numpy as np

from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.lazy_result import gpu_columns
from dgraph.backend.cuda.device_graph.small_graph import FEW
from dgraph.comm import Comm
from dgraph.result.columns import Column, FieldColumn


def gathers_on_host(part: DeviceGraph, comm: Comm) -> bool:
    """Return True if the whole graph has few edges, and no GPU built its part; collective."""
    local = part.local
    return max(local.n, local.arcs) <= FEW and not comm.total(int(hasattr(local, "built")))


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
