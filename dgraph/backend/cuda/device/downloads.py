"""Copy fields from a GPU into columns on the host, in pieces through a little pinned memory.

A copy into ordinary memory runs at a fraction of the bus' speed, and the first write to each page of a new array costs
more than the copy. So the GPU copies a piece, as narrow as the field is, into pinned memory, while threads widen
earlier pieces into the new array. Pinning takes longer than copying and stops the driver's other work: the pieces are
few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dgraph.comm.base import Make

PIECE = 4 << 20
"""Bytes of a piece."""

SLOTS = 3
"""Pieces of pinned memory: one is filled, one is widened, one is done soon. With ``PIECE`` the cap on pinned memory of
a device: 12 MiB, kept as long as the device."""

THREADS = 8
"""Most threads that write the column."""

AT_ONCE = 1 << 16
"""Values that a thread converts at a time: they fit a core's cache."""


class Slot:
    """Pinned memory of one piece.

    Attributes:
        event: recorded behind the copy into the slot.
        written: the work of threads that read the slot.
    """

    def __init__(self, memory: np.ndarray, event: Any):
        self.memory, self.event = memory, event
        self.address = int(memory.ctypes.data)
        self.written: list[Any] = []

    def finish(self) -> None:
        """Wait until the slot may be filled again."""
        written, self.written = self.written, []
        for future in written:
            future.result()


class Downloads:
    """Pinned memory of one device, and copies through it.

    Args:
        raw: the device's copies and events, see :class:`IpcMemory`.
        address: function that returns the address of an array in GPU memory.
        threads: cores of this process.
    """

    def __init__(self, raw: Any, address: Callable[[Any], int], threads: int):
        self.raw, self.address, self.threads = raw, address, min(threads, THREADS)
        self.slots: list[Slot] = []

    def fetch(
        self, pieces: Iterable[Any], convert: Callable[[np.ndarray], np.ndarray], size: int, make: Make = np.empty
    ) -> np.ndarray:
        """Return ``convert`` of GPU arrays as one host array; waits.

        Args:
            pieces: one or more contiguous arrays of one dtype, of at most ``PIECE`` bytes each. Each is made while the
                piece before it is copied.
            convert: makes values of the result from as many values of the field; several threads call it.
            size: sum of the arrays' lengths.
            make: makes the host array.
        """
        from concurrent.futures import ThreadPoolExecutor

        if not self.slots:
            memory = self.raw.pinned(SLOTS * PIECE)
            self.slots = [Slot(memory[k * PIECE : (k + 1) * PIECE], self.raw.event()) for k in range(SLOTS)]
        values, filled, last = np.empty(0), 0, None
        with ThreadPoolExecutor(self.threads) as pool:
            for number, piece in enumerate(pieces):
                if last is None:
                    values = make(size, convert(np.empty(0, piece.dtype)).dtype)
                slot = self.slots[number % SLOTS]
                slot.finish()
                self.raw.copy(slot.address, self.address(piece), piece.nbytes)
                self.raw.record(slot.event)
                if last is not None:
                    self._land(pool, convert, *last)
                last = slot, values[filled : filled + len(piece)], piece
                filled += len(piece)
            if last is not None:
                self._land(pool, convert, *last)
            for slot in self.slots:
                slot.finish()
        return values

    def _land(self, pool: Any, convert: Callable[[np.ndarray], np.ndarray], slot: Slot, to: np.ndarray, piece: Any):
        """Wait until ``piece`` is in its slot, and let all threads convert it; the array may be freed then."""
        self.raw.wait(slot.event)
        values = slot.memory[: piece.nbytes].view(piece.dtype)
        share = max(-(-len(to) // self.threads), AT_ONCE)
        slot.written = [
            pool.submit(_convert, values[first : first + share], to[first : first + share], convert)
            for first in range(0, len(to), share)
        ]


def _convert(values: np.ndarray, to: np.ndarray, convert: Callable[[np.ndarray], np.ndarray]) -> None:
    for first in range(0, len(to), AT_ONCE):
        to[first : first + AT_ONCE] = convert(values[first : first + AT_ONCE])
