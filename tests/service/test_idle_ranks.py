"""Ranks that wait for requests give unused memory back once, and take the request that comes after."""

import socket
import threading
import time
from types import SimpleNamespace

import pytest
from simulated import succeed

from dgraph.comm import SerialComm
from dgraph.service.messages import encode
from dgraph.service.ranks import front_link, request_broadcast
from dgraph.service.ranks.front_link import FrontLink
from dgraph.service.ranks.rank_state import RankState
from dgraph.service.ranks.request_broadcast import RequestBroadcast

pytestmark = pytest.mark.mpi_skip

REQUEST = {"id": 1, "op": "memory"}


@pytest.mark.parametrize("wait", [0.0, 0.3])
def test_rank_0(wait, tmp_path, monkeypatch):
    monkeypatch.setattr(front_link, "IDLE_S", 0.1)
    rests = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "front"))
        listening.listen()
        link = FrontLink(tmp_path / "front")
        front, _ = listening.accept()
        sending = threading.Timer(wait, front.sendall, (encode(REQUEST),))
        sending.start()
        assert link.next(lambda: rests.append(time.monotonic())) == [REQUEST]
        sending.join()
        link.close()
        link._socket.close()  # processes leave that to their end
        front.close()
    assert len(rests) == (wait > 0)


@pytest.mark.parametrize("wait", [0.0, 0.3])
def test_other_ranks(wait, monkeypatch):
    monkeypatch.setattr(request_broadcast, "IDLE_S", 0.1)
    rests = []

    def work(comm):
        channel = RequestBroadcast(comm)
        if comm.rank:
            return channel.receive(lambda: rests.append(comm.rank))
        time.sleep(wait)
        return channel.send(REQUEST)

    assert succeed(2, work)[1] == REQUEST
    assert rests == [1] * (wait > 0)


def test_memory_is_given_back_to_the_gpu_of_the_graphs():
    freed = []
    engine = SimpleNamespace(device=SimpleNamespace(give_back=lambda: freed.append(True)))
    for engines in ([], [None], [None, engine, engine]):
        RankState(SerialComm(), "auto", [SimpleNamespace(kept_backend=each) for each in engines]).rest()
    assert freed == [True]
