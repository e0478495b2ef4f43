"""A generated graph, made where its rounds will run: once, for any number of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dgraph.backend import backend as choose_backend
from dgraph.comm import collective, communicator
from dgraph.comm.hosts import ranks_here
from dgraph.graph.load_options import LoadOptions

if TYPE_CHECKING:
    from dgraph.graph.handle import Graph


@collective
def build_on_gpus(
    spec: str, *, comm=None, policy: str = "auto", backend: str = "auto", gpus: str | None = None, **loading: Any
) -> Graph:
    """A generated graph, drawn by the ranks' GPUs and placed there; collective.

    Args:
        spec: ``NAME:SIZE[,option…]``.
        comm, policy, backend, gpus: as of :func:`dgraph.run`.
        loading: the fields of :class:`~dgraph.graph.load_options.LoadOptions`.

    Raises:
        UsageError: no GPU, no generator, what needs the edges on the host, too little memory.
    """
    comm = communicator(comm)
    with comm.guarded():
        here = ranks_here(comm)
        with comm.together():
            engine = choose_backend(backend, None, len(here), here.index(comm.rank), comm.size == 1, gpus=gpus)
        return engine.build(spec, comm, policy, LoadOptions(**loading))
