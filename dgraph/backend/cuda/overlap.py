"""A broad round that pushes, in pieces: what one piece proposed to mirrors travels while the next one is walked.

The frontier's edges are cut into ``PIECES`` runs. Behind each, ``piece`` notes how many mirrors are listed; on a stream
of their own ``pack`` sends those that the piece added, and ``unpack`` combines what peers sent of theirs. A mirror that
improves in two pieces is sent twice: so only proposals that may be combined twice are cut. ``rejoin`` notes how much of
that was hidden behind edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dgraph.backend.cuda import layout as at
from dgraph.backend.cuda import messages

if TYPE_CHECKING:
    from dgraph.backend.cuda.exchange import Exchange
    from dgraph.backend.cuda.machine import Machine

PIECES = messages.MOST_PIECES
WALKER = "warp_search"
"""The schedule that walks pieces: alike on every rank, since all of them exchange as often."""

BROAD = 1 << 22
"""Edges of each rank, on average, from which on a round is cut."""


class Overlap:
    """Of one program's run. Collective.

    Attributes:
        able: whether rounds of this program may be cut at all, the same on every rank.
    """

    def __init__(self, exchange: Exchange, machine: Machine):
        self.exchange, self.machine, t = exchange, machine, machine.traced
        twice = all(t.fields[name].reduce.idempotent for name in t.proposes)  # type: ignore[union-attr]
        plain = machine.options.schedule == "auto" and not (machine.options.sweeps or machine.graph.wide or t.all)
        able = machine.options.overlap and twice and plain and machine.walks_by_schedule
        self.able = exchange.comm.largest(not able) == 0
        if self.able:
            raw = machine.device.raw
            self._stream, self._event = raw.stream(urgent=True), raw.event()

    def cuts(self) -> bool:
        """Whether the next round is walked in pieces."""
        machine = self.machine
        broad = machine.total_edges >= BROAD * self.exchange.comm.size
        return self.able and broad and machine.direction == "push" and bool(self.exchange.pushed)

    def walk(self) -> None:
        """The next round's edges, and the proposals to mirrors on all ranks."""
        machine, device, kernels = self.machine, self.machine.device, self.machine.kernels
        module, few = f"{WALKER}:push", device.blocks
        blocks = max(kernels.grid(module, fused=False) - few, few)  # room for the exchange on every multiprocessor
        for k in range(PIECES):
            piece = k << at.PIECE_BIT | PIECES << at.PIECES_BIT
            kernels.launch(module, "edges", piece, fused=False, blocks=blocks)
            machine.launch(("phases", "piece", k))
            device.raw.record(self._event)
            device.raw.hold(self._event, self._stream)
            with device.on(self._stream):
                for kernel in ("pack", "unpack"):
                    asked = self.exchange.pushed | k + 1 << messages.ASKED_PIECE
                    kernels.launch("phases", kernel, asked, fused=False, blocks=few)
        device.raw.record(self._event, self._stream)
        device.raw.hold(self._event)
        machine.launch(("phases", "rejoin"))
