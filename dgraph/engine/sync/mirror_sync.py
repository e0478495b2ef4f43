"""Reduce and broadcast of one program: the partition fixes the peers, the sync plan fixes the fields.

:class:`Sync` packs proposals of mirrors and values of masters into one message per peer, exchanges them through the
communicator and applies what it receives. A machine with a device exchange moves the values itself.
"""

from __future__ import annotations

import numpy as np

from dgraph.comm import Comm
from dgraph.engine.sync.bitset_kernels import count_by_span, load_kernels, positions_by_span, positions_in
from dgraph.engine.sync.encodings import BITSET, OFFSETS, bound, choose, decode, encode
from dgraph.engine.sync.sync_plan import Refresh, SyncPlan, plan
from dgraph.graph.local import LocalGraph, Mirrors
from dgraph.program import Traced

SPARSE = 32
"""Ratio of positions to dirty masters above which a search per master beats a scan of all positions."""

ACTIVE = np.dtype(np.uint8)
FRONTIER = ("the frontier",)
"""Name that the watchdog prints for a broadcast without fields."""

NONE = np.empty(0, np.uint32)
Span = tuple[int, Mirrors, int, int]
"""Peer, mirrors, first and last position of the mirrors with a role."""

POISON = {"f": float("nan"), "i": -77, "u": 0x55}
"""Garbage for fields that a direction must not read, by kind of dtype."""


def prepare(traced: Traced) -> None:
    """Compile the loops that exchanges of this program's fields call, or load them from the cache folder."""
    stored = ("uint8" if field.dtype == "bool" else field.dtype for field in traced.fields.values())
    load_kernels(*sorted({ACTIVE.name, *stored}))


class Sync:
    """Synchronisation of one program's run. ``reduce`` and ``broadcast`` are collective.

    Args:
        machine: the backend's machine, which holds the fields; a :class:`SharedMachine` if ranks share vertices.
        local: this rank's part of the graph.
        comm: ranks of the run.
        mode: "auto"; "full": no elision; "poison": like auto, but fields that the plan says are not read hold garbage.
        trace: times ``pack``, ``exchange``, ``unpack``; counts bytes and messages.
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
        most = max((side.count for side in local.peer_mirrors.values()), default=0)
        self._positions = np.empty(max(local.mirrors, most) + 1, np.uint32)
        self._routes: dict[tuple[bool, str], list[Span]] = {}
        self._roles: tuple[str, ...] = ()
        message_fields = {name for now in self.plans.values() for fields in now.message_fields for name in fields}
        self._exchanged = [name for name in traced.fields if name in message_fields]

    @property
    def _peers(self) -> list[int]:
        return sorted({*self.local.own_mirrors, *self.local.peer_mirrors})

    def _most(self, peer: int) -> int:
        """Return the maximum bytes of a message to or from a peer, over all phases and directions."""
        sides = (self.local.own_mirrors.get(peer), self.local.peer_mirrors.get(peer))
        total = max(side.count for side in sides if side is not None)
        phases = {fields for now in self.plans.values() for fields in now.message_fields}
        widths = ([*(self.widths[k].itemsize for k in fields), ACTIVE.itemsize] for fields in phases)
        return max(bound(total, each) for each in widths)

    def run_device_rounds(self, limit: int) -> bool:
        """Let the device exchange run up to ``limit`` rounds without the host; return True if it ran any.

        The last round is complete except for its allreduce.
        """
        if not self.device_exchange or self.full:
            return False
        self.comm.watchdog.at("exchange between GPUs", self._exchanged)
        return bool(self.device_exchange.run_device_rounds(limit, self))

    def account(self) -> None:
        """Add the device exchange's seconds and bytes since the last call to the trace."""
        if self.device_exchange:
            self.device_exchange.account()

    def reduce(self, failed: bool = False) -> None:
        """Send proposals of mirrors to their masters and combine those received.

        Args:
            failed: this rank has met an error: it sends empty messages and ignores what it receives.
        """
        machine, traced, now = self.machine, self.machine.traced, self.plans[self.machine.direction]
        self.comm.watchdog.at("reduce", now.reduce)
        if self.device_exchange:
            self.device_exchange.reduce(now.reduce, now.reduce_role, traced.all or self.full, failed)
            return
        senders, receivers = (
            self._spans(sides, now.reduce_role) for sides in (self.local.own_mirrors, self.local.peer_mirrors)
        )
        with self.trace("pack"):
            touched = NONE if failed or traced.all else machine.take_mirrors()
        if not senders and not receivers:
            return
        dtypes = [self.widths[k] for k in now.reduce]
        positions: np.ndarray | None
        width, whole = sum(d.itemsize for d in dtypes), all(traced.fields[k].reduce.idempotent for k in now.reduce)
        sends: dict[int, tuple[np.ndarray, int]] = {}
        with self.trace("pack"):
            dense = traced.all or self.full
            counts = np.empty(len(senders), np.int64)
            starts = np.array([mirrors.first + low for _, mirrors, low, _ in senders], np.int64)
            ends = np.array([mirrors.first + high for _, mirrors, _, high in senders], np.int64)
            count_by_span(touched, starts, ends, counts)
            kinds = [
                choose(high - low if dense and not failed else found, high - low, width, whole)
                for (_, _, low, high), found in zip(senders, counts.tolist(), strict=True)
            ]
            if not {BITSET, OFFSETS}.isdisjoint(kinds):
                positions_by_span(touched, starts, ends, counts, self._positions)
            end = 0
            for (peer, _, low, high), start, found, kind in zip(senders, starts, counts.tolist(), kinds, strict=True):
                positions, end, total = self._positions[end : end + found], end + found, high - low
                columns = [machine.state[k][start : start + total] for k in now.reduce]
                message = encode(self._outbox[peer], kind, total, positions, columns)
                sends[peer] = message, bound(total, [d.itemsize for d in dtypes])
            if not failed:
                machine.reset(slice(self.local.masters, None) if dense else touched)
        received = self._exchange(sends, receivers, dtypes)
        with self.trace("unpack"):
            for peer, mirrors, low, high in receivers:
                positions, values = decode(self._inbox[peer][: received[peer]], high - low, dtypes)
                if positions is not None and not failed:
                    machine.combine(mirrors.lids[low:high], positions, values)  # type: ignore[index]

    def broadcast(self, failed: bool = False) -> None:
        """Send the fields that edges read, and the frontier, from masters to mirrors.

        When a change of direction makes other mirrors participate, stale mirrors are refreshed once.

        Args:
            failed: as for :meth:`reduce`.
        """
        now = self.plans[self.machine.direction]
        roles = (*(refresh.role for refresh in now.refresh), now.reduce_role)
        if roles != self._roles:
            current = self.machine.mirrors_current and not (self._roles or self.full or self.poisoned)
            self._roles = roles
            if self.poisoned:
                self._poison(now)
            for refresh in () if current else now.refresh:
                self._send_refresh(refresh, failed, everything=not self._refreshed_later(refresh, now))
        elif now.frontier or now.broadcast:
            self._send_refresh(Refresh(now.broadcast, now.broadcast_role, now.frontier), failed, everything=self.full)

    def _refreshed_later(self, refresh: Refresh, now: SyncPlan) -> bool:
        """Return True if sending active masters suffices, because the others are sent when they become active.

        If half of the masters or more are active, a dense broadcast of all is cheaper.
        """
        machine, later = self.machine, refresh.joins and set(refresh.fields) <= set(now.broadcast)
        return later and 2 * machine.total_active < self.local.n and not (machine.dirties or self.full)

    def _send_refresh(self, refresh: Refresh, failed: bool, everything: bool) -> None:
        """Send the fields of dirty masters, or of all (``everything``), to the mirrors of a role."""
        (fields, role, joins), machine, traced = refresh, self.machine, self.machine.traced
        self.comm.watchdog.at("broadcast", fields or FRONTIER)
        dense = everything or traced.all
        marked = joins and (everything or machine.dirties)
        if self.device_exchange:
            self.device_exchange.broadcast(fields, role, dense, marked, joins, failed)
            return
        senders, receivers = self._spans(self.local.peer_mirrors, role), self._spans(self.local.own_mirrors, role)
        if not senders and not receivers:
            return
        dtypes = [self.widths[k] for k in fields] + [ACTIVE] * marked
        width = sum(d.itemsize for d in dtypes)
        sends: dict[int, tuple[np.ndarray, int]] = {}
        with self.trace("pack"):
            dirty = NONE if failed or dense else machine.dirty()
            columns = [machine.state[k] for k in fields]
            if marked:
                columns.append(self._active(not failed))
            for peer, mirrors, low, high in senders:
                lids, total = mirrors.lids[low:high], high - low  # type: ignore[index]
                found = self._dirty_positions(dirty, mirrors, low, high)
                kind = choose(0 if failed else total if dense else len(found), total, width, dense)
                message = encode(self._outbox[peer], kind, total, found, columns, lids)
                sends[peer] = message, bound(total, [d.itemsize for d in dtypes])
        received = self._exchange(sends, receivers, dtypes)
        with self.trace("unpack"):
            for peer, mirrors, low, high in receivers:
                positions, values = decode(self._inbox[peer][: received[peer]], high - low, dtypes)
                if positions is None or failed:
                    continue
                lids = positions + np.uint32(mirrors.first + low)
                for name, column in zip(fields, values, strict=False):
                    machine.state[name][lids] = column
                if joins:
                    machine.join(lids[values[-1] != 0] if marked else lids)

    def _dirty_positions(self, dirty: np.ndarray, mirrors: Mirrors, low: int, high: int) -> np.ndarray:
        """Return the positions within ``low .. high``, relative to ``low``, whose master is in ``dirty``."""
        if dirty.size * SPARSE < high - low:
            return mirrors.holding(dirty, low, high) - np.uint32(low)
        found = positions_in(mirrors.lids[low:high], dirty, self._mask, self._positions)  # type: ignore[index]
        return self._positions[:found]

    def _active(self, valid: bool) -> np.ndarray:
        """Return uint8 (masters,): 1 for masters in the frontier; all 0 unless the frontier is ``valid``."""
        active = np.zeros(self.local.masters, ACTIVE)
        if valid:
            active[self.machine.frontier()] = 1
        return active

    def _exchange(self, sends, receivers: list[Span], dtypes) -> dict[int, int]:
        widths = [d.itemsize for d in dtypes]
        inboxes = {p: self._inbox[p][: bound(high - low, widths)] for p, _, low, high in receivers}
        with self.trace("exchange"):
            received = self.comm.exchange(sends, inboxes)
        for peer, (message, _) in sends.items():
            self.trace.message(peer, message.size)
        return received

    def _spans(self, sides: dict[int, Mirrors], role: str) -> list[Span]:
        """Return the non-empty spans of a role, one per peer."""
        cached = self._routes.setdefault((sides is self.local.own_mirrors, role), [])
        if not cached:
            spans = [(peer, mirrors, *mirrors.span(role)) for peer, mirrors in sides.items()]
            cached += [span for span in spans if span[2] < span[3]]
        return cached

    def _poison(self, now: SyncPlan) -> None:
        """Fill mirror fields that this direction does not read with garbage, and accumulators with the identity."""
        machine, fields = self.machine, self.machine.traced.fields
        for mirrors in self.local.own_mirrors.values():
            for name, field in fields.items():
                values = machine.state[name][mirrors.first : mirrors.first + mirrors.count]
                read = np.zeros(mirrors.count, np.bool_)
                for refresh in now.refresh:
                    if name in refresh.fields and not self._refreshed_later(refresh, now):
                        read[slice(*mirrors.span(refresh.role))] = True
                if name not in now.reduce:
                    values[~read] = POISON[values.dtype.kind]
                    continue
                entered = np.zeros(mirrors.count, np.bool_)
                entered[slice(*mirrors.span(now.reduce_role))] = True
                values[~read & ~entered] = POISON[values.dtype.kind]
                values[entered] = field.identity
