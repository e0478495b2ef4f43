"""Ranks as threads with emulated GPUs.

Memory is shared as by CUDA IPC, copies complete late, and a stand-in for NCCL fails if one side of a message is
missing.
"""

import ctypes
import threading
import time
from collections import defaultdict, deque

import numpy as np
from emulated import Device
from emulated_raw import Raw

from dgraph.backend.cuda.transports import Links, Mailboxes, aware, connect, mpi_device, mpi_host, selftest
from dgraph.comm.hosts import FAKE


class Nccl:
    """NCCL's calls over queues: ``groupEnd`` returns when every posted receive has its data."""

    available = True

    def __init__(self, version=22_800):
        self.queues, self.version, self.posted = defaultdict(deque), version, threading.local()
        self.flip = False

    def get_version(self):
        return self.version

    def get_unique_id(self):
        return bytes(range(128))

    def NcclCommunicator(self, size, name, rank):
        assert name == bytes(range(128))
        return Member(self, rank)

    def groupStart(self):
        self.posted.receives = []

    def groupEnd(self):
        end = time.monotonic() + 5
        for lane, address, size in self.posted.receives:
            while not self.queues[lane]:
                assert time.monotonic() < end, f"{lane}: a receive that nobody sends to"
                time.sleep(0.001)
            payload = self.queues[lane].popleft()
            assert payload.size == size
            if self.flip and size > 5000:
                payload[4999] ^= 1
            memory(address, size)[:] = payload


class Member:
    def __init__(self, group, rank):
        self.group, self.rank = group, rank

    def send(self, address, size, kind, peer, stream):
        self.group.queues[self.rank, peer].append(memory(address, size).copy())

    def recv(self, address, size, kind, peer, stream):
        self.group.posted.receives.append(((peer, self.rank), address, size))

    def check_async_error(self):
        return 0


def memory(address, size):
    """Return ``size`` bytes at an address as an array."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def small(monkeypatch):
    """Set message sizes, pieces and limits that suit a CPU; no fake hosts; MPI is not CUDA-aware."""
    monkeypatch.delenv(FAKE, raising=False)
    monkeypatch.setattr(selftest, "SIZES", (64, 4104, 20_000))
    monkeypatch.setattr(selftest, "PATIENCE", 60.0)  # emulated ranks share cores with whatever else runs
    monkeypatch.setattr(selftest, "TURNS", 4)
    monkeypatch.setattr(selftest, "MESSAGES", 4)
    monkeypatch.setattr(mpi_host, "PIECE", 512)
    monkeypatch.setattr(mpi_device, "CHUNK", 1000)
    monkeypatch.setattr(aware, "library_says", lambda: aware.NO)


def device_of(rank, **raw):
    device = Device(2, seed=rank + 1)
    device.raw = Raw(**raw)
    return device


def links_for(comm, name):
    """Return links with one transport for all pairs, without a self-test."""
    return Links(comm, {peer: name for peer in range(comm.size) if peer != comm.rank})


def capacity(sender, receiver):
    """Return a pair's mailbox size: odd numbers, 0 for one pair, different in both directions."""
    return 0 if (sender, receiver) == (0, 2) else 64 + 977 * (sender + 1) * (receiver + 2)


def message(sender, receiver, turn):
    """Return a random message of 0 bytes, of the full capacity, or of a size between, by turn."""
    most = capacity(sender, receiver)
    rng = np.random.default_rng([sender, receiver, turn])
    size = (0, most, int(rng.integers(most + 1)))[turn % 3]
    return rng.integers(0, 256, size, np.uint8)


def exchange(comm, links, device, turns=6):
    """Exchange messages between all pairs, turn by turn, and check the received bytes."""
    others = [peer for peer in range(comm.size) if peer != comm.rank]
    boxes = Mailboxes(
        device, comm, {p: capacity(comm.rank, p) for p in others}, {p: capacity(p, comm.rank) for p in others}, links
    )
    for turn in range(turns):
        parity, sizes = turn % 2, {}
        for peer in others:
            payload = message(comm.rank, peer, turn)
            if payload.size:
                memory(boxes.outbox(peer, parity), payload.size)[:] = payload
                sizes[peer] = payload.size
        comm.barrier()  # with p2p a message has arrived once it is written
        received = boxes.deliver(parity, sizes)
        staged = {p for p in others if links.chosen[p] != "p2p"}
        assert set(received) == {p for p in staged if capacity(p, comm.rank) + capacity(comm.rank, p)}
        for peer in others:
            payload = message(peer, comm.rank, turn)
            assert received.get(peer, payload.size) == payload.size
            if payload.size:
                np.testing.assert_array_equal(memory(boxes.inbox(peer, parity), payload.size), payload)
    boxes.close()


def chosen(comm, transport="auto", **raw):
    """Return the links that ``connect`` chooses on devices of their own; check that messages arrive."""
    device = device_of(comm.rank, **raw)
    links = connect(device, comm, transport)
    exchange(comm, links, device, turns=3)
    return links
