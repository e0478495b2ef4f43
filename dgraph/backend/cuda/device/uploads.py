"""Copy bytes that threads read from files or arrays into GPU memory, through a little pinned memory.

The copy engine takes one piece while threads write the next ones. The driver would copy ordinary memory at a fraction
of the bus' speed, with one thread; and pinning as many bytes as are copied takes longer than the copy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from dgraph._support.threads import pool, settle
from dgraph.backend.cuda.device.downloads import Slot

PIECE = 4 << 20
"""Bytes of a piece."""

SLOTS = 16
"""Most pieces of pinned memory, as many as were needed and kept as long as the process: 64 MiB."""

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
        with self.streamed(array.nbytes, read) as fill:
            fill(array)

    @contextmanager
    def streamed(self, size: int, read: Reader) -> Iterator[Callable[[Any], None]]:
        """Yield a function that fills an array with the next of ``size`` bytes; threads read further ones meanwhile."""
        with self.pinned.lock:
            slots, sent = self.pinned.slots, 0
            if (more := min(SLOTS, -(-size // PIECE)) - len(slots)) > 0:
                memory = self.raw.pinned(more * PIECE)
                slots += (Slot(memory[k * PIECE :][:PIECE], self.raw.event()) for k in range(more))
            filling: deque[tuple[Slot, int]] = deque()
            with pool(self.threads) as workers:

                def submit(first: int) -> None:
                    if first < size:
                        slot, length = slots[first // PIECE % SLOTS], min(PIECE, size - first)
                        slot.written = [workers.submit(read, slot.memory[:length], first)]
                        filling.append((slot, length))

                def fill(array: Any) -> None:
                    nonlocal sent
                    begin, end = self.address(array) - sent, sent + array.nbytes
                    while sent < end:
                        (slot, length), offset = filling[0], sent % PIECE
                        slot.finish()
                        count = min(length - offset, end - sent)
                        self.raw.copy(begin + sent, slot.address + offset, count)
                        sent += count
                        if offset + count == length:
                            self.raw.record(slot.event)
                            filling.popleft()
                            if (following := sent - length + SLOTS * PIECE) < size:
                                self.raw.wait(slot.event)
                                submit(following)

                for first in range(0, SLOTS * PIECE, PIECE):
                    submit(first)
                try:
                    yield fill
                finally:
                    for slot, _ in filling:
                        settle(slot.written)
                    for slot in slots[: -(-size // PIECE)]:
                        self.raw.wait(slot.event)
