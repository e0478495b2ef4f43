"""Settings of a rank for the duration of a block: ranks may be threads of a process, and each has its own context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def set_within(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a context variable within the body."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
