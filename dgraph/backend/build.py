"""Generated graphs that GPUs build in their own memory, for any number of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dgraph.backend import backend
from dgraph.comm import collective, communicator
from dgraph.comm.hosts import ranks_here
from dgraph.graph.devices import Device
from dgraph.graph.load_options import LoadOptions

if TYPE_CHECKING:
    from dgraph.graph.handle import Graph


@collective
def build_on_gpus(spec: str, *, policy: str = "auto", device: Device = "cuda", comm=None, **loading: Any) -> Graph:
    """Build a generated graph on the ranks' GPUs: each generates the edges of its own part; collective.

    Args:
        spec: a generator, ``NAME:SIZE[,option=value…]``.
        policy: as of :meth:`dgraph.Graph.load`.
        device: as of :meth:`dgraph.Graph.load`.
        comm: as of :meth:`dgraph.Graph.load`.
        loading: fields of :class:`~dgraph.graph.load_options.LoadOptions`, such as ``weights="1..255"``.

    Raises:
        UsageError: no GPU, not a generator, an option that needs the edges on the host, too little memory.
    """
    comm = communicator(comm)
    with comm.guarded():
        here = ranks_here(comm)
        with comm.together():
            engine = backend(device, len(here), here.index(comm.rank), comm.size == 1)
        return engine.build(spec, comm, policy, LoadOptions(**loading)).on(device=device)
