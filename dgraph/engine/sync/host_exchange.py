"""Exchange of messages between ranks through the host: pack, transfer, unpack.

:class:`HostExchange` packs proposals of mirrors or values of masters into one message per peer, sends them through the
communicator and applies what it receives. ``Sync`` decides which fields and roles; a machine on a GPU may bring an
exchange with the same methods instead.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dgraph.backend.wire import BITSET, CPU, OFFSETS, UnreadableMessage
from dgraph.comm import Comm
from dgraph.engine.sync.bitset_kernels import count_by_span, load_kernels, positions_by_span, positions_in
from dgraph.engine.sync.encodings import decode, encode
from dgraph.engine.sync.sync_plan import SyncPlan
from dgraph.graph.local import LocalGraph, Mirrors
from dgraph.program import Traced

SPARSE = 32
"""Ratio of positions to dirty masters above which a search per master beats a scan of all positions."""

ACTIVE = np.dtype(np.uint8)
NONE = np.empty(0, np.uint32)


class Span(NamedTuple):
    """Mirrors of a peer with a role, and the message about them.

    Attributes:
        peer: the other rank.
        mirrors: the mirrors of this rank and the peer.
        low, high: first and last position of those with the role.
        bound: most bytes of a message about them.
    """

    peer: int
    mirrors: Mirrors
    low: int
    high: int
    bound: int


class Route(NamedTuple):
    """Spans of one role, for messages of the same columns.

    Attributes:
        spans: those that are not empty, one a peer.
        starts, ends: lids of the first mirror of each and behind the last, int64; of mirrors on this rank.
    """

    spans: list[Span]
    starts: np.ndarray
    ends: np.ndarray


def prepare(traced: Traced) -> None:
    """Compile the loops that exchanges of this program's fields call, or load them from the cache folder."""
    stored = ("uint8" if field.dtype == "bool" else field.dtype for field in traced.fields.values())
    load_kernels(*sorted({ACTIVE.name, *stored}))


class HostExchange:
    """Reduce and broadcast of one program's run through host memory; both are collective.

    Args:
        machine: the backend's machine, which holds the fields; a :class:`SharedMachine` if ranks share vertices.
        local: this rank's part of the graph.
        comm: ranks of the run.
        plans: direction → the fields and roles of its exchanges.
        record: times ``pack``, ``exchange``, ``unpack``; counts bytes and messages.
    """

    def __init__(self, machine, local: LocalGraph, comm: Comm, plans: dict[str, SyncPlan], record):
        self.machine, self.local, self.comm, self.record = machine, local, comm, record
        self.widths = {k: machine.state[k].dtype for k in machine.traced.fields}
        phases = {fields for plan in plans.values() for fields in plan.message_fields}
        peers = sorted({*local.own_mirrors, *local.peer_mirrors})
        self._outbox = {p: np.empty(self._most(p, phases), np.uint8) for p in peers}
        self._inbox = {p: np.empty(self._most(p, phases), np.uint8) for p in peers}
        self._mask = np.zeros(local.masters if peers else 0, np.uint8)
        most = max((side.count for side in local.peer_mirrors.values()), default=0)
        self._positions = np.empty(max(local.mirrors, most) + 1, np.uint32)
        team = getattr(machine, "team", None)  # a machine on a GPU has none
        self._team = team if team is not None and machine.compiled else None  # else nothing is compiled here, either
        self._routes: dict[tuple[bool, str, tuple[int, ...]], Route] = {}

    def _most(self, peer: int, phases: set[tuple[str, ...]]) -> int:
        """Return the maximum bytes of a message to or from a peer, over all phases and directions."""
        sides = (self.local.own_mirrors.get(peer), self.local.peer_mirrors.get(peer))
        total = max(side.count for side in sides if side is not None)
        widths = ([*(self.widths[k].itemsize for k in fields), ACTIVE.itemsize] for fields in phases)
        return max(CPU.bound(total, widths_of_phase) for widths_of_phase in widths)

    @cached_property
    def _ascending(self) -> np.ndarray:
        """Positions of a message about all mirrors, uint32."""
        return np.arange(len(self._positions), dtype=np.uint32)

    def account(self) -> None:
        """Do nothing: seconds and bytes are recorded as they arise."""

    def reduce(self, fields: tuple[str, ...], role: str, dense: bool, failed: bool) -> None:
        """Send mirrors' proposals to their masters and combine those received.

        Args:
            fields: fields to send.
            role: role of the mirrors.
            dense: send the proposal of every mirror of the role, not only of those that got one.
            failed: this rank has failed: it sends empty messages and ignores what it receives.
        """
        machine, traced = self.machine, self.machine.traced
        with self.record("pack"):
            touched = NONE if failed or traced.all else machine.take_mirrors()
        if role == "none":
            return
        dtypes = [self.widths[k] for k in fields]
        widths = tuple([d.itemsize for d in dtypes])
        senders = self._route(self.local.own_mirrors, role, widths)
        receivers = self._route(self.local.peer_mirrors, role, widths)
        if not senders.spans and not receivers.spans:
            return
        width, whole = sum(widths), all(traced.fields[k].reduce.idempotent for k in fields)
        sends: dict[int, tuple[np.ndarray, int]] = {}
        with self.record("pack"):
            starts, ends, counts = senders.starts, senders.ends, np.empty(len(senders.spans), np.int64)
            count_by_span(touched, starts, ends, counts)
            kinds = [
                CPU.choose(high - low if dense and not failed else count, low, high, width, whole)
                for (_, _, low, high, _), count in zip(senders.spans, counts.tolist(), strict=True)
            ]
            if BITSET in kinds or OFFSETS in kinds:
                positions_by_span(touched, starts, ends, counts, np.empty_like(counts), self._positions)
            end = 0
            for span, start, count, kind in zip(senders.spans, starts.tolist(), counts.tolist(), kinds, strict=True):
                positions, end, total = self._positions[end : end + count], end + count, span.high - span.low
                columns = [machine.state[k][start : start + total] for k in fields] if kind else []
                message = encode(self._outbox[span.peer], kind, total, positions, columns, team=self._team)
                sends[span.peer] = message, span.bound
            if not failed:
                machine.reset(slice(self.local.masters, None) if dense else touched)
        received = self._exchange(sends, receivers)
        with self.record("unpack"):
            for peer, mirrors, low, high, _ in receivers.spans:
                if received[peer]:
                    positions, values = self._decoded(peer, received[peer], high - low, dtypes)
                    if not failed:
                        machine.combine(mirrors.lids[low:high], positions, values)  # type: ignore[index]

    def broadcast(
        self, fields: tuple[str, ...], role: str, dense: bool, marked: bool, joins: bool, failed: bool
    ) -> None:
        """Send masters' values to their mirrors.

        Args:
            fields: fields to send.
            role: role of the mirrors.
            dense: send every master of the role, not only dirty ones.
            marked: send a flag with each value: whether the master is active.
            joins: add the mirrors that receive a value (if ``marked``: an active flag) to the frontier.
            failed: as for :meth:`reduce`.
        """
        if role == "none":
            return
        machine = self.machine
        dtypes = [self.widths[k] for k in fields] + [ACTIVE] * marked
        widths = tuple([d.itemsize for d in dtypes])
        senders = self._route(self.local.peer_mirrors, role, widths)
        receivers = self._route(self.local.own_mirrors, role, widths)
        if not senders.spans and not receivers.spans:
            return
        width = sum(widths)
        sends: dict[int, tuple[np.ndarray, int]] = {}
        with self.record("pack"):
            dirty = NONE if failed or dense else machine.dirty()
            columns = [machine.state[k] for k in fields]
            if marked:
                columns.append(self._active(not failed))
            for peer, mirrors, low, high, bound in senders.spans:
                lids, total = mirrors.lids[low:high], high - low  # type: ignore[index]
                changed = self._dirty_positions(dirty, mirrors, low, high) if dirty.size else NONE
                kind = CPU.choose(0 if failed else total if dense else len(changed), low, high, width, dense)
                sends[peer] = encode(self._outbox[peer], kind, total, changed, columns, lids, self._team), bound
        received = self._exchange(sends, receivers)
        with self.record("unpack"):
            for peer, mirrors, low, high, _ in receivers.spans:
                if failed or not received[peer]:
                    continue
                positions, values = self._decoded(peer, received[peer], high - low, dtypes)
                place, count = mirrors.first + low, len(positions)
                lids = positions + np.uint32(place) if joins or count < high - low else NONE
                rows = slice(place, place + count) if count == high - low else lids  # all come in order
                for name, column in zip(fields, values, strict=False):
                    machine.state[name][rows] = column
                if joins:
                    machine.join(lids[values[-1] != 0] if marked else lids)

    def _dirty_positions(self, dirty: np.ndarray, mirrors: Mirrors, low: int, high: int) -> np.ndarray:
        """Return the positions within ``low .. high``, relative to ``low``, whose master is in ``dirty``."""
        if dirty.size * SPARSE < high - low:
            return mirrors.holding(dirty, low, high) - np.uint32(low)
        count = positions_in(mirrors.lids[low:high], dirty, self._mask, self._positions)  # type: ignore[index]
        return self._positions[:count]

    def _active(self, valid: bool) -> np.ndarray:
        """Return uint8 (masters,): 1 for masters in the frontier; all 0 unless the frontier is ``valid``."""
        active = np.zeros(self.local.masters, ACTIVE)
        if valid:
            active[self.machine.frontier()] = 1
        return active

    def _exchange(self, sends, receivers: Route) -> dict[int, int]:
        inboxes = {span.peer: self._inbox[span.peer][: span.bound] for span in receivers.spans}
        with self.record("exchange"):
            received = self.comm.exchange(sends, inboxes)
        for peer, (message, _) in sends.items():
            self.record.message(peer, message.size)
        return received

    def _decoded(self, peer: int, size: int, total: int, dtypes: list[np.dtype]) -> Any:
        """Return what a message says, as :func:`decode` does; its error names the rank that sent it."""
        try:
            return decode(self._inbox[peer][:size], total, dtypes, self._ascending)
        except UnreadableMessage as error:
            raise UnreadableMessage(f"rank {self.comm.rank} received from rank {peer} {error}") from None

    def _route(self, sides: dict[int, Mirrors], role: str, widths: tuple[int, ...]) -> Route:
        """Return the spans of a role, and the bounds of messages of columns of these widths."""
        key = sides is self.local.own_mirrors, role, widths
        route = self._routes.get(key)
        if route is None:
            places = [(peer, mirrors, *mirrors.span(role)) for peer, mirrors in sides.items()]
            spans = [
                Span(peer, mirrors, low, high, CPU.bound(high - low, widths))
                for peer, mirrors, low, high in places
                if low < high
            ]
            starts = np.array([span.mirrors.first + span.low for span in spans], np.int64)
            ends = np.array([span.mirrors.first + span.high for span in spans], np.int64)
            route = self._routes[key] = Route(spans, starts, ends)
        return route
