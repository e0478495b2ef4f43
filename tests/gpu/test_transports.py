"""Messages between emulated GPUs arrive complete, after packing, and in the right mailbox, by every transport."""

import numpy as np
import pytest
from emulated import needs_compiler
from emulated_raw import Raw
from linked import Nccl, device_of, exchange, links_for, memory, small
from simulated import on_ranks, succeed

from dgraph.backend.cuda.transports import Mailboxes
from dgraph.backend.cuda.transports.nccl import Group

pytestmark = needs_compiler
ALL = ("p2p", "nccl", "mpi-device", "mpi-host")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    small(monkeypatch)


@pytest.mark.mpi_skip
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_messages_arrive_whole(name, size):
    nccl = Nccl()

    def work(comm):
        device, links = device_of(comm.rank), links_for(comm, name)
        if name == "nccl":
            links.group = Group(Raw(nccl=nccl), comm)
        device.raw._nccl = nccl
        exchange(comm, links, device)

    succeed(size, work)


class Running(Raw):
    """Current stream that is still busy: it writes ``late`` (address, bytes) when its event is waited for."""

    late = ()

    def record(self, event, stream=None):
        super().record(event, stream)
        if stream is None:
            event.late = self.late

    def hold(self, event, stream=None):
        for address, data in getattr(event, "late", ()):
            memory(address, data.size)[:] = data
        super().hold(event, stream)


@pytest.mark.mpi_skip
@pytest.mark.parametrize("name", ["nccl", "mpi-device", "mpi-host"])
def test_a_message_leaves_when_it_is_packed(name):
    nccl = Nccl()

    def work(comm):
        device, links, other = device_of(comm.rank), links_for(comm, name), 1 - comm.rank
        device.raw = Running(nccl=nccl)
        links.group = Group(device.raw, comm) if name == "nccl" else None
        boxes = Mailboxes(device, comm, {other: 100}, {other: 100}, links)
        device.raw.late = [(boxes.outbox(other, 1), np.full(100, 7 + comm.rank, np.uint8))]
        packed = boxes.packed()
        device.raw.late = []
        assert boxes.deliver(1, {other: 100}, packed) == {other: 100}
        assert set(memory(boxes.inbox(other, 1), 100)) == {7 + other}

    succeed(2, work)


@pytest.mark.mpi_skip
def test_sizes_that_ranks_see_differently():
    def work(comm):
        other = 1 - comm.rank
        links = links_for(comm, "mpi-host")
        Mailboxes(device_of(comm.rank), comm, {other: 100}, {other: 100 + comm.rank}, links)

    told = on_ranks(2, work)
    assert [str(error) for error in told] == ["messages from rank 0 to 1 have 100 bytes there, and 101 here"] * 2

    def longer(comm):
        other = 1 - comm.rank
        boxes = Mailboxes(device_of(comm.rank), comm, {other: 100}, {other: 100}, links_for(comm, "mpi-host"))
        boxes.deliver(0, {other: 101})

    assert "a message of 101 bytes to rank 1, whose mailbox has 100" in str(on_ranks(2, longer)[0])


@pytest.mark.mpi_skip
def test_signals_have_words_of_their_own():
    def work(comm):
        boxes = Mailboxes(device_of(comm.rank), comm, {}, {}, links_for(comm, "p2p"))
        assert boxes.deliver(0, {}) == {}
        others = [peer for peer in range(comm.size) if peer != comm.rank]
        for peer in range(comm.size):
            assert not memory(boxes.signals(peer), 512).any()
        comm.barrier()
        for peer in others:
            memory(boxes.signal(peer), 512)[:] = 16 * comm.rank + peer
        comm.barrier()
        for peer in others:
            assert set(memory(boxes.signals(peer), 512)) == {16 * peer + comm.rank}
        assert not memory(boxes.signals(comm.rank), 512).any()
        boxes.close()

    succeed(4, work)
