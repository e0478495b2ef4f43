"""Reduce and broadcast: who talks is fixed by the partition, what is said by the plan."""

from __future__ import annotations

import numpy as np

from dgraph.comm import Comm
from dgraph.engine.sync.bitset_kernels import count, deal, held_of_many, load_kernels
from dgraph.engine.sync.encodings import BITSET, OFFSETS, bound, choose, decode, encode
from dgraph.engine.sync.sync_plan import Refresh, SyncPlan, plan
from dgraph.graph.local import LocalGraph, Mirrors
from dgraph.program import Traced

SPARSE = 32
"""Positions a vertex from which looking each vertex up beats looking at every position."""

ACTIVE = np.dtype(np.uint8)
FRONTIER = ("the frontier",)
"""What a broadcast of no field is about."""

NOBODY = np.empty(0, np.uint32)
Span = tuple[int, Mirrors, int, int]
POISON = {"f": float("nan"), "i": -77, "u": 0x55}


def prepare(traced: Traced) -> None:
    """Compile, or load from the cache folder, what exchanges of this program's fields will call."""
    stored = ("uint8" if field.dtype == "bool" else field.dtype for field in traced.fields.values())
    load_kernels(*sorted({ACTIVE.name, *stored}))


class Sync:
    """The exchanges of one program's run.

    Args:
        machine: the backend's, which holds the fields; a :class:`SharedMachine` where ranks share vertices.
        mode: "auto"; "full": nothing is elided; "poison": as auto, and what the plan says is not read is garbage.
        trace: times ``pack``, ``exchange``, ``unpack``; counts bytes and messages.

    A machine that brings a courier of its own (``machine.exchange``) moves the values itself.
    """

    def __init__(self, machine, local: LocalGraph, comm: Comm, mode: str, trace):
        self.machine, self.local, self.comm, self.trace = machine, local, comm, trace
        self.full, self.poisoned = mode == "full", mode == "poison"
        traced = machine.traced
        self.plans = {d: plan(traced, d, local.directed, self.full) for d in ("push", "pull")}
        self.widths = {k: machine.state[k].dtype for k in traced.fields}
        self.device_exchange = machine.exchange(comm, self.plans, trace)
        peers = [] if self.device_exchange else self._peers
        self._outbox = {p: np.empty(self._most(p), np.uint8) for p in peers}
        self._inbox = {p: np.empty(self._most(p), np.uint8) for p in peers}
        self._mask = np.zeros(local.masters if peers else 0, np.uint8)
        most = max((side.count for side in local.theirs.values()), default=0)
        self._positions = np.empty(max(local.mirrors, most) + 1, np.uint32)
        self._routes: dict[tuple[bool, str], list[Span]] = {}
        self._roles: tuple[str, ...] = ()
        message_fields = {name for now in self.plans.values() for fields in now.message_fields for name in fields}
        self._exchanged = [name for name in traced.fields if name in message_fields]

    @property
    def _peers(self) -> list[int]:
        return sorted({*self.local.mine, *self.local.theirs})

    def _most(self, peer: int) -> int:
        """The most bytes that a message to or from a peer can take, whatever phase and direction it belongs to."""
        sides = (self.local.mine.get(peer), self.local.theirs.get(peer))
        total = max(side.count for side in sides if side is not None)
        phases = {fields for now in self.plans.values() for fields in now.message_fields}
        widths = ([*(self.widths[k].itemsize for k in fields), ACTIVE.itemsize] for fields in phases)
        return max(bound(total, each) for each in widths)

    def across(self, limit: int) -> bool:
        """Rounds that a courier runs without the host, up to the agreement on the last; whether there were any."""
        if not self.device_exchange or self.full:
            return False
        self.comm.watchdog.at("exchange between GPUs", self._exchanged)
        return bool(self.device_exchange.across(limit, self))

    def account(self) -> None:
        """Seconds and bytes of what a courier moved since the last call go into the trace."""
        if self.device_exchange:
            self.device_exchange.account()

    def reduce(self, failed: bool = False) -> None:
        """Mirrors give their proposals to their masters. ``failed``: this rank has nothing to say any more."""
        machine, traced, now = self.machine, self.machine.traced, self.plans[self.machine.direction]
        self.comm.watchdog.at("reduce", now.reduce)
        if self.device_exchange:
            self.device_exchange.reduce(now.reduce, now.reduce_role, traced.all or self.full, failed)
            return
        giving, taking = self._spans(self.local.mine, now.reduce_role), self._spans(self.local.theirs, now.reduce_role)
        with self.trace("pack"):
            touched = NOBODY if failed or traced.all else machine.take_mirrors()
        if not giving and not taking:
            return
        dtypes = [self.widths[k] for k in now.reduce]
        positions: np.ndarray | None
        width, whole = sum(d.itemsize for d in dtypes), all(traced.fields[k].reduce.idempotent for k in now.reduce)
        sends: dict[int, tuple[np.ndarray, int]] = {}
        with self.trace("pack"):
            dense = traced.all or self.full
            counts = np.empty(len(giving), np.int64)
            starts = np.array([mirrors.first + low for _, mirrors, low, _ in giving], np.int64)
            ends = np.array([mirrors.first + high for _, mirrors, _, high in giving], np.int64)
            count(touched, starts, ends, counts)
            kinds = [
                choose(high - low if dense and not failed else found, high - low, width, whole)
                for (_, _, low, high), found in zip(giving, counts.tolist(), strict=True)
            ]
            if not {BITSET, OFFSETS}.isdisjoint(kinds):
                deal(touched, starts, ends, counts, self._positions)
            end = 0
            for (peer, _, low, high), start, found, kind in zip(giving, starts, counts.tolist(), kinds, strict=True):
                positions, end, total = self._positions[end : end + found], end + found, high - low
                columns = [machine.state[k][start : start + total] for k in now.reduce]
                message = encode(self._outbox[peer], kind, total, positions, columns)
                sends[peer] = message, bound(total, [d.itemsize for d in dtypes])
            if not failed:
                machine.reset(slice(self.local.masters, None) if dense else touched)
        received = self._exchange(sends, taking, dtypes)
        with self.trace("unpack"):
            for peer, mirrors, low, high in taking:
                positions, values = decode(self._inbox[peer][: received[peer]], high - low, dtypes)
                if positions is not None and not failed:
                    machine.combine(mirrors.lids[low:high], positions, values)  # type: ignore[index]

    def broadcast(self, failed: bool = False) -> None:
        """Masters give what edges will read, and who is active, to their mirrors; after a change of direction that
        makes other mirrors listen, once what they have not heard."""
        now = self.plans[self.machine.direction]
        roles = (*(told.role for told in now.refresh), now.reduce_role)
        if roles != self._roles:
            known = self.machine.mirrors_current and not (self._roles or self.full or self.poisoned)
            self._roles = roles
            if self.poisoned:
                self._poison(now)
            for told in () if known else now.refresh:
                self._send_refresh(told, failed, everything=not self._refreshed_later(told, now))
        elif now.frontier or now.broadcast:
            self._send_refresh(Refresh(now.broadcast, now.broadcast_role, now.frontier), failed, everything=self.full)

    def _refreshed_later(self, told: Refresh, now: SyncPlan) -> bool:
        """Whether mirrors hear of active masters alone: of others they do when those become active. Where most are
        active all are sooner told."""
        machine, known = self.machine, told.joins and set(told.fields) <= set(now.broadcast)
        return known and 2 * machine.total_active < self.local.n and not (machine.dirties or self.full)

    def _send_refresh(self, told: Refresh, failed: bool, everything: bool) -> None:
        (fields, role, joins), machine, traced = told, self.machine, self.machine.traced
        self.comm.watchdog.at("broadcast", fields or FRONTIER)
        dense = everything or traced.all
        marked = joins and (everything or machine.dirties)
        if self.device_exchange:
            self.device_exchange.broadcast(fields, role, dense, marked, joins, failed)
            return
        telling, hearing = self._spans(self.local.theirs, role), self._spans(self.local.mine, role)
        if not telling and not hearing:
            return
        dtypes = [self.widths[k] for k in fields] + [ACTIVE] * marked
        width = sum(d.itemsize for d in dtypes)
        sends: dict[int, tuple[np.ndarray, int]] = {}
        with self.trace("pack"):
            heard = NOBODY if failed or dense else machine.dirty()
            columns = [machine.state[k] for k in fields]
            if marked:
                columns.append(self._active(not failed))
            for peer, mirrors, low, high in telling:
                lids, total = mirrors.lids[low:high], high - low  # type: ignore[index]
                found = self._held(heard, mirrors, low, high)
                kind = choose(0 if failed else total if dense else len(found), total, width, dense)
                message = encode(self._outbox[peer], kind, total, found, columns, lids)
                sends[peer] = message, bound(total, [d.itemsize for d in dtypes])
        received = self._exchange(sends, hearing, dtypes)
        with self.trace("unpack"):
            for peer, mirrors, low, high in hearing:
                positions, values = decode(self._inbox[peer][: received[peer]], high - low, dtypes)
                if positions is None or failed:
                    continue
                lids = positions + np.uint32(mirrors.first + low)
                for name, column in zip(fields, values, strict=False):
                    machine.state[name][lids] = column
                if joins:
                    machine.join(lids[values[-1] != 0] if marked else lids)

    def _held(self, heard: np.ndarray, mirrors: Mirrors, low: int, high: int) -> np.ndarray:
        """Of ``low .. high``, counted from ``low``, those whose masters are heard of."""
        if heard.size * SPARSE < high - low:
            return mirrors.holding(heard, low, high) - np.uint32(low)
        found = held_of_many(mirrors.lids[low:high], heard, self._mask, self._positions)  # type: ignore[index]
        return self._positions[:found]

    def _active(self, known: bool) -> np.ndarray:
        """1 for each master that is in the frontier."""
        active = np.zeros(self.local.masters, ACTIVE)
        if known:
            active[self.machine.frontier()] = 1
        return active

    def _exchange(self, sends, hearing: list[Span], dtypes) -> dict[int, int]:
        widths = [d.itemsize for d in dtypes]
        inboxes = {p: self._inbox[p][: bound(high - low, widths)] for p, _, low, high in hearing}
        with self.trace("exchange"):
            received = self.comm.exchange(sends, inboxes)
        for peer, (message, _) in sends.items():
            self.trace.message(peer, message.size)
        return received

    def _spans(self, sides: dict[int, Mirrors], role: str) -> list[Span]:
        """Peers with mirrors of this role: peer, mirrors, first and last position."""
        known = self._routes.setdefault((sides is self.local.mine, role), [])
        if not known:
            spans = [(peer, mirrors, *mirrors.span(role)) for peer, mirrors in sides.items()]
            known += [span for span in spans if span[2] < span[3]]
        return known

    def _poison(self, now: SyncPlan) -> None:
        """Garbage into every mirror's field that this direction does not read; identities into its accumulators."""
        machine, fields = self.machine, self.machine.traced.fields
        for mirrors in self.local.mine.values():
            for name, field in fields.items():
                values = machine.state[name][mirrors.first : mirrors.first + mirrors.count]
                read = np.zeros(mirrors.count, np.bool_)
                for told in now.refresh:
                    if name in told.fields and not self._refreshed_later(told, now):
                        read[slice(*mirrors.span(told.role))] = True
                if name not in now.reduce:
                    values[~read] = POISON[values.dtype.kind]
                    continue
                entered = np.zeros(mirrors.count, np.bool_)
                entered[slice(*mirrors.span(now.reduce_role))] = True
                values[~read & ~entered] = POISON[values.dtype.kind]
                values[entered] = field.identity
