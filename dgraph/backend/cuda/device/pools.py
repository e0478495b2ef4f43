"""Memory pools, one a device: unused memory returns to the GPU before an allocation is refused.

Graphs that also exist on the host stay on a GPU for the next run and are evicted where memory is short.

CuPy's arrays hold no reference to their pool, and a pool's end frees their memory. So a pool is kept here until its
device and its last array are gone.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

_pools: dict[Any, tuple[int, weakref.ref]] = {}
"""Pools of this process: pool → (number of its GPU, device)."""

_process: dict[int, Callable[[int], Any]] = {}
"""The allocator that the process set for CuPy, by the ``id`` of the module."""


class Cache(Protocol):
    """Data on a GPU that can be evicted."""

    def leave(self, number: int, device: Any) -> None:
        """Evict data from GPU ``number`` for the sake of ``device``, which is short of memory."""


_caches: dict[int, weakref.ref[Cache]] = {}
"""Caches of this process, by ``id``."""


def on_low_memory(cache: Cache) -> None:
    """Register a cache that leaves a GPU which lacks memory, for as long as it lives."""
    key = id(cache)
    _caches[key] = weakref.ref(cache, lambda _: _caches.pop(key, None))


def drop_caches(xp: Any, number: int, device: weakref.ref) -> None:
    """Evict cached data from a GPU for the sake of one device, then :func:`give_back`."""
    for reference in list(_caches.values()):
        cache = reference()
        if cache is not None:
            cache.leave(number, device())
    give_back(xp, number)


def pool_of(device: Any, allocator: str = "pool") -> Any:
    """Create a pool on a device's GPU, for as long as the device lives; "cupy": memory of the process' allocator."""
    _close_orphans(device.xp, device.number)
    pool = ProcessMemory(device.xp, device.number) if allocator == "cupy" else device.xp.cuda.MemoryPool()
    _pools[pool] = device.number, weakref.ref(device)
    weakref.finalize(device, _close, device.xp, device.number, pool).atexit = False
    return pool


class Allocator:
    """Allocation function for CuPy; it holds no reference to the device."""

    def __init__(self, device: Any):
        self._device, self._xp = weakref.ref(device), device.xp

    def __call__(self, size: int) -> Any:
        """Allocate from the device's pool, or as the process does if the device is gone."""
        device = self._device()
        return process_allocator(self._xp)(size) if device is None else device.allocate(size)


_allocators: weakref.WeakKeyDictionary[Any, Allocator] = weakref.WeakKeyDictionary()
"""Device → its allocation function for CuPy."""


def enter(device: Any) -> None:
    """Make a device's pool CuPy's allocator, and remember the process' own."""
    cuda = device.xp.cuda
    own = _allocators.get(device) or _allocators.setdefault(device, Allocator(device))
    if cuda.get_allocator() is not own:
        process_allocator(device.xp)
        cuda.set_allocator(own)


@contextmanager
def entered(device: Any) -> Iterator[None]:
    """Make a device's pool CuPy's allocator for the body."""
    before = device.xp.cuda.get_allocator()
    enter(device)
    try:
        yield
    finally:
        device.xp.cuda.set_allocator(before)


def leave(xp: Any) -> None:
    """Set CuPy's allocator back to the process' own."""
    xp.cuda.set_allocator(process_allocator(xp))


def process_allocator(xp: Any) -> Callable[[int], Any]:
    """Return the allocator that the process set for CuPy last, which is not one of ours."""
    allocator = xp.cuda.get_allocator()
    if not isinstance(allocator, Allocator):
        _process[id(xp)] = allocator
    return _process.get(id(xp)) or xp.get_default_memory_pool().malloc


class ProcessMemory:
    """Memory of the allocator that the process set for CuPy, with the part of a pool's interface that is used here.

    Freed memory goes back to the allocator at once.
    """

    def __init__(self, xp: Any, number: int):
        self.xp, self.number, self._used, self._limit = xp, number, 0, 0

    def malloc(self, size: int) -> Any:
        """Allocate memory, which is counted until it is freed."""
        if self._limit and self._used + size > self._limit:
            raise MemoryError(f"{size:,} bytes beyond the limit of {self._limit:,}")
        block = _Held(self, process_allocator(self.xp)(size), size)
        cuda = self.xp.cuda
        return cuda.MemoryPointer(cuda.UnownedMemory(int(block.pointer.ptr), size, block, self.number), 0)

    def set_limit(self, size: int) -> None:
        """Set the most bytes in use; 0: no limit."""
        self._limit = size

    def used_bytes(self) -> int:
        """Return the bytes in use."""
        return self._used

    total_bytes = used_bytes

    def free_bytes(self) -> int:
        """Return 0: what the allocator keeps is unknown."""
        return 0

    def free_all_blocks(self) -> None:
        """Do nothing: nothing is kept."""


class _Held:
    """An allocation of :class:`ProcessMemory`, while an array uses it."""

    def __init__(self, memory: ProcessMemory, pointer: Any, size: int):
        self.memory, self.pointer, self.size = memory, pointer, size
        memory._used += size

    def __del__(self) -> None:
        self.memory._used -= self.size


def give_back(xp: Any, number: int) -> None:
    """Return unused memory of this process' pools and garbage to a GPU."""
    gc.collect()
    _close_orphans(xp, number)
    with xp.cuda.Device(number):
        for pool in (*_pools_of(number), xp.get_default_memory_pool()):
            pool.free_all_blocks()


def held_by_others(number: int, but: Any) -> int:
    """Return the bytes of a GPU that all pools but one, and the messages of their devices, hold."""
    return sum(pool.total_bytes() + _messages(_pools[pool][1]()) for pool in _pools_of(number) if pool is not but)


def _messages(device: Any) -> int:
    return 0 if device is None else device.raw.held_bytes()


def _pools_of(number: int) -> list:
    return [pool for pool, (where, _) in list(_pools.items()) if where == number]


def _close_orphans(xp: Any, number: int) -> None:
    """Close pools that were kept for arrays which outlived their device."""
    for pool in _pools_of(number):
        if _pools[pool][1]() is None:
            _close(xp, number, pool)


def _close(xp: Any, number: int, pool: Any) -> None:
    with xp.cuda.Device(number):
        pool.free_all_blocks()
        if not pool.used_bytes():
            _pools.pop(pool, None)
