"""Base of the parts of a machine on a GPU, its lists of vertices that pass through the host, and its snapshots.

A snapshot has the frontier, the far buckets and the control block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.memory.work_arrays import GpuWorkArrays
from dgraph.backend.cuda.round_kernels.launcher import Launcher
from dgraph.backend.program_machine import ProgramMachine


class MachineParts(ProgramMachine):
    """Base of the parts of a :class:`~dgraph.backend.cuda.round_kernels.machine.GpuMachine`: what they share.

    Attributes:
        graph: its graph on the GPU.
        arrays: its work arrays.
        kernels: its launches.
        options: plan of its rounds.
        device: the GPU.
        all_words: control block, with globals and sums behind it.
    """

    layout = control
    graph: DeviceGraph
    arrays: GpuWorkArrays
    kernels: Launcher
    options: GpuPlan
    device: Any
    all_words: np.ndarray


class HostLists(MachineParts):
    """Lists of a round that synchronisation through host memory reads and writes, by lid."""

    _phase: Callable[..., None]
    launch: Callable[..., None]
    read: Callable[[], None]

    def _lids(self, places: np.ndarray) -> np.ndarray:
        return places if self.graph.order is None else self.device.get(self.graph.order)[places]

    def _places(self, lids: np.ndarray) -> np.ndarray:
        return lids.astype(np.uint32) if self.graph.place is None else self.device.get(self.graph.place)[lids]

    def frontier(self) -> np.ndarray:
        """Return lids of active masters, uint32."""
        return self._lids(
            self.device.get(self.arrays.queues[int(self.words[control.SWAPPED])][: self.words[control.ACTIVE]])
        )

    def dirty(self) -> np.ndarray:
        """Return lids of masters to broadcast: active, or with a changed field that edges read."""
        if not self.dirties:
            return self.frontier()
        return self._lids(self.device.get(self.arrays.dirty[: self.words[control.DIRTIED]]))

    def take_mirrors(self) -> np.ndarray:
        """Return lids of mirrors that got a proposal in this round."""
        return self._lids(self.device.get(self.arrays.mirrors[: self.words[control.MIRRORS_TOUCHED]]))

    def combine(self, lids: np.ndarray, positions: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        """Combine mirrors' proposals into masters ``lids[positions]``."""
        if len(positions):
            self.kernels.send(self._places(lids), positions, values)
            self.kernels.launch("round_kernels", "combine", len(positions), fused=False)

    def join(self, lids: np.ndarray) -> None:
        """Add mirrors to the frontier."""
        if len(lids):
            self.kernels.send(self._places(lids))
            self.kernels.launch("round_kernels", "join", len(lids), fused=False)
            self._phase(control.JOINED)

    def end_join(self) -> None:
        """End the phase in which mirrors joined the frontier; only a push needs their count at once."""
        self.launch(("round_kernels", "end_phase", control.JOINED))
        if self.direction == "push":
            self.read()


class GpuSnapshot(HostLists):
    """Snapshots of a machine whose arrays are on a GPU, by position where vertices are renumbered."""

    def _active(self) -> np.ndarray:
        if not self.words[control.BITS]:
            return self.frontier()
        return self._lids(self._set(self.arrays.bits[int(self.words[control.BITS_SWAPPED])]))

    def _waiting(self) -> np.ndarray:
        return self._lids(self._set(self.arrays.waiting))

    def _set_state(self, words: dict[int, int], integers: np.ndarray, floats: np.ndarray, waiting: np.ndarray) -> None:
        arrays, now = self.arrays, self.all_words[: self.arrays.words.size].copy()
        for word, value in words.items():
            now[word] = value
        now[arrays.integers_at :][: integers.size] = integers
        now.view(np.float64)[arrays.floats_at :][: floats.size] = floats
        if self.traced.priority is not None:
            places = self._places(waiting)
            arrays.waiting[...] = self._bits_of(places, arrays.waiting.size)
            (arrays.far1 if now[control.FAR_SWAPPED] else arrays.far0)[: places.size] = self.device.put(places)
            now[control.FAR] = places.size
        if self.traced.once:
            (name,) = self.traced.proposes
            values = np.asarray(self.state[name][: self.local.masters])
            seen = np.flatnonzero(values != values.dtype.type(self.traced.fields[name].identity))
            arrays.seen[...] = self._bits_of(self._places(seen), arrays.seen.size)
        arrays.words[...] = self.device.put(now)
        self.read()

    def _set_frontier(self, lids: np.ndarray) -> None:
        slot = (int(self.words[control.TICK]) - 1 & 3) * control.SLOT
        self.device.clear(self.arrays.counters[slot : slot + control.SLOT])
        for word, value in (
            (control.ACTIVE, lids.size),
            (control.EDGES, self.local.out_degree[lids].sum()),
            (control.BITS, 0),
        ):
            self.arrays.words[word] = int(value)
        self.join(lids)
        if not lids.size:
            self._phase(control.JOINED)

    def _set(self, bits) -> np.ndarray:
        """Return the masters' positions whose bits are set in a bitmap on the device."""
        words = self.device.get(bits)
        return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")[: self.local.masters])

    def _bits_of(self, places: np.ndarray, words: int):
        """Return a bitmap of ``words`` words, on the device, in which these positions are set."""
        flags = np.zeros(32 * words, np.uint8)
        flags[places] = 1
        return self.device.put(np.packbits(flags, bitorder="little").view(np.uint32))
