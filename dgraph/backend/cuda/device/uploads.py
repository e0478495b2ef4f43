"""Copy bytes that threads read from files or arrays into GPU memory, through a little pinned memory.

The copy engine takes one piece while threads write the next ones. The driver would copy ordinary memory at a fraction
of the bus' speed, with one thread; and pinning as many bytes as are copied takes longer than the copy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from dgraph._support.threads import pool, settle
from dgraph.backend.cuda.device.downloads import Slot

PIECE = 4 << 20
"""Bytes of a piece."""

SLOTS = 16
"""Pieces of pinned memory, kept as long as the process: 64 MiB."""

Reader = Callable[[np.ndarray, int], None]
"""``read(place, first)`` writes the bytes from ``first`` on into ``place``, uint8; several threads call it."""


class Pinned:
    """Pinned memory of one GPU, made at the first upload; one thread uploads at a time."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.lock = Lock()


class Uploads:
    """Copies of one device through pinned memory. Other arguments: as of ``Downloads``."""

    def __init__(self, raw: Any, address: Callable[[Any], int], threads: int, pinned: Pinned):
        self.raw, self.address, self.threads, self.pinned = raw, address, min(threads, SLOTS), pinned

    def fill(self, array: Any, read: Reader) -> None:
        """Fill a contiguous array on the GPU with what ``read`` writes; copies are in stream order."""
        with self.pinned.lock:
            if not self.pinned.slots:
                memory = self.raw.pinned(SLOTS * PIECE)
                self.pinned.slots += (Slot(memory[k * PIECE :][:PIECE], self.raw.event()) for k in range(SLOTS))
            self._fill(array, read, self.pinned.slots)

    def _fill(self, array: Any, read: Reader, slots: list[Slot]) -> None:
        begin, size, filling = self.address(array), array.nbytes, deque[tuple[Slot, int, int]]()

        def send_oldest() -> None:
            slot, first, length = filling.popleft()
            slot.finish()
            self.raw.copy(begin + first, slot.address, length)
            self.raw.record(slot.event)

        with pool(self.threads) as workers:
            try:
                for first in range(0, size, PIECE):
                    if len(filling) == SLOTS:
                        send_oldest()
                    slot, length = slots[first // PIECE % SLOTS], min(PIECE, size - first)
                    if first >= SLOTS * PIECE:
                        self.raw.wait(slot.event)
                    slot.written = [workers.submit(read, slot.memory[:length], first)]
                    filling.append((slot, first, length))
                while filling:
                    send_oldest()
            finally:
                for slot, _, _ in filling:
                    settle(slot.written)
        for slot in slots[: -(-size // PIECE)]:
            self.raw.wait(slot.event)
