"""Synchronisation of one program: the partition fixes the peers, the sync plan fixes the fields and roles.

:class:`Sync` decides what an exchange sends; the exchange moves it: that of the machine between GPUs, else
:class:`~dgraph.engine.sync.host_exchange.HostExchange`.
"""

from __future__ import annotations

import numpy as np

from dgraph.comm import Comm
from dgraph.engine.sync.host_exchange import HostExchange
from dgraph.engine.sync.sync_plan import Refresh, SyncPlan, plan
from dgraph.graph.local import LocalGraph

FRONTIER = ("the frontier",)
"""Name that the watchdog prints for a broadcast without fields."""

POISON = {"f": float("nan"), "i": -77, "u": 0x55}
"""Garbage for fields that a direction must not read, by kind of dtype."""


class Sync:
    """Synchronisation of one program's run. ``reduce`` and ``broadcast`` are collective.

    Args:
        machine: the backend's machine, which holds the fields; a :class:`SharedMachine` if ranks share vertices.
        local: this rank's part of the graph.
        comm: ranks of the run.
        mode: "auto"; "full": no elision; "poison": like auto, but fields that the plan says are not read hold garbage.
        record: times ``pack``, ``exchange``, ``unpack``; counts bytes and messages.

    Attributes:
        exchanged: names of the fields that messages hold.
        opened: True if a bucket was opened since the last broadcast, and mirrors of its vertices may hold old values:
            the next broadcast sends all.
    """

    def __init__(self, machine, local: LocalGraph, comm: Comm, mode: str, record):
        self.machine, self.local, self.comm = machine, local, comm
        self.full, self.poisoned, self.opened = mode == "full", mode == "poison", False
        traced = machine.traced
        kind = f"sync, directed {local.directed}, full {self.full}"
        if kind not in traced.rendered:
            plans = {d: plan(traced, d, local.directed, self.full) for d in ("push", "pull")}
            message_fields = {name for now in plans.values() for fields in now.message_fields for name in fields}
            traced.rendered[kind] = plans, [name for name in traced.fields if name in message_fields]
        self.plans, self.exchanged = traced.rendered[kind]
        self.device_exchange = machine.exchange(comm, self.plans, record)
        self.exchange = self.device_exchange or HostExchange(machine, local, comm, self.plans, record)
        self._roles: tuple[str, ...] = ()

    def account(self) -> None:
        """Add the exchange's seconds and bytes since the last call to the record."""
        self.exchange.account()

    def reduce(self, failed: bool = False) -> None:
        """Send proposals of mirrors to their masters and combine those received.

        Args:
            failed: this rank has met an error: it sends empty messages and ignores what it receives.
        """
        now = self.plans[self.machine.direction]
        self.comm.watchdog.at("reduce", now.reduce)
        self.exchange.reduce(now.reduce, now.reduce_role, self.machine.traced.all or self.full, failed)

    def broadcast(self, failed: bool = False) -> None:
        """Send the fields that edges read, and the frontier, from masters to mirrors.

        When a change of direction makes other mirrors participate, stale mirrors are refreshed once.

        Args:
            failed: as for :meth:`reduce`.
        """
        now = self.plans[self.machine.direction]
        roles = (*(refresh.role for refresh in now.refresh), now.reduce_role)
        if roles != self._roles:
            fresh = self.machine.mirrors_current and not (self._roles or self.full or self.poisoned)
            self._roles = roles
            if self.poisoned:
                self._poison(now)
            for refresh in () if fresh else now.refresh:
                self._send_refresh(refresh, failed, everything=not self._refreshed_later(refresh, now))
        elif now.frontier or now.broadcast:
            everything = self.full or self.opened
            self._send_refresh(Refresh(now.broadcast, now.broadcast_role, now.frontier), failed, everything)
        self.opened = False

    def _refreshed_later(self, refresh: Refresh, now: SyncPlan) -> bool:
        """Return True if sending active masters suffices, because the others are sent when they become active.

        If half of the masters or more are active, a dense broadcast of all is cheaper.
        """
        machine, later = self.machine, refresh.joins and set(refresh.fields) <= set(now.broadcast)
        return later and 2 * machine.total_active < self.local.n and not (machine.dirties or self.full)

    def _send_refresh(self, refresh: Refresh, failed: bool, everything: bool) -> None:
        """Send the fields of dirty masters, or of all (``everything``), to the mirrors of a role."""
        fields, role, joins = refresh
        self.comm.watchdog.at("broadcast", fields or FRONTIER)
        dense = everything or self.machine.traced.all
        marked = joins and (everything or self.machine.dirties)
        self.exchange.broadcast(fields, role, dense, marked, joins, failed)

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
