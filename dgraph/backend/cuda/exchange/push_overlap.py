"""A broad round that pushes, in two parts: what mirrors were proposed to travels while edges into masters are walked.

Of every row the edges into mirrors stand first (``boundary_rows.py``): the boundary. Behind the boundary edges of a
frontier ``pack`` and ``unpack`` run on a stream of their own, beside the interior edges, by blocks for which those
leave room.
Mirrors are proposed to in the first part alone, so messages are those of a round that is not cut, and each rank decides
for itself. Masters hear from peers and from the interior at once: so only proposals that may come in any order are cut.
``rejoin`` notes how much of the exchange was hidden.
"""

from __future__ import annotations

from dgraph.backend.cuda.codegen import control_block as at
from dgraph.backend.cuda.exchange.exchange import Exchange, Exchanges
from dgraph.backend.cuda.round_kernels.auto_schedule import schedule
from dgraph.backend.cuda.round_kernels.machine import Machine

WALKER = "warp_search"
"""The schedule that walks parts; a round that another one would walk stays whole."""

BROAD = 1 << 22
"""Edges of a rank's frontier from which on it cuts a round: below, more launches cost what is hidden."""


class PushOverlap:
    """Of one program's run, by this rank alone: peers find the messages of a round that is not cut.

    Attributes:
        able: whether rounds of this program may be cut at all.
    """

    def __init__(self, exchange: Exchange, machine: Machine):
        self.exchange, self.machine = exchange, machine
        self.able = machine.arrays.parted
        if self.able:
            raw = machine.device.raw
            self._stream, self._walked, self._sent = raw.stream(urgent=True), raw.event(), raw.event()

    def cuts(self) -> bool:
        """Whether the next round is walked in two parts."""
        machine = self.machine
        broad = self.able and machine.direction == "push" and machine.words[at.LOCAL_EDGES] >= BROAD
        return bool(broad and schedule(machine.options, machine.words, machine.graph.wide) == WALKER)

    def walk(self, sync: Exchanges) -> None:
        """The next round's edges, and the proposals to mirrors on all ranks."""
        machine, device, kernels = self.machine, self.machine.device, self.machine.kernels
        raw, module, few = device.raw, f"{WALKER}:push", device.blocks
        grid = kernels.grid("phases", "part_sums", fused=False)
        for kernel in ("part_degrees", "part_sums"):
            kernels.launch("phases", kernel, fused=False, blocks=grid)
        kernels.launch(module, "edges", -at.OF_MIRRORS, fused=False)
        raw.record(self._walked)
        raw.hold(self._walked, self._stream)
        self.exchange.blocks = few
        with device.on(self._stream):
            sync.reduce()
        self.exchange.blocks = None
        raw.record(self._sent, self._stream)
        kernels.launch(module, "edges", -at.OF_MASTERS, fused=False, blocks=self._blocks_for_interior(few))
        machine.launch(("phases", "count_visited"))
        raw.hold(self._sent)
        machine.launch(("phases", "rejoin"))

    def _blocks_for_interior(self, few: int) -> int:
        """Blocks of the interior that leave room for one of the exchange on every multiprocessor: so many as are
        resident of either kernel fill it, whatever they are short of."""
        kernels = self.machine.kernels
        edges = kernels.resident(f"{WALKER}:push", "edges")
        exchange = min(kernels.resident("phases", kernel) for kernel in ("pack", "unpack"))
        return max(edges - -(-edges // exchange), 1) * few
