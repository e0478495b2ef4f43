"""Pools of GPU memory, one a device: what nobody uses any more goes back to the GPU before anything is refused.

Graphs that hosts have as well stay on a GPU for the next run, and leave it where room is wanted.

CuPy's arrays do not keep the pool that they came from, whose end is the end of their memory. So a pool is kept here
until its device and its last array have gone.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

_pools: dict[Any, tuple[int, weakref.ref]] = {}
"""Of this process: pool → number of its GPU, and its device."""

_keepers: list[weakref.WeakMethod] = []
"""What lets go of memory of a GPU, by its number, whose contents can be had again; not of what the device works on that
lacks it."""


def when_short(leave: Callable[[int, Any], None]) -> None:
    """Call a method where a GPU lacks memory, as long as its object is there."""
    _keepers.append(weakref.WeakMethod(leave, _keepers.remove))


def make_room(xp: Any, number: int, device: weakref.ref) -> None:
    """What is kept on a GPU for later leaves it, where memory is wanted for a device; then :func:`give_back`."""
    for known in list(_keepers):
        leave = known()
        if leave is not None:
            leave(number, device())
    give_back(xp, number)


def pool_of(device: Any) -> Any:
    """A new pool on the GPU of a device, for as long as the device is there."""
    _sweep(device.xp, device.number)
    pool = device.xp.cuda.MemoryPool()
    _pools[pool] = device.number, weakref.ref(device)
    weakref.finalize(device, _leave, device.xp, device.number, pool).atexit = False
    return pool


def allocator(device: Any) -> Callable[[int], Any]:
    """What CuPy is to ask for memory. It does not keep a device that nobody else has."""
    kept, others = weakref.ref(device), device.xp.get_default_memory_pool().malloc

    def allocate(size: int) -> Any:
        found = kept()
        return others(size) if found is None else found.allocate(size)

    return allocate


def give_back(xp: Any, number: int) -> None:
    """Return to a GPU what garbage of this process holds of it, and what its pools do not use."""
    gc.collect()
    _sweep(xp, number)
    with xp.cuda.Device(number):
        for pool in (*_on(number), xp.get_default_memory_pool()):
            pool.free_all_blocks()


def held(number: int, but: Any) -> int:
    """Bytes of the current GPU that pools hold, of all but one."""
    return sum(pool.total_bytes() for pool in _on(number) if pool is not but)


def _on(number: int) -> list:
    return [pool for pool, (where, _) in list(_pools.items()) if where == number]


def _sweep(xp: Any, number: int) -> None:
    """Let pools go that were kept for arrays which outlived their device."""
    for pool in _on(number):
        if _pools[pool][1]() is None:
            _leave(xp, number, pool)


def _leave(xp: Any, number: int, pool: Any) -> None:
    with xp.cuda.Device(number):
        pool.free_all_blocks()
        if not pool.used_bytes():
            _pools.pop(pool, None)
