"""Emulation of ``Raw`` in host memory: allocations that other processes can open, and copies that complete late."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
from functools import partial

import numpy as np

PAGE = 4096
_numbers = itertools.count()


class Stream:
    """Ordered copies and kernels.

    Copies complete when an event behind them is waited for, or before the next kernel. Kernels run at once, or as late
    as copies if ``late`` is set.
    """

    ptr, late = property(lambda self: self), False

    def __init__(self):
        self.work, self.done = [], 0

    def until(self, count: int) -> None:
        while self.done < count:
            self.work[self.done]()
            self.done += 1

    def start(self, kernel) -> None:
        self.work.append(kernel)
        if not self.late:
            self.until(len(self.work))


class Event:
    """Event of a stream; ``reached`` is false until it has been called ``looks`` times."""

    def __init__(self):
        self.stream, self.at, self.looks = None, 0, 0


class Raw:
    """One GPU with memory of its own, or with the memory of the GPU ``uuid``."""

    names_are_bytes = True

    def __init__(self, uuid: str | None = None, nccl=None, mps: bool = False, blind: tuple[str, ...] = ()):
        self.name = uuid or f"GPU-emulated-{os.getpid()}-{next(_numbers)}"
        self._nccl, self.mps, self.blind = nccl, mps, blind
        self._held: dict[int, tuple[mmap.mmap, np.ndarray, int]] = {}

    def use(self) -> None:
        pass

    def malloc(self, size: int) -> int:
        file = os.memfd_create("emulated")
        os.ftruncate(file, -(-size // PAGE) * PAGE)
        return self._map(file)

    def _map(self, file: int) -> int:
        pages = mmap.mmap(file, 0)
        array = np.frombuffer(pages, np.uint8)
        self._held[array.ctypes.data] = pages, array, file
        return array.ctypes.data

    def free(self, address: int) -> None:
        os.close(self._held.pop(address)[2])

    close = free

    def share(self, address: int) -> bytes:
        return f"{os.getpid()}:{self._held[address][2]}".encode().ljust(64, b"\0")

    def open(self, handle: bytes) -> int:
        process, file = handle.rstrip(b"\0").decode().split(":")
        return self._map(os.open(f"/proc/{process}/fd/{file}", os.O_RDWR))

    def pinned(self, size: int) -> np.ndarray:
        return np.full(size, 0xA5, np.uint8)

    def stream(self, urgent: bool = False) -> Stream:
        return Stream()

    def event(self) -> Event:
        return Event()

    def record(self, event: Event, stream: Stream | None = None) -> None:
        event.stream, event.at, event.looks = stream, len(stream.work) if stream else 0, 2

    def reached(self, event: Event) -> bool:
        event.looks -= 1
        if event.looks > 0:
            return False
        self.hold(event)
        return True

    def hold(self, event: Event, stream: Stream | None = None) -> None:
        if event.stream:
            event.stream.until(event.at)

    wait = hold

    def copy(self, to: int, source: int, size: int, stream: Stream | None = None) -> None:
        if stream:
            stream.work.append(partial(ctypes.memmove, to, source, size))
        else:
            ctypes.memmove(to, source, size)

    def uuid(self) -> str:
        return self.name

    def can_access(self, uuid: str) -> bool | None:
        return uuid not in self.blind

    def under_mps(self) -> bool:
        return self.mps

    def nccl(self):
        return self._nccl
