"""Choice of a transport for every pair of ranks.

It combines what each pair can use, what the user asked for and what the self-test measured. :func:`joined` is the
entry.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph.backend.cuda.transports import aware
from dgraph.backend.cuda.transports.links import Links
from dgraph.backend.cuda.transports.nccl import Group
from dgraph.backend.cuda.transports.selftest import selftest
from dgraph.backend.transport_names import AUTO, TRANSPORTS
from dgraph.comm import Comm
from dgraph.comm.hosts import FAKE, hosts
from dgraph.errors import DgraphError, InternalError, UsageError, option, unknown

Pair = tuple[int, int]

TYPICAL = 1 << 20
"""Bytes of the message by whose time ``auto`` compares transports."""


def connect(device: Any, comm: Comm, transport: str = AUTO) -> Links:
    """Choose a transport for every pair of ranks and test it; collective, with the same result on every rank.

    ``auto`` takes p2p wherever it works and delivers the right bytes. For other pairs it takes the transport with the
    shortest time for a message of 1 MiB. A named transport is used for all pairs.

    Raises:
        UsageError: on every rank; the named transport does not exist, cannot join some pair, or delivers wrong bytes.
    """
    choice = _Choice(device, comm, transport)
    choice.conclude(choice.soonest() if transport == AUTO else choice.all_by(transport))
    return choice.links


def compare(device: Any, comm: Comm) -> tuple[Links, dict[str, dict[Pair, str]]]:
    """Test every transport between all ranks; collective.

    Returns:
        ``Links`` with figures only; and transport → pair → the reason why it cannot join that pair.
    """
    choice = _Choice(device, comm, AUTO)
    return choice.links, {name: choice.trial(name, choice.pairs) for name in TRANSPORTS}


_known: WeakKeyDictionary[Comm, dict[tuple, Links]] = WeakKeyDictionary()


def joined(device: Any, comm: Comm, transport: str = AUTO) -> Links:
    """Return the links of these ranks on their GPUs, connected on the first call as by :func:`connect`; collective."""
    links = _known.setdefault(comm, {})
    key = device.raw.uuid(), transport, os.environ.get(FAKE)
    if comm.total(key not in links):
        links[key] = connect(device, comm, transport)
    return links[key]


class _Choice:
    """Choice in progress. All of it follows from facts that every rank has gathered, so all ranks decide alike."""

    def __init__(self, device: Any, comm: Comm, transport: str):
        if transport not in (AUTO, *TRANSPORTS):
            raise unknown("transport", transport, (AUTO, *TRANSPORTS))
        self.device, self.comm = device, comm
        self.pairs = [(a, b) for b in range(comm.size) for a in range(b)]
        self.links = Links(comm.duplicate(), {})
        self._look(transport)

    def _look(self, transport: str) -> None:
        """Gather each rank's properties, then which GPUs can access each other."""
        raw, comm = self.device.raw, self.comm
        with comm.together():
            says = aware.library_says()
            module = raw.nccl() if transport in (AUTO, "nccl") else None
            mine = {
                "uuid": raw.uuid(), "mps": raw.under_mps(), "says": says,
                "nccl": None if module is None else str(module.get_version()),
            }  # fmt: skip
        self.facts = comm.allgather_json(mine)
        self.hosts = hosts(comm)
        uuids = [fact["uuid"] for fact in self.facts]
        with comm.together():
            access = [None if uuid == mine["uuid"] else raw.can_access(uuid) for uuid in uuids]
        self.peer_access = comm.allgather_json(access)
        self.tried = self._send_to_self(transport)

    def _send_to_self(self, transport: str) -> list[str | None]:
        """Run the child process that sends GPU memory by MPI, once a host; return its result for each rank.

        It runs where MPI claims support; where MPI does not know, only if the user asked for mpi-device. None: not run.
        """
        says = {fact["says"] for fact in self.facts}
        asked = transport == "mpi-device" and aware.NO not in says
        if not asked and not (transport == AUTO and says == {aware.YES}):
            return [None] * self.comm.size
        first = [self.hosts.index(host) for host in self.hosts]
        failure = aware.tried(self.device.number) if first[self.comm.rank] == self.comm.rank else ""
        failures = self.comm.allgather_json(failure)
        return [failures[rank] for rank in first]

    def cannot(self, name: str) -> dict[Pair, str]:
        """Return the pairs that a transport cannot join, known before it is tested, and the reasons."""
        why: Callable[[int, int], str] = getattr(self, f"_{name.replace('-', '_')}")
        return {pair: reason for pair in self.pairs if (reason := why(*pair))}

    def _p2p(self, a: int, b: int) -> str:
        if self.hosts[a] != self.hosts[b]:
            return f"they are on different hosts, {self.hosts[a]} and {self.hosts[b]}"
        if self.facts[a]["uuid"] == self.facts[b]["uuid"]:
            return f"they share {self.facts[a]['uuid']}"
        if False in (self.peer_access[a][b], self.peer_access[b][a]):
            return "the driver gives their GPUs no access to each other (nvidia-smi topo -p2p r)"
        return ""

    def _nccl(self, a: int, b: int) -> str:
        missing = [rank for rank, fact in enumerate(self.facts) if fact["nccl"] is None]
        if missing:
            return f"rank {missing[0]} finds no NCCL (pip install nvidia-nccl-cu13, or -cu12)"
        versions = [fact["nccl"] for fact in self.facts]
        for rank, version in enumerate(versions):
            if version != versions[0]:
                return f"rank 0 has NCCL {versions[0]}, rank {rank} {version}: one would wait for the other for ever"
        uuids = [fact["uuid"] for fact in self.facts]
        for rank, uuid in enumerate(uuids):
            if uuids.index(uuid) != rank:
                return f"ranks {uuids.index(uuid)} and {rank} share {uuid}, and NCCL takes one rank a GPU"
        return ""

    def _mpi_device(self, a: int, b: int) -> str:
        for rank, fact in enumerate(self.facts):
            if fact["says"] == aware.NO:
                return f"MPI is not CUDA-aware, says the library on rank {rank}"
        for rank in (a, b):
            if self.tried[rank]:
                return f"on the host of rank {rank}, {self.tried[rank]}"
            if self.tried[rank] is None:
                return f"whether MPI is CUDA-aware is unknown on rank {rank}"
        return ""

    def _mpi_host(self, a: int, b: int) -> str:
        return ""

    def all_by(self, name: str) -> dict[Pair, str]:
        """Use the named transport between all ranks.

        Raises:
            UsageError: it cannot join some pair; the message names one.
        """
        refused = self.cannot(name) or self.trial(name, self.pairs)
        if refused:
            (a, b), why = next(iter(refused.items()))
            more = f" (and {len(refused) - 1} pairs more)" if len(refused) > 1 else ""
            raise UsageError(
                f"transport {name} cannot join ranks {a} and {b}{more}: {why}; {option('transport', 'auto')} takes "
                "what can"
            )
        self.links.against = {pair: ["asked for"] for pair in self.pairs}
        return dict.fromkeys(self.pairs, name)

    def trial(self, name: str, pairs: Iterable[Pair]) -> dict[Pair, str]:
        """Open and test a transport; return the pairs that must not use it, with reasons; collective.

        Wrong bytes are also noted in ``links.broken``.
        """
        impossible = self.cannot(name)
        refused = {pair: impossible[pair] for pair in pairs if pair in impossible}
        pairs = [pair for pair in pairs if pair not in refused]
        if pairs and name == "p2p":
            refused |= self._unopened(pairs)
        if pairs and name == "nccl" and (failure := self._no_group()):
            refused |= dict.fromkeys(pairs, failure)
        pairs = [pair for pair in pairs if pair not in refused]
        if pairs:
            wrong = selftest(self.device, self.comm, self.links, name, pairs)
            self.links.broken += [(name, *pair, fault) for pair, fault in wrong.items()]
            refused |= wrong
        return refused

    def _no_group(self) -> str:
        """Start NCCL on the first call; return the failure, or ""."""
        if self.links.group is None:
            try:
                self.links.group = Group(self.device.raw, self.comm)
            except DgraphError as error:
                return f"NCCL does not start: {str(error).splitlines()[-1]}"
        return ""

    def _unopened(self, pairs: list[Pair]) -> dict[Pair, str]:
        """Return the pairs of which one rank cannot open the other's memory, with reasons."""
        raw, comm = self.device.raw, self.comm
        with comm.together():
            address = raw.malloc(1)
            handle = raw.share(address)
        handles = comm.allgatherv(np.frombuffer(handle, np.uint8))
        failures: list[str] = [""] * comm.size
        for a, b in pairs:
            if comm.rank in (a, b):
                peer = a + b - comm.rank
                try:
                    raw.close(raw.open(handles[peer].tobytes()))
                except (RuntimeError, OSError) as error:
                    failures[peer] = (
                        f"rank {comm.rank} cannot open rank {peer}'s memory: {error} "
                        "(under Slurm --gpu-bind=none leaves GPUs visible to each other)"
                    )
        every = comm.allgather_json(failures)
        raw.free(address)
        return {(a, b): every[a][b] or every[b][a] for a, b in pairs if every[a][b] or every[b][a]}

    def soonest(self) -> dict[Pair, str]:
        """Choose for ``auto``: p2p where it works, else the fastest of the other transports.

        Raises:
            InternalError: no transport joins some pair.
        """
        table: dict[Pair, str] = {}
        against: dict[Pair, list[str]] = {pair: [] for pair in self.pairs}
        for round_of in (("p2p",), ("nccl", "mpi-device", "mpi-host")):
            open_pairs = [pair for pair in self.pairs if pair not in table]
            able: dict[Pair, list[str]] = {pair: [] for pair in open_pairs}
            for name in round_of:
                refused = self.trial(name, open_pairs)
                for pair in open_pairs:
                    if pair in refused:
                        against[pair].append(f"no {name}: {refused[pair]}")
                    else:
                        able[pair].append(name)
            for pair, names in able.items():
                if names:
                    table[pair] = min(names, key=lambda name: self._seconds(name, pair))
        for a, b in self.pairs:
            if (a, b) not in table:
                raise InternalError(
                    f"no transport brings ranks {a} and {b} the right bytes: {'; '.join(against[a, b])}"
                )
        self.links.against = against
        return table

    def _seconds(self, name: str, pair: Pair) -> float:
        """Return the seconds of a message of ``TYPICAL`` bytes in the slower direction."""
        latency, bandwidth = self.links.measured(name, pair)
        return latency + TYPICAL / bandwidth

    def conclude(self, table: dict[Pair, str]) -> None:
        """Enter the chosen transports and the reasons in ``links``."""
        links, rank = self.links, self.comm.rank
        links.table = table
        for pair, name in table.items():
            if rank in pair:
                peer = sum(pair) - rank
                latency, bandwidth = links.measured(name, pair)
                measured = f"contents checked, {bandwidth / 1e9:.3g} GB/s, {latency * 1e6:.3g} µs"
                links.chosen[peer] = name
                links.why[peer] = "; ".join([measured, *links.against[pair]])
        others = {name for name in table.values() if name != "p2p"}
        if others:
            links.not_direct = f"some ranks are joined by {', '.join(sorted(others))}"
        elif any(fact["mps"] for fact in self.facts):
            links.not_direct = "the Multi-Process Service stands between ranks and GPUs"
