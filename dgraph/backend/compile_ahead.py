"""What is compiled ahead, beside what is compiled now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def compile_alongside(calls: Sequence[Callable[[], None]]) -> Iterator[None]:
    """Run others in threads of their own; where one fails, that is raised at the end."""
    if not calls:
        yield
        return
    from concurrent.futures import ThreadPoolExecutor  # not at the top: most runs find what was compiled before

    with ThreadPoolExecutor(len(calls)) as pool:
        begun = [pool.submit(call) for call in calls]
        yield
        for one in begun:
            one.result()
