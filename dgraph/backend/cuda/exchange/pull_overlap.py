"""A pull over all vertices, in two parts: what mirrors were proposed to travels while rows of masters are pulled.

Mirrors lie behind masters, and those of a peer in the order of its positions: so a dense message of one field is a
piece of the field's array. Behind the rows of mirrors a stream of its own copies it into the peers' memory, and
``announce`` says so, in place of ``pack``. The host knows the mailbox by the exchange's number. It may have started
copies that run behind the last round, where ``announce`` does nothing: nobody reads what they write. A rank concludes a
round when it has heard that all others have read the messages of that round, so they overwrite nothing that is unread;
and the rounds' stream waits for them, so what is sent there next comes later.
"""

from __future__ import annotations

from functools import cached_property

from dgraph.backend.cuda.codegen import control_block as at
from dgraph.backend.cuda.codegen.message_layout import HEADER
from dgraph.backend.cuda.exchange.exchange import Exchange, Exchanges
from dgraph.backend.cuda.round_kernels.machine import Machine
from dgraph.backend.cuda.schedules import SCHEDULES

MUCH = 1 << 22
"""Bytes that leave a rank in a round from which on they are copied: below, more launches cost what is hidden."""

PROCESSORS_A_BLOCK = 8
"""``announce`` gets a block for so many multiprocessors, where rows of masters leave it room."""


class PullOverlap:
    """Of one program's run, by this rank alone: peers find the messages that ``pack`` would have written.

    Attributes:
        able: whether messages of this rank's pulls are copied.
    """

    def __init__(self, exchange: Exchange, machine: Machine):
        self.exchange, self.machine, t = exchange, machine, machine.traced
        fields, self._role = exchange.pulls.reduce, exchange.pulls.reduce_role
        plain = t.all and machine.pulls and machine.options.schedule not in SCHEDULES
        alone = len(fields) == 1 and fields[0] not in t.reads_u  # rows of masters do not read what ``announce`` resets
        self.able = plain and alone and self._bytes(fields[0]) >= MUCH
        if self.able:
            raw = machine.device.raw
            self._stream, self._pulled, self._sent = raw.stream(urgent=True), raw.event(), raw.event()
            self._few = max(machine.device.blocks // PROCESSORS_A_BLOCK, 1)

    def _bytes(self, field: str) -> int:
        """Of the values that leave this rank in a round."""
        spans = [mirrors.span(self._role) for mirrors in self.machine.graph.local.mine.values()]
        return sum(high - low for low, high in spans) * int(self.machine.arrays.fields[field].itemsize)

    @cached_property
    def _pieces(self) -> tuple[list[tuple[int, int, int]], ...]:
        """By parity of the exchange: (to, from, bytes). The next higher rank comes first, so that no two ranks write to
        the same one at a time."""
        comm, boxes, mine = self.exchange.comm, self.exchange.post.boxes, self.machine.graph.local.mine
        column = self.machine.arrays.fields[self.exchange.pulls.reduce[0]]
        start, width = self.machine.device.address(column), int(column.itemsize)
        pieces: tuple[list[tuple[int, int, int]], ...] = [], []
        for peer in sorted(mine, key=lambda peer: (peer - comm.rank) % comm.size):
            low, high = mine[peer].span(self._role)
            for parity in (0, 1) if low < high else ():
                to = boxes.outbox(peer, parity) + HEADER
                pieces[parity].append((to, start + (mine[peer].first + low) * width, (high - low) * width))
        return pieces

    def cuts(self) -> bool:
        """Whether the next round is pulled in two parts."""
        return self.able and self.machine.direction == "pull"

    def pull(self, sync: Exchanges) -> None:
        """The next round's edges, and its proposals to mirrors on all ranks."""
        self._part(at.OF_MIRRORS)
        self.machine.device.raw.record(self._pulled)
        self.exchange.packs = self._send
        sync.reduce()

    def _part(self, of: int, blocks: int | None = None) -> None:
        kernels = self.machine.kernels
        *before, pull = kernels.pulling(of)
        self.machine.launch(*before)
        kernels.launch(*pull, fused=False, blocks=blocks)
        self.machine.launch(("phases", "join_part", of))

    def _send(self, asked: int) -> None:
        """The messages of the exchange that has just been numbered, and rows of masters beside them."""
        device, kernels, raw = self.machine.device, self.machine.kernels, self.machine.device.raw
        raw.hold(self._pulled, self._stream)
        for to, source, size in self._pieces[self.exchange.post.number & 1]:
            raw.copy(to, source, size, self._stream)
        with device.on(self._stream):
            kernels.launch("phases", "announce", asked, fused=False, blocks=self._few)
        raw.record(self._sent, self._stream)
        self._part(at.OF_MASTERS, max(kernels.grid("phases", kernels.puller, fused=False) - self._few, 1))
        raw.hold(self._sent)
