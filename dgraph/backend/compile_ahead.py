"""Compilation of the programs that follow, in parallel with that of the current one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def compile_alongside(calls: Sequence[Callable[[], None]]) -> Iterator[None]:
    """Run each call in a thread while the body of the ``with`` runs; wait for all, and raise the first error."""
    if not calls:
        yield
        return
    from concurrent.futures import ThreadPoolExecutor  # not at the top: most runs find everything in the cache

    with ThreadPoolExecutor(len(calls)) as pool:
        futures = [pool.submit(call) for call in calls]
        yield
        for future in futures:
            future.result()
