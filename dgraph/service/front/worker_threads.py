"""Work of the front in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[..., T], *values: Any) -> T:
    """Call a function in a thread, and return what it returns.

    A ``StopIteration`` becomes a ``RuntimeError``: a future cannot hold it, and would never end.
    """

    def called() -> T:
        try:
            return work(*values)
        except StopIteration as error:
            raise RuntimeError("an iterator ended early") from error

    return await asyncio.to_thread(called)
