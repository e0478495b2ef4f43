"""Reduce and broadcast between GPUs: one kernel packs for all peers, one unpacks from all.

:class:`Exchange` is the entry: ``dgraph/engine/sync`` calls ``reduce`` and ``broadcast`` with the fields and roles of a
plan. Where every pair of ranks has peer access, kernels write into the peers' mailboxes and no byte passes through the
host. Otherwise the host moves the packed messages between the two kernels (``transports/``). Layout: ``messages.cuh``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np

from dgraph.backend import wire
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen import exchange_state as state
from dgraph.backend.cuda.exchange.mailbox_session import PATIENCE, patience, post_of
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.comm import Comm
from dgraph.errors import PeerLost
from dgraph.graph.local import Mirrors

FEW = 1 << 18
"""Most positions that a message may list as offsets without counting them first."""

ACTIVE = 1
"""Bytes of a vertex's active flag in a message."""


class Exchange:
    """Reduce and broadcast of one program's run, called by ``dgraph/engine/sync``.

    Args:
        plans: direction → the fields and roles of its exchanges.
        record: receives bytes and messages by peer, and seconds of packing, of unpacking and of waiting for peers.

    Attributes:
        sizes: peer → most bytes of a message.
        first_words: words of the exchange before the run, which the machine's start writes.
        broadcasts, pushed: exchange words of the broadcast and of the reduce in push rounds; 0: no such exchange.
        most: limit on active vertices and on edges of a small round, summed over ranks.
        pulls: the plan of pull rounds.
        packs: replacement for the launch of ``pack`` in the next exchange.
        blocks: grid size of the exchange's kernels; None: as many blocks as are resident at once.
    """

    def __init__(self, machine: GpuMachine, comm: Comm, plans: Mapping[str, Any], record: Any):
        links = machine.graph.links
        assert links is not None
        self.machine: GpuMachine = weakref.proxy(machine)  # a strong reference would keep arrays allocated
        self.comm = comm
        self.graph, self.device = machine.graph, machine.device
        self.peers = self.graph.peers
        fields = machine.traced.fields
        self._bit = {name: 1 << i for i, name in enumerate(fields)}
        widths = {name: machine.arrays.dtype(name).itemsize for name in fields}
        self.sizes = {peer: self._bound(peer, plans.values(), widths) for peer in self.peers}
        self.post = self.graph.post if machine.repeats else post_of(self.graph, comm, links, self.sizes)
        assert self.post is not None
        self.direct = self.post.boxes.direct
        self._role_sizes = self.post.role_sizes
        self.most = _times(machine.options.small, comm.size)
        self.runs_multi_gpu, self.runs_persistent_bfs = machine.runs_multi_gpu, machine.runs_persistent_bfs
        self.first_words = self._prepare_post(plans)
        self.pulls = plans["pull"]
        self.begin(record)

    def begin(self, record: Any) -> None:
        """Serve a run of the program with the mailboxes that the graph has."""
        self.record, self._timer = record, record("compute")
        self.packs: Callable[[int], None] | None = None
        self.first_words[state.POST_NUMBER] = self.post.number
        self.first_words[state.POST_STAMP] = self.post.stamp
        self.first_words[state.POST_PATIENCE] = int(1e9 * patience(self.comm))
        self._seen = self.first_words

    def _bound(self, peer: int, plans: Any, widths: Mapping[str, int]) -> int:
        """Return the most bytes of a message to or from a peer, over all phases and directions."""
        sides = (self.graph.local.own_mirrors.get(peer), self.graph.local.peer_mirrors.get(peer))
        total = max(side.count for side in sides if side is not None)
        phases = {fields for now in plans for fields in now.message_fields}
        return max(state.bound(total, [*(widths[k] for k in fields), ACTIVE], self._few) for fields in phases)

    @property
    def _few(self) -> int:
        """Positions that may be sent as offsets without being counted first."""
        return min(max(self.machine.options.small, 0), FEW)

    def _prepare_post(self, plans: Mapping[str, Any]) -> np.ndarray:
        """Return the words of the exchange that do not depend on the run, and set the kernels' members."""
        push = plans["push"]
        device, graph, post = self.device, self.graph, self.machine.arrays.post
        others = [*self.peers, *(r for r in range(self.comm.size) if r != self.comm.rank and r not in self.peers)]
        if self.post.table is None:
            self.post.table = device.put(np.array([self._pack_peer(peer) for peer in others], np.uint64).view(np.int64))
        offsets, slots = graph.mirror_slots
        words = np.zeros(post.size, np.int64)
        words[state.POST_OFFSET_LIMIT], words[state.POST_SMALL_LIMIT] = self._few, self.most
        self.pushed = words[state.POST_REDUCE] = self._reducing(push.reduce, push.reduce_role)
        marked = push.frontier and self.machine.dirties
        self.broadcasts = words[state.POST_BROADCAST] = self._exchange_word(
            push.broadcast, push.broadcast_role, marked=marked, joins=push.frontier
        )
        pull = plans["pull"]
        for word, role, reduces in (
            (0, push.reduce_role, True), (1, push.broadcast_role, False), (2, pull.reduce_role, True),
            (3, _either(pull.broadcast_role, pull.reduce_role), False),  # a reached mirror scans no in-edges
        ):  # fmt: skip
            words[state.POST_BFS + word] = self._exchange_word((), role, reduces=reduces)
        self.machine.kernels.set_members(
            peers=device.address(self.post.table), peer_count=len(self.peers), others=len(others),
            whole_rows=int(not self._role_sizes["row"]),
            next_peer=sum(peer < self.comm.rank for peer in self.peers) % max(len(self.peers), 1),
            mirror_slot_offsets=device.address(offsets), mirror_slots=device.address(slots),
        )  # fmt: skip
        return words

    def _pack_peer(self, peer: int) -> list[int]:
        """Return one ``Peer`` of ``messages.cuh`` as words."""
        boxes, local = self.post.boxes, self.graph.local
        shares = peer in self.peers
        near = boxes.chosen[peer] == "p2p"
        mail = [box(peer, parity) if shares else 0 for box in (boxes.outbox, boxes.inbox) for parity in (0, 1)]
        signals = [boxes.signal(peer), boxes.signals(peer)] if near else [0, 0]
        lids = self.device.address(self.graph.lids[peer]) if peer in local.peer_mirrors else 0
        first = local.own_mirrors[peer].first if peer in local.own_mirrors else 0
        sides = [_side(side, peer, self.peers) for side in (local.own_mirrors, local.peer_mirrors)]
        return [peer, *mail, *signals, lids, first, *sides[0], *sides[1]]

    @property
    def ends_only(self) -> bool:
        """True if on all ranks every edge is stored with the masters of its vertices: mirrors are only targets."""
        return self._role_sizes["row"] == 0 < self._role_sizes["column"]

    def reduce(self, fields: tuple[str, ...], role: str, dense: bool, failed: bool) -> None:
        """Send mirrors' proposals to their masters. ``dense``: of every mirror of the role."""
        self._exchange(self._reducing(fields, role, dense=dense, failed=failed))

    def broadcast(
        self, fields: tuple[str, ...], role: str, dense: bool, marked: bool, joins: bool, failed: bool
    ) -> None:
        """Send masters' values to their mirrors; collective.

        Args:
            fields: fields to send.
            role: role of the mirrors.
            dense: send every master of the role, not only changed ones.
            marked: send a flag with each value: whether the master is active.
            joins: add the mirrors that receive a value (if ``marked``: an active flag) to the frontier.
            failed: this rank has failed and sends nothing.
        """
        asked = self._exchange_word(fields, role, dense=dense, whole=dense, marked=marked, joins=joins, failed=failed)
        if self._exchange(asked) and joins:
            with self._timer:
                self.machine.end_join()

    def abort_peers(self) -> None:
        """Notify the peers of an error on this rank, so that their GPUs do not wait for this one."""
        self.post.broken = True
        with suppress(Exception):  # the GPU itself may have failed
            self.machine.launch(("round_kernels", "abort_peers", self.comm.rank))
            self.device.wait()

    @contextmanager
    def timed_outside(self) -> Iterator[None]:
        """Leave the timing of exchanges to the caller."""
        timer, self._timer = self._timer, nullcontext()
        try:
            yield
        finally:
            self._timer = timer

    def is_small(self) -> bool:
        """Return True if the next round may run in the persistent multi-GPU kernel, which applies the same rule.

        It has to be a push whose frontier is small over all ranks, and a pass over all live vertices must visit few.
        Connected
        components visit few vertices once ranks have exchanged which vertices are in the largest tree.
        """
        machine, words = self.machine, self.machine.words
        if machine.uses_union_find:
            return self.runs_multi_gpu and self.ends_only and self.most >= 0
        small = max(machine.total_active, machine.total_edges) <= self.most
        looks = int(words[control_block.TOTAL_LIVE]) if words[control_block.WHOLE] else 0
        return (
            self.runs_multi_gpu
            and small
            and looks <= state.WHOLE_MULTI_GPU * self.comm.size
            and machine.direction == "push"
        )

    def _reducing(self, fields: tuple[str, ...], role: str, dense: bool = False, failed: bool = False) -> int:
        monoids = [self.machine.traced.fields[name].reduce for name in fields]
        whole = dense or all(monoid.idempotent for monoid in monoids if monoid)
        return self._exchange_word(fields, role, reduces=True, dense=dense, whole=whole, failed=failed)

    def _exchange_word(
        self, fields: tuple[str, ...], role: str, *, reduces: bool = False, dense: bool = False, whole: bool = False,
        marked: bool = False, joins: bool = False, failed: bool = False,
    ) -> int:  # fmt: skip
        """Encode an exchange as the kernels' argument; 0 if no vertex of the role is shared."""
        if not self._role_sizes[role]:
            return 0
        asked = (
            state.ROLES[role] << state.ARG_ROLE | reduces << state.ARG_REDUCES | dense << state.ARG_DENSE
            | whole << state.ARG_WHOLE | marked << state.ARG_MARKED | joins << state.ARG_JOINS
            | failed << state.ARG_FAILED | self.direct << state.ARG_DIRECT
        )  # fmt: skip
        for name in fields:
            asked |= self._bit[name]
        return asked

    def _exchange(self, asked: int) -> bool:
        """Run one exchange; return False if there is none to run."""
        if not asked:
            return False
        self.post.number += 1
        if self.direct:
            with self._timer:  # ``account`` splits it into parts
                packs, self.packs = self.packs or partial(self._launch, "pack"), None
                packs(asked)
                self._launch("unpack", asked)
        else:
            self._staged(asked)
        return True

    def _staged(self, asked: int) -> None:
        """Run one exchange with the host between the kernels, which moves what kernels cannot write to peers."""
        boxes, record = self.post.boxes, self.record
        with record("pack"):
            self._launch("pack", asked)
            after = boxes.packed()
            arrays = self.machine.arrays
            words = self.device.read(arrays.read)[arrays.post_at : arrays.ring_at].copy()
        with record("exchange"):
            sizes = {p: int(words[_peer_word(i, state.BYTES)]) for i, p in enumerate(self.peers)}
            if boxes.links.any_p2p:
                self.comm.barrier()
            boxes.deliver(self.post.number & 1, {p: s for p, s in sizes.items() if boxes.chosen[p] != "p2p"}, after)
        with record("unpack"):
            self._launch("unpack", asked)
            boxes.wait()

    def _launch(self, kernel: str, asked: int) -> None:
        if kernel == "unpack":
            kernel = "combine_messages" if asked >> state.ARG_REDUCES & 1 else "take_messages"
        self.machine.kernels.launch("round_kernels", kernel, asked, fused=False)

    def check(self) -> None:
        """Read the number of exchanges from the control block, which the host has just copied.

        Raises:
            PeerLost: a GPU waited too long for a message, or another rank gave up. Where the wait was as long as the
                watchdog's limit, the watchdog ends the job instead.
        """
        words = self._words()
        if words[state.POST_STALLED]:
            self.post.broken = True
            peer, gave_up = divmod(int(words[state.POST_STALLED]) - 2, 2)
            waited, watchdog = patience(self.comm), self.comm.watchdog
            if not gave_up and waited == watchdog.seconds:
                watchdog.expire([peer], self.machine.round + 1)
            how = f"and rank {peer} gave up" if gave_up else f"from rank {peer} for more than {waited:g} s ({PATIENCE})"
            raise PeerLost(
                f"rank {self.comm.rank} waited for a message {how}; "
                "that rank has ended or hangs, its own message says more"
            )
        self.post.number, self.post.stamp = int(words[state.POST_NUMBER]), int(words[state.POST_STAMP])

    def _words(self) -> np.ndarray:
        return self.machine.all_words[self.machine.arrays.post_at : self.machine.arrays.ring_at]

    @property
    def summary(self) -> np.ndarray:
        """Words of the program's summary, as kernels of ``field_stats.cuh`` return them."""
        return self._words()[state.POST_SUMMARY : state.POST_PEERS]

    def account(self) -> None:
        """Add the seconds and bytes that kernels noted since the last call to the record."""
        words = self._words()
        new = (words - self._seen).tolist()
        self._seen = words.copy()
        if self.direct:
            if new[state.POST_BESIDE]:
                self.record.add("hidden", new[state.POST_BESIDE] * 1e-9)
            for name, word in (
                ("exchange", state.POST_WAITING), ("unpack", state.POST_UNPACKING), ("pack", state.POST_PACKING),
            ):  # fmt: skip
                self.record.add(name, new[word] * 1e-9)
                self.record.add("compute", new[word] * -1e-9)
        for i, peer in enumerate(self.peers):
            if new[_peer_word(i, state.SENT_MESSAGES)]:
                self.record.message(peer, new[_peer_word(i, state.SENT)], new[_peer_word(i, state.SENT_MESSAGES)])


def _either(a: str, b: str) -> str:
    """Return the role that covers the mirrors of both."""
    return a if b in ("none", a) else b if a == "none" else "any"


def _times(small: int, ranks: int) -> int:
    """Scale a limit per rank to one over all ranks."""
    return min(max(small, -1), 2**40) * ranks


def _peer_word(i: int, word: int) -> int:
    return state.POST_PEERS + state.POST_PEER * i + word


def _side(sides: Mapping[int, Mirrors], peer: int, peers: list[int]) -> list[int]:
    """Return one ``Side`` of ``messages.cuh``: count, columns, rows, first chunk."""
    if peer not in sides:
        return [0, 0, 0, 0]
    before = (sides[other].count for other in peers[: peers.index(peer)] if other in sides)
    chunk = sum((count + (1 << wire.GPU.chunk_bits) - 1) >> wire.GPU.chunk_bits for count in before)
    side = sides[peer]
    return [side.count, side.span("column")[1], side.span("row")[0], chunk]
