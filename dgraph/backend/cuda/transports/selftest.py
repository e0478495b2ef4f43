"""Self-test of a transport: every pair of ranks exchanges messages of several sizes.

It checks contents and measures latency and bandwidth. Messages go through :class:`Mailboxes` as in a run: kernels
(``transport_selftest.cuh``) write and check them. :func:`selftest` is the entry.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen.own_kernels import own_text
from dgraph.backend.cuda.transports.links import Links
from dgraph.backend.cuda.transports.mailboxes import Mailboxes
from dgraph.comm import Comm

SIZES = (64, 4_104, 1 << 20, (8 << 20) + 8)
"""Bytes of the messages: a header only, a few KB, about a piece of ``mpi-host``, several pieces."""

MESSAGES, TURNS = 16, 128
"""Messages of the smallest size that are timed for the latency: moved by hosts, and signalled by kernels."""

REPEATED = 3
"""Messages of the largest size, of which the fastest counts."""

PATIENCE = 2.0
"""Seconds until a signal is given up."""

FOUND = 4
"""Words of the kernels' result."""


def text() -> str:
    """Return the CUDA C++ text of the kernels."""
    return own_text("", "transport_selftest")


def selftest(
    device: Any, comm: Comm, links: Links, name: str, pairs: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], str]:
    """Test one transport between ``pairs``, the same on every rank; collective.

    Stores seconds of a small message and bytes a second of a large one in ``links.figures``.

    Returns:
        Pairs that must not use it, and the faults; the same on every rank.
    """
    tried = Trial(device, comm, links, name, set(pairs))
    tried.contents()
    wrong = _gathered(comm, tried.faults)
    tried.times(wrong)  # without failed pairs, which would stall the others
    wrong |= _gathered(comm, tried.faults)
    tried.close()
    links.figures[name] = np.moveaxis(comm.allgather(tried.figures), 0, -1)
    return wrong


def _gathered(comm: Comm, faults: dict[int, str]) -> dict[tuple[int, int], str]:
    """Return the first fault of every pair, from the faults that each receiver found; collective."""
    wrong: dict[tuple[int, int], str] = {}
    for receiver, reports in enumerate(comm.allgather_json(sorted(faults.items()))):
        for sender, what in reports:
            pair = min(sender, receiver), max(sender, receiver)
            wrong.setdefault(pair, f"from rank {sender} to {receiver}: {what}")
    return wrong


class Trial:
    """One rank's part of a self-test. ``figures[:, s]`` is for messages from rank s to this one."""

    def __init__(self, device: Any, comm: Comm, links: Links, name: str, pairs: set[tuple[int, int]]):
        self.device, self.comm, self.name = device, comm, name
        self.peers = {b if a == comm.rank else a for a, b in pairs if comm.rank in (a, b)}
        most = dict.fromkeys(self.peers, SIZES[-1])
        chosen = dict.fromkeys(self.peers, name)
        self.boxes = Mailboxes(device, comm, most, most, replace(links, chosen=chosen, not_direct=""))
        self.module = device.module(text(), "probe")
        self.counts = device.xp.zeros(FOUND, np.uint64)
        self.figures = np.full((2, comm.size), np.nan)
        self.faults: dict[int, str] = {}
        self.sequence = 0

    def contents(self) -> None:
        """Send messages of all sizes through both mailboxes of every pair and check them; collective."""
        for step in range(1, self.comm.size):
            self.aim(step)
            for i, size in enumerate(SIZES):
                for parity in (0, 1):
                    self._message(size, parity, salt=2 * i + parity)

    def times(self, wrong: Iterable[tuple[int, int]]) -> None:
        """Measure the pairs that delivered the right bytes; collective."""
        self.peers -= {a + b - self.comm.rank for a, b in wrong if self.comm.rank in (a, b)}
        for step in range(1, self.comm.size):
            self.aim(step)
            large = min(self.timed(SIZES[-1]) for _ in range(REPEATED))
            every = self.comm.allgather(np.array([self.turns(), large]))  # the sender measures
            if self.since is not None:
                small, large = every[[self.comm.rank, self.since]].max(axis=0)
                self.figures[:, self.since] = small, SIZES[-1] / large

    def aim(self, step: int) -> None:
        """Send to the rank ``step`` above and receive from the one ``step`` below, where these pairs are tested."""
        to, since = (self.comm.rank + step) % self.comm.size, (self.comm.rank - step) % self.comm.size
        self.to, self.since = (peer if peer in self.peers else None for peer in (to, since))

    def _message(self, size: int, parity: int, salt: int) -> None:
        """Send one message with unique contents and check the one received."""
        self.sequence += 1
        p2p = self.name == "p2p"
        if self.to is not None:
            box, signal = self.boxes.outbox(self.to, parity), self.boxes.signal(self.to) if p2p else 0
            self._prepare(box, size, self._seed(self.comm.rank, self.to, salt), signal)
            self._launch("fill")
        self.device.wait()
        self.comm.barrier()
        received = self.boxes.deliver(parity, {} if self.to is None else {self.to: size})
        fault = None
        if self.since is not None:
            box, signal = self.boxes.inbox(self.since, parity), self.boxes.signals(self.since) if p2p else 0
            self._prepare(box, size, self._seed(self.since, self.comm.rank, salt), signal)
            self._launch("check")
            wrong, first, _, late = self.device.get(self.counts).tolist()
            if late:
                fault = f"no signal within {PATIENCE:g} s"
            elif wrong:
                fault = f"{wrong} of {size // 8} words of a message are wrong, the first is number {first}"
            elif not p2p and received.get(self.since) != size:
                fault = f"{received.get(self.since)} of {size} bytes came"
        for peer, count in received.items():
            if count and peer != self.since:
                self.faults.setdefault(peer, f"{count} bytes that no rank sent")
        if fault is not None:
            self._blame(fault)
        self.comm.barrier()

    def timed(self, size: int) -> float:
        """Return the seconds of one message of this size, sent by all ranks at once."""
        box = self.boxes.outbox(self.to, 0) if self.name == "p2p" and self.to is not None else 0
        if box:
            self._prepare(box, size)
        self.device.wait()
        self.comm.barrier()
        began = time.perf_counter()
        if box:
            self._launch("fill")
        elif self.name != "p2p":
            self.boxes.deliver(0, {} if self.to is None else {self.to: size})
        self.device.wait()
        return time.perf_counter() - began

    def turns(self) -> float:
        """Return the seconds of one small message; under p2p of one signal, without the host."""
        if self.name != "p2p":
            return sum(self.timed(SIZES[0]) for _ in range(MESSAGES)) / MESSAGES
        echo = 0 if self.to is None else self.boxes.signal(self.to) + 8
        answer = 0 if self.since is None else self.boxes.signals(self.since) + 8
        seconds = np.nan
        for _ in range(2):
            self._prepare(echo=echo, answer=answer)
            self.device.wait()
            self.comm.barrier()
            began = time.perf_counter()
            self._launch("turns")
            self.device.wait()
            seconds = (time.perf_counter() - began) / TURNS
            self.sequence += TURNS
            if self.since is not None and self.device.get(self.counts)[3]:
                self._blame(f"no signal within {PATIENCE:g} s")
        return seconds

    def _blame(self, fault: str) -> None:
        """Keep the first fault of a pair."""
        if self.since is not None:
            self.faults.setdefault(self.since, fault)

    def _prepare(
        self, box: int = 0, size: int = 0, seed: int = 0, signal: int = 0, echo: int = 0, answer: int = 0
    ) -> None:  # fmt: skip
        """Set the next kernel's ``Env`` (``transport_selftest.cuh``)."""
        self.counts[...] = self.device.put(np.array([0, 2**63, 0, 0], np.uint64))
        address = self.device.address(self.counts)
        words = np.array(
            [box, size // 8, seed, signal, self.sequence, address, echo, answer, TURNS, int(1e9 * PATIENCE)], np.uint64
        )
        self.module.set_environment(words)

    def _launch(self, kernel: str) -> None:
        self.module.launch(kernel, 1 if kernel == "turns" else self.device.blocks)

    def _seed(self, sender: int, receiver: int, salt: int) -> int:
        return ((sender * 65_537 + receiver) * 65_537 + salt + 1) * 0x9E3779B1 % 2**64

    def close(self) -> None:
        """Free the mailboxes; collective."""
        self.boxes.close()
