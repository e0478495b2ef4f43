"""Overlap of a push's exchange with its interior edges.

In every row, edges into mirrors stand first (``boundary_rows.py``): the boundary. Edges into masters are the interior.
A large push processes the boundary edges of the frontier first. ``pack`` and ``unpack`` then run on a stream of their
own beside the interior edges, which leave blocks free for them. All proposals to mirrors arise in the first part, so
messages are those of a round that is not split, and each rank decides for itself. Masters receive proposals from peers
and from interior edges at once; only reductions that may be applied in any order are split. ``count_hidden`` notes how
much of the exchange was hidden.
"""

from __future__ import annotations

from dgraph.backend.cuda.codegen import control_block as at
from dgraph.backend.cuda.exchange.exchange import Exchange, Exchanges
from dgraph.backend.cuda.round_kernels.auto_schedule import schedule
from dgraph.backend.cuda.round_kernels.machine import Machine

WALKER = "warp_search"
"""The schedule whose rounds can be split; a round of another schedule is not."""

BROAD = 1 << 22
"""Edges of a rank's frontier from which on a round is split; below, extra launches cost more than is hidden."""


class PushOverlap:
    """Overlapped pushes of one program's run. Not collective: peers find the messages of a round that is not split.

    Attributes:
        able: True if rounds of this program may be split.
    """

    def __init__(self, exchange: Exchange, machine: Machine):
        self.exchange, self.machine = exchange, machine
        self.able = machine.arrays.parted
        if self.able:
            raw = machine.device.raw
            self._stream, self._walked, self._sent = raw.stream(urgent=True), raw.event(), raw.event()

    def cuts(self) -> bool:
        """Return True if the next round is pushed in two parts."""
        machine = self.machine
        broad = self.able and machine.direction == "push" and machine.words[at.LOCAL_EDGES] >= BROAD
        return bool(broad and schedule(machine.options, machine.words, machine.graph.wide) == WALKER)

    def walk(self, sync: Exchanges) -> None:
        """Process the next round's edges and reduce mirrors' proposals; collective."""
        machine, device, kernels = self.machine, self.machine.device, self.machine.kernels
        raw, module, few = device.raw, f"{WALKER}:push", device.blocks
        grid = kernels.grid("round_kernels", "part_sums", fused=False)
        for kernel in ("part_degrees", "part_sums"):
            kernels.launch("round_kernels", kernel, fused=False, blocks=grid)
        kernels.launch(module, "edges", -at.OF_MIRRORS, fused=False)
        raw.record(self._walked)
        raw.hold(self._walked, self._stream)
        self.exchange.blocks = few
        with device.on(self._stream):
            sync.reduce()
        self.exchange.blocks = None
        raw.record(self._sent, self._stream)
        kernels.launch(module, "edges", -at.OF_MASTERS, fused=False, blocks=self._blocks_for_interior(few))
        machine.launch(("round_kernels", "count_visited"))
        raw.hold(self._sent)
        machine.launch(("round_kernels", "count_hidden"))

    def _blocks_for_interior(self, few: int) -> int:
        """Return the grid size for interior edges that leaves each multiprocessor one block of the exchange.

        A resident set of either kernel fills a multiprocessor, whichever resource limits it, so their shares add up.
        """
        kernels = self.machine.kernels
        edges = kernels.resident(f"{WALKER}:push", "edges")
        exchange = min(kernels.resident("round_kernels", kernel) for kernel in ("pack", "unpack"))
        return max(edges - -(-edges // exchange), 1) * few
