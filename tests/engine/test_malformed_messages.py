"""A message that cannot be read ends the run on all ranks, and the error names the sender."""

import numpy as np
import pytest

import dgraph
from dgraph.comm import world
from dgraph.engine.sync import encodings, host_exchange
from dgraph.errors import InternalError

pytestmark = [pytest.mark.mpi, pytest.mark.interpreted]


@pytest.mark.parametrize(("method", "policy"), [("reduce", "oec"), ("broadcast", "iec")])
def test_all_ranks_raise_and_the_next_run_works(method, policy, monkeypatch):
    comm = world()
    src = np.arange(comm.rank, 60, comm.size)
    graph = dgraph.Graph.from_edges(src, (7 * src + 1) % 60, n=60, policy=policy, comm=comm)
    bad = comm.size - 1
    honest = getattr(host_exchange.HostExchange, method)

    def encode(*arguments):
        message = encodings.encode(*arguments)
        message[:8] = 255
        return message

    def exchange(self, *arguments):
        with monkeypatch.context() as patched:
            if comm.rank == bad:
                patched.setattr(host_exchange, "encode", encode)
            honest(self, *arguments)

    if comm.size > 1:
        with monkeypatch.context() as patched:
            patched.setattr(host_exchange.HostExchange, method, exchange)
            with pytest.raises(
                InternalError, match=rf"rank \d received from rank {bad} a message of .* cannot be read"
            ):
                dgraph.run("pagerank", graph)
    assert dgraph.run("pagerank", graph, validate=True).converged
