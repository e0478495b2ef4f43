"""The exchange of a GPU machine: one kernel packs for all peers, one unpacks from all, and nothing lies on the host."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen import message_layout as at
from dgraph.backend.cuda.exchange.mailbox_session import PATIENCE, patience, post_of
from dgraph.backend.cuda.round_kernels.machine import Machine
from dgraph.backend.cuda.transports import Links
from dgraph.comm import Comm
from dgraph.errors import PeerLost
from dgraph.graph.local import Mirrors

FEW = 1 << 18
"""Positions that a message may list as they come."""

ACTIVE = 1
"""Bytes by which a message says whether a vertex is active."""


class Exchanges(Protocol):
    """The reduce and the broadcast of the next round, with the fields and peers that the plan gives them."""

    def reduce(self) -> None: ...

    def broadcast(self) -> None: ...


class Rounds(Protocol):
    """Rounds that GPUs run together without the host (``multi_gpu``)."""

    def run(self, limit: int, sync: Exchanges) -> None: ...


class Exchange:
    """Reduce and broadcast of one program's run, for ``dgraph/engine/sync``, which says what and between whom.

    Args:
        plans: direction → the fields and roles of its exchanges.
        record: gets bytes and messages by peer, and seconds: of packing and unpacking, and of waiting for peers.

    Attributes:
        told, pushed: what mirrors are told, and proposals, of rounds that push, as kernels are asked; 0: nothing.
        most: the most vertices and edges of a small round.
        pulls: the plan of rounds that pull.
        packs: what takes the place of ``pack`` in the next exchange.
        blocks: of the exchange's kernels; None: as many as run at once.
    """

    def __init__(self, machine: Machine, comm: Comm, links: Links, plans: Mapping[str, Any], record: Any):
        self.machine: Machine = weakref.proxy(machine)  # which holds this: a cycle would keep arrays until a collection
        self.comm, self.record = comm, record
        self.graph, self.device = machine.graph, machine.device
        self.peers = self.graph.peers
        fields = machine.traced.fields
        self._bit = {name: 1 << i for i, name in enumerate(fields)}
        widths = {name: column.dtype.itemsize for name, column in machine.state.items()}
        sizes = {peer: self._bound(peer, plans.values(), widths) for peer in self.peers}
        self.post = post_of(self.graph, comm, links, sizes)
        self.direct = self.post.boxes.direct
        self._role_sizes = self.post.role_sizes
        self.most = _times(machine.options.small, comm.size)
        self.runs_across, self.reaches = machine.runs_across, machine.reaches
        self._timer: AbstractContextManager = record("compute")
        self._write_post(plans)
        self.pulls = plans["pull"]
        self.packs: Callable[[int], None] | None = None
        self.blocks: int | None = None
        self.rounds: Rounds | None = None

    def _bound(self, peer: int, plans: Any, widths: Mapping[str, int]) -> int:
        """The most bytes of a message to or from a peer, whatever phase and direction it belongs to."""
        sides = (self.graph.local.mine.get(peer), self.graph.local.theirs.get(peer))
        total = max(side.count for side in sides if side is not None)
        phases = {fields for now in plans for fields in now.message_fields}
        return max(at.bound(total, [*(widths[k] for k in fields), ACTIVE], self._few) for fields in phases)

    @property
    def _few(self) -> int:
        """Positions that may be sent as offsets without being counted first."""
        return min(max(self.machine.options.small, 0), FEW)

    def _write_post(self, plans: Mapping[str, Any]) -> None:
        push = plans["push"]
        device, graph, post = self.device, self.graph, self.machine.arrays.post
        others = [*self.peers, *(r for r in range(self.comm.size) if r != self.comm.rank and r not in self.peers)]
        if self.post.table is None:
            self.post.table = device.put(np.array([self._row(peer) for peer in others], np.uint64).view(np.int64))
        offsets, slots = graph.mirror_slots
        words = np.zeros(post.size, np.int64)
        words[at.POST_NUMBER], words[at.POST_STAMP] = self.post.number, self.post.stamp
        words[at.POST_PATIENCE] = int(1e9 * patience(self.comm))
        words[at.POST_FEW], words[at.POST_MOST] = self._few, self.most
        self.pushed = words[at.POST_REDUCE] = self._reducing(push.reduce, push.reduce_role)
        marked = push.frontier and self.machine.dirties
        set_members = self._exchange_word(push.broadcast, push.broadcast_role, marked=marked, joins=push.frontier)
        self.broadcasts = words[at.POST_TELL] = set_members
        pull = plans["pull"]
        for word, role, reduces in (
            (0, push.reduce_role, True), (1, push.broadcast_role, False), (2, pull.reduce_role, True),
            (3, _either(pull.broadcast_role, pull.reduce_role), False),  # a mirror that is reached looks for no edge
        ):  # fmt: skip
            words[at.POST_REACH + word] = self._exchange_word((), role, reduces=reduces)
        device.write(post, words)
        self._seen = words
        self.machine.kernels.set_members(
            peers=device.address(self.post.table), peer_count=len(self.peers), others=len(others),
            whole_rows=int(not self._role_sizes["row"]),
            next_peer=sum(peer < self.comm.rank for peer in self.peers) % max(len(self.peers), 1),
            told_offsets=device.address(offsets), told=device.address(slots),
        )  # fmt: skip

    def _row(self, peer: int) -> list[int]:
        """One ``Peer`` of ``messages.cuh``."""
        boxes, local = self.post.boxes, self.graph.local
        shares = peer in self.peers
        near = boxes.chosen[peer] == "p2p"
        mail = [box(peer, parity) if shares else 0 for box in (boxes.outbox, boxes.inbox) for parity in (0, 1)]
        signals = [boxes.signal(peer), boxes.signals(peer)] if near else [0, 0]
        lids = self.device.address(self.graph.lids[peer]) if peer in local.theirs else 0
        first = local.mine[peer].first if peer in local.mine else 0
        sides = [_side(side, peer, self.peers) for side in (local.mine, local.theirs)]
        return [peer, *mail, *signals, lids, first, *sides[0], *sides[1]]

    @property
    def ends_only(self) -> bool:
        """Whether all edges of every vertex are with its master, on all ranks: mirrors are ends of edges only."""
        return self._role_sizes["row"] == 0 < self._role_sizes["column"]

    def reduce(self, fields: tuple[str, ...], role: str, dense: bool, failed: bool) -> None:
        """Mirrors' proposals to their masters. ``dense``: of every mirror of the role."""
        self._exchange(self._reducing(fields, role, dense=dense, failed=failed))

    def broadcast(
        self, fields: tuple[str, ...], role: str, dense: bool, marked: bool, joins: bool, failed: bool
    ) -> None:
        """Masters' values to their mirrors. ``marked``: and whether they are active; ``joins``: mirrors that hear, or
        are marked, join the frontier."""
        asked = self._exchange_word(fields, role, dense=dense, whole=dense, marked=marked, joins=joins, failed=failed)
        if self._exchange(asked) and joins:
            with self._timer:
                self.machine.settle_joined()

    def across(self, limit: int, sync: Exchanges) -> bool:
        """Rounds without the host, up to the agreement on the last one; whether there were any, the same on every rank.
        The caller times them."""
        if self.rounds is not None:
            timer, self._timer = self._timer, nullcontext()
            try:
                self.rounds.run(limit, sync)
            finally:
                self._timer = timer
        elif self.is_small():
            self.machine.across(limit)
        else:
            return False
        self.check()
        return True

    def is_small(self) -> bool:
        """Whether the next round may run in the kernel of many: a push that is small on all ranks together, and a pass
        over few vertices if it is one over all that live. The kernel goes on by the same rule. By trees few are looked
        at, if ranks have said who is inside."""
        machine, words = self.machine, self.machine.words
        if machine.by_trees:
            return self.runs_across and self.ends_only and self.most >= 0
        small = max(machine.total_active, machine.total_edges) <= self.most
        looks = int(words[control_block.TOTAL_LIVE]) if words[control_block.WHOLE] else 0
        return self.runs_across and small and looks <= at.WHOLE_ACROSS * self.comm.size and machine.direction == "push"

    def _reducing(self, fields: tuple[str, ...], role: str, dense: bool = False, failed: bool = False) -> int:
        monoids = [self.machine.traced.fields[name].reduce for name in fields]
        whole = dense or all(monoid.idempotent for monoid in monoids if monoid)
        return self._exchange_word(fields, role, reduces=True, dense=dense, whole=whole, failed=failed)

    def _exchange_word(
        self, fields: tuple[str, ...], role: str, *, reduces: bool = False, dense: bool = False, whole: bool = False,
        marked: bool = False, joins: bool = False, failed: bool = False,
    ) -> int:  # fmt: skip
        """What kernels are told of an exchange; 0 if there is nobody to talk to."""
        if not self._role_sizes[role]:
            return 0
        flags = (
            (at.ASKED_REDUCES, reduces), (at.ASKED_DENSE, dense), (at.ASKED_WHOLE, whole), (at.ASKED_MARKED, marked),
            (at.ASKED_JOINS, joins), (at.ASKED_FAILED, failed), (at.ASKED_DIRECT, self.direct),
        )  # fmt: skip
        asked = sum(self._bit[name] for name in fields) | at.ROLES[role] << at.ASKED_ROLE
        return asked | sum(1 << bit for bit, wanted in flags if wanted)

    def _exchange(self, asked: int) -> bool:
        """Whether there was anybody to talk to."""
        if not asked:
            return False
        self.post.number += 1
        if self.direct:
            with self._timer:  # ``account`` gives each part its own
                packs, self.packs = self.packs or partial(self._launch, "pack"), None
                packs(asked)
                self._launch("unpack", asked)
        else:
            self._staged(asked)
        return True

    def _staged(self, asked: int) -> None:
        """With the host between the kernels, which carries what no kernel can."""
        boxes, record = self.post.boxes, self.record
        with record("pack"):
            self._launch("pack", asked)
            after = boxes.packed()
            words = self.device.read(self.machine.arrays.board)[self.machine.arrays.post_at :].copy()
        with record("exchange"):
            sizes = {p: int(words[_peer_word(i, at.BYTES)]) for i, p in enumerate(self.peers)}
            if boxes.links.any_p2p:
                self.comm.barrier()
            boxes.deliver(self.post.number & 1, {p: s for p, s in sizes.items() if boxes.chosen[p] != "p2p"}, after)
        with record("unpack"):
            self._launch("unpack", asked)
            boxes.wait()

    def _launch(self, kernel: str, asked: int) -> None:
        self.machine.kernels.launch("phases", kernel, asked, fused=False, blocks=self.blocks)

    def check(self) -> None:
        """Take in how many exchanges there were; the host has just read it.

        Raises:
            PeerLost: a GPU has waited in vain, or another rank gave up. Where it has waited for as long as the watchdog
                lets it, the job ends instead.
        """
        words = self._words()
        if words[at.POST_LATE]:
            self.post.broken = True
            peer, told = divmod(int(words[at.POST_LATE]) - 2, 2)
            waited, watchdog = patience(self.comm), self.comm.watchdog
            if not told and waited == watchdog.seconds:
                watchdog.bite([peer], self.machine.round + 1)
            raise PeerLost(
                f"rank {self.comm.rank} waited for a message from rank {peer}"
                + (", which gave up" if told else f" for more than {waited:g} s ({PATIENCE})")
                + "; that rank has ended or hangs, its own message says more"
            )
        self.post.number, self.post.stamp = int(words[at.POST_NUMBER]), int(words[at.POST_STAMP])

    def _words(self) -> np.ndarray:
        return self.machine.all_words[self.machine.arrays.post_at :]

    def account(self) -> None:
        """Seconds and bytes that kernels wrote down since the last call go into the record."""
        words = self._words()
        new = (words - self._seen).tolist()
        self._seen = words.copy()
        if self.direct:
            hidden = new[at.POST_HIDDEN]
            if hidden + new[at.POST_BESIDE]:
                self.record.add("hidden", (hidden + new[at.POST_BESIDE]) * 1e-9)
            for name, word in (
                ("exchange", at.POST_WAITING), ("unpack", at.POST_UNPACKING), ("pack", at.POST_PACKING)
            ):  # fmt: skip
                bare = max(new[word] - hidden, 0)
                hidden -= new[word] - bare
                self.record.add(name, bare * 1e-9)
                self.record.add("compute", bare * -1e-9)
        for i, peer in enumerate(self.peers):
            if new[_peer_word(i, at.SENT_MESSAGES)]:
                self.record.message(peer, new[_peer_word(i, at.SENT)], new[_peer_word(i, at.SENT_MESSAGES)])


def _either(a: str, b: str) -> str:
    """The role of mirrors that have one of two."""
    return a if b in ("none", a) else b if a == "none" else "any"


def _times(small: int, ranks: int) -> int:
    """A rank's limit as one of all ranks."""
    return min(max(small, -1), 2**40) * ranks


def _peer_word(i: int, word: int) -> int:
    return at.POST_PEERS + at.POST_PEER * i + word


def _side(sides: Mapping[int, Mirrors], peer: int, peers: list[int]) -> list[int]:
    """One ``Side``: count, columns, rows, and the first chunk."""
    if peer not in sides:
        return [0, 0, 0, 0]
    before = (sides[other].count for other in peers[: peers.index(peer)] if other in sides)
    chunk = sum((count + (1 << at.CHUNK_BITS) - 1) >> at.CHUNK_BITS for count in before)
    return [sides[peer].count, sides[peer].columns, sides[peer].rows, chunk]
