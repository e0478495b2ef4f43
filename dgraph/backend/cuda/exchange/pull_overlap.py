"""Overlap of a pull's exchange with the pull of masters' rows.

A pull over all vertices first computes the rows of mirrors. Mirrors lie behind masters, grouped by owner in the order
of the owner's positions. A dense message of one field is therefore a slice of the field's array. A stream of its own
copies the slices into the peers' mailboxes while rows of masters are pulled. ``announce`` (``dma_send.cuh``) then posts
the messages in place of ``pack``.

The host chooses the mailbox by the exchange's number. It may have started copies for rounds behind the last one; there
``announce`` does nothing and no rank reads what they wrote. They overwrite no unread message either: a rank ends a
round only after all others have read that round's messages. The rounds' stream waits for the copies.
"""

from __future__ import annotations

from functools import cached_property

from dgraph.backend import wire
from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.exchange.exchange import Exchange
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.interface import Exchanges

MUCH = 1 << 22
"""Bytes that leave a rank in a round from which on they are copied; below, extra launches cost more than is hidden."""

PROCESSORS_A_BLOCK = 8
"""Multiprocessors for each block of ``announce``, which runs beside the pull of masters' rows."""


class PullOverlap:
    """Overlapped pulls of one program's run. Not collective: peers find the messages that ``pack`` would have written.

    Attributes:
        able: True if messages of this rank's pulls are copied.
    """

    def __init__(self, exchange: Exchange, machine: GpuMachine):
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
        """Return the bytes that leave this rank in a round."""
        spans = [mirrors.span(self._role) for mirrors in self.machine.graph.local.own_mirrors.values()]
        return sum(high - low for low, high in spans) * int(self.machine.arrays.fields[field].itemsize)

    @cached_property
    def _pieces(self) -> tuple[list[tuple[int, int, int]], ...]:
        """Copies by parity of the exchange's number: (destination, source, bytes).

        The next higher rank comes first, so that no two ranks write to the same one at a time.
        """
        comm, boxes, mine = self.exchange.comm, self.exchange.post.boxes, self.machine.graph.local.own_mirrors
        column = self.machine.arrays.fields[self.exchange.pulls.reduce[0]]
        start, width = self.machine.device.address(column), int(column.itemsize)
        pieces: tuple[list[tuple[int, int, int]], ...] = [], []
        for peer in sorted(mine, key=lambda peer: (peer - comm.rank) % comm.size):
            low, high = mine[peer].span(self._role)
            for parity in (0, 1) if low < high else ():
                to = boxes.outbox(peer, parity) + wire.GPU.header
                pieces[parity].append((to, start + (mine[peer].first + low) * width, (high - low) * width))
        return pieces

    def cuts(self) -> bool:
        """Return True if the next round is pulled in two parts."""
        return self.able and self.machine.direction == "pull"

    def pull(self, sync: Exchanges) -> None:
        """Process the next round's edges and reduce mirrors' proposals; collective."""
        self._part(control.OF_MIRRORS)
        self.machine.device.raw.record(self._pulled)
        self.exchange.packs = self._send
        sync.reduce()

    def _part(self, of: int, blocks: int | None = None) -> None:
        """Pull the rows of mirrors or of masters (``of``)."""
        kernels = self.machine.kernels
        *before, pull = kernels.pull_launches(of)
        self.machine.launch(*before)
        kernels.launch(*pull, fused=False, blocks=blocks)
        self.machine.launch(("round_kernels", "join_tiles_part" if kernels.arrays.tiled else "join_part", of))

    def _send(self, asked: int) -> None:
        """Copy the messages of the current exchange to the peers, and pull masters' rows at the same time."""
        device, kernels, raw = self.machine.device, self.machine.kernels, self.machine.device.raw
        raw.hold(self._pulled, self._stream)
        for to, source, size in self._pieces[self.exchange.post.number & 1]:
            raw.copy(to, source, size, self._stream)
        with device.on(self._stream):
            kernels.launch("round_kernels", "announce", asked, fused=False, blocks=self._few)
        raw.record(self._sent, self._stream)
        self._part(
            control.OF_MASTERS, max(kernels.grid("round_kernels", kernels.pull_kernel, fused=False) - self._few, 1)
        )
        raw.hold(self._sent)
