"""Memory of the process' own mappings: in huge pages, and given back to the system piece by piece."""

from __future__ import annotations

import mmap
from contextlib import suppress

import numpy as np

LARGE = 1 << 20
"""Bytes from which an array has a mapping of its own. The C library may keep memory of arrays below 32 MiB."""


def mapped_memory(size: int, huge: bool = True) -> memoryview:
    """Return zeroed memory of a new mapping, in huge pages where the system has them, or not in them."""
    mapped = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without huge pages
            mapped.madvise(mmap.MADV_HUGEPAGE if huge else mmap.MADV_NOHUGEPAGE)
    return memoryview(mapped)


def large_array(size: int, kind: np.typing.DTypeLike, huge: bool = True) -> np.ndarray:
    """Return an array of any values; if it is large, its memory goes back to the system with it, or piece by piece."""
    kind = np.dtype(kind)
    need = size * kind.itemsize
    return np.frombuffer(mapped_memory(need, huge), kind, size) if need >= LARGE else np.empty(size, kind)


def give_back(values: np.ndarray) -> None:
    """Give the pages inside an array of :func:`mapped_memory` back: its values are lost. Other arrays stay."""
    owner = values.base
    while isinstance(owner, np.ndarray):
        owner = owner.base
    mapped = getattr(owner, "obj", None)
    if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        start = address_of(values) - address_of(np.frombuffer(mapped, np.uint8))
        first, last = -(-start // mmap.PAGESIZE), (start + values.nbytes) // mmap.PAGESIZE
        if first < last:
            mapped.madvise(mmap.MADV_DONTNEED, first * mmap.PAGESIZE, (last - first) * mmap.PAGESIZE)


def trim_heap() -> None:
    """Give freed memory of the C library's heap back to the system, where it can do so (glibc)."""
    import ctypes  # 3 ms, which graphs without names do without

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def address_of(values: np.ndarray) -> int:
    """Return the address of an array's first value."""
    return values.__array_interface__["data"][0]
