"""Ranks that wait for requests free GPU memory meanwhile, in steps that a request ends."""

import socket
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from simulated import succeed

from dgraph.comm import SerialComm
from dgraph.result.columns import Columns
from dgraph.service.messages import encode
from dgraph.service.ranks import front_link, request_broadcast
from dgraph.service.ranks.front_link import FrontLink
from dgraph.service.ranks.held_results import HeldResults
from dgraph.service.ranks.rank_state import RankState
from dgraph.service.ranks.request_broadcast import RequestBroadcast

pytestmark = pytest.mark.mpi_skip

REQUEST = {"id": 1, "op": "memory"}
WAITS = [(0.0, False, 0), (0.3, False, 1), pytest.param(0.3, True, 2, marks=pytest.mark.quick)]
"""Seconds before the request; whether steps go on until it comes; steps done at least."""


def steps(done, endless):
    """Return work of one step, or of a step every few milliseconds until a request ends it."""

    def rest():
        while not done or endless:
            done.append(True)
            yield
            time.sleep(0.005)

    return rest


@pytest.mark.parametrize(("wait", "endless", "least"), WAITS)
def test_rank_0(wait, endless, least, tmp_path, monkeypatch):
    monkeypatch.setattr(front_link, "IDLE_S", 0.1)
    done = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "front"))
        listening.listen()
        link = FrontLink(tmp_path / "front")
        front, _ = listening.accept()
        sending = threading.Timer(wait, front.sendall, (encode(REQUEST),))
        sending.start()
        assert link.next(steps(done, endless)) == [REQUEST]
        sending.join()
        link.close()
        link._socket.close()  # processes leave that to their end
        front.close()
    assert len(done) >= least
    assert len(done) == least or endless


@pytest.mark.parametrize(("wait", "endless", "least"), WAITS)
def test_other_ranks(wait, endless, least, monkeypatch):
    monkeypatch.setattr(request_broadcast, "IDLE_S", 0.1)
    done = []

    def work(comm):
        channel = RequestBroadcast(comm)
        if comm.rank:
            return channel.receive(steps(done, endless))
        time.sleep(wait)
        return channel.send(REQUEST)

    assert succeed(2, work)[1] == REQUEST
    assert len(done) >= least
    assert len(done) == least or endless


@pytest.mark.parametrize("gpu", [True, False])
def test_results_move_to_the_host_and_memory_to_the_gpu(gpu):
    calls = []
    engine = SimpleNamespace(device=SimpleNamespace(give_back=lambda: calls.append("give back")))
    results = HeldResults()
    for job in ("first", "second"):
        columns = Columns({"vertex": np.arange(2), "distance": lambda job=job: calls.append(job) or np.zeros(2)})
        results.hold(job, SimpleNamespace(columns=columns), 2)
    graphs = [SimpleNamespace(kept_backend=engine_kept) for engine_kept in (None, engine if gpu else None)]
    state = RankState(SerialComm(), "auto", graphs, results)
    for _ in range(2):
        assert len(list(state.rest())) == (2 if gpu else 0)
    assert calls == ["first", "second", "give back", "give back"] * gpu


def test_results_stay_where_the_host_has_no_room():
    def full():
        raise MemoryError

    freed = []
    engine = SimpleNamespace(device=SimpleNamespace(give_back=lambda: freed.append(True)))
    results = HeldResults()
    results.hold("job", SimpleNamespace(columns=Columns({"vertex": full})), 2)
    assert list(RankState(SerialComm(), "auto", [SimpleNamespace(kept_backend=engine)], results).rest()) == []
    assert freed == [True]
