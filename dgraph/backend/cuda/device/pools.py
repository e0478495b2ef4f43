"""Memory pools, one a device: unused memory returns to the GPU before an allocation is refused.

Graphs that also exist on the host stay on a GPU for the next run and are evicted where memory is short.

CuPy's arrays hold no reference to their pool, and a pool's end frees their memory. So a pool is kept here until its
device and its last array are gone.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

_pools: dict[Any, tuple[int, weakref.ref]] = {}
"""Pools of this process: pool → (number of its GPU, device)."""

_caches: list[weakref.WeakMethod] = []
"""Methods that evict cached data from a GPU, called with its number and the device that is short of memory."""


def on_low_memory(leave: Callable[[int, Any], None]) -> None:
    """Register a method to call when a GPU lacks memory, for as long as its object lives."""
    _caches.append(weakref.WeakMethod(leave, _caches.remove))


def drop_caches(xp: Any, number: int, device: weakref.ref) -> None:
    """Evict cached data from a GPU for the sake of one device, then :func:`give_back`."""
    for known in list(_caches):
        leave = known()
        if leave is not None:
            leave(number, device())
    give_back(xp, number)


def pool_of(device: Any) -> Any:
    """Create a pool on a device's GPU, for as long as the device lives."""
    _close_orphans(device.xp, device.number)
    pool = device.xp.cuda.MemoryPool()
    _pools[pool] = device.number, weakref.ref(device)
    weakref.finalize(device, _close, device.xp, device.number, pool).atexit = False
    return pool


class ProcessAllocator:
    """The allocator that the process set in CuPy, in the place of a pool; it keeps no blocks and no figures."""

    def __init__(self, xp: Any):
        self.malloc: Callable[[int], Any] = xp.cuda.get_allocator()

    def used_bytes(self) -> int:
        """Return 0: the use of memory is not known."""
        return 0

    free_bytes = total_bytes = used_bytes


def allocator(device: Any) -> Callable[[int], Any]:
    """Return an allocation function for CuPy; it holds no reference to the device."""
    kept, others = weakref.ref(device), device.xp.get_default_memory_pool().malloc

    def allocate(size: int) -> Any:
        found = kept()
        return others(size) if found is None else found.allocate(size)

    return allocate


def give_back(xp: Any, number: int) -> None:
    """Return unused memory of this process' pools and garbage to a GPU."""
    gc.collect()
    _close_orphans(xp, number)
    with xp.cuda.Device(number):
        for pool in (*_pools_of(number), xp.get_default_memory_pool()):
            pool.free_all_blocks()


def held(number: int, but: Any) -> int:
    """Return the bytes of a GPU that all pools but one hold."""
    return sum(pool.total_bytes() for pool in _pools_of(number) if pool is not but)


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
