"""First runs without compilation: seconds that code ran uncompiled, by its name, until the compilation pays.

They are counted in a process. After ``WORTH`` of them, or in the second process with ``LONG`` of them, a file in the
cache folder makes later processes compile, too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from threading import local

from dgraph._support.cache import folder, publish
from dgraph.errors import OutputError

WORTH = 1.0
"""Seconds of a processor in uncompiled runs after which compilation pays: it takes 1 to 5 s once."""

LONG = 0.5
"""Seconds of an uncompiled run from which compilation pays after the second such process."""

BEGAN = time.time()
"""Time at which this process began: ranks of one job begin together, and files that it has made are younger."""

REMARK = "compilation would take longer; `python -m dgraph warmup` or DGRAPH_COMPILE=always compiles"
"""Reason of an uncompiled run, in reports."""

_spent: dict[str, float] = {}
"""Name → seconds of uncompiled runs in this process."""

beside: Collection[str] = ()
"""Names of the code that another process compiles for this one; until it ends, this one does not compile it."""

_plain: list[dict[str, None]] = []
"""Names of the kernels that ran as plain Python, a dict for each :func:`plain_kernels` that is open."""


def uncompiled(stem: str, suffixes: Iterable[str] = (".slow",)) -> bool:
    """Return True if code may run without compilation, because that has taken little time so far.

    Args:
        stem: name of the code, that of its files in the cache folder.
        suffixes: files that an earlier process made where compilation pays.
    """
    if (_spent.get(stem, 0.0) > WORTH and stem not in beside) or os.environ.get("DGRAPH_COMPILE") == "always":
        return False
    return not any(_earlier(stem, suffix) for suffix in suffixes)


def spend(stem: str, seconds: float) -> None:
    """Count seconds of an uncompiled run; after ``WORTH`` of them later runs, also of other processes, compile."""
    before = _spent.get(stem, 0.0)
    _spent[stem] = before + seconds
    if before <= LONG < before + seconds:
        compiled(stem) if _earlier(stem, ".long") else publish(folder() / f"{stem}.long", b"")
    if before <= WORTH < before + seconds:
        compiled(stem)


def spent() -> dict[str, float]:
    """Return the seconds of uncompiled runs in this process, by name."""
    return dict(_spent)


def _earlier(stem: str, suffix: str) -> bool:
    """Return True if an earlier process made the file of the code."""
    try:  # every call of a small graph looks: paths take five times as long
        return os.stat(f"{folder()}/{stem}{suffix}").st_mtime < BEGAN
    except OSError:
        return False


def compiled(stem: str) -> None:
    """Let later processes compile the code, or load its machine code."""
    publish(folder() / f"{stem}.slow", b"")


class first_run:
    """Block of work for which a NumPy version and machine code exist; its value is True if NumPy does the work.

    Blocks count their seconds as :func:`spend` does. Threads may enter the same block.

    Args:
        name: of the work.
        elements: of all blocks.
        few: elements up to which NumPy always does the work.
        most: elements up to which NumPy does it until the compilation pays.

    Attributes:
        uncompiled: the value of its blocks.
    """

    def __init__(self, name: str, elements: int, few: int, most: int):
        self._name, self._began = name, local()
        self._always = os.environ.get("DGRAPH_COMPILE") != "always" and elements <= few
        self.uncompiled = self._always
        if few < elements <= most:
            with suppress(OutputError):  # compiled code goes to no folder
                self.uncompiled = uncompiled(name)

    def __enter__(self) -> bool:
        self._began.time = time.thread_time()
        return self.uncompiled

    def __exit__(self, *error: object) -> None:
        if self.uncompiled and not self._always:
            with suppress(OutputError):
                spend(self._name, time.thread_time() - self._began.time)


class plain_kernels:
    """Block that collects the names of the kernels that run as plain Python in it, in their order."""

    def __enter__(self) -> dict[str, None]:
        names: dict[str, None] = {}
        _plain.append(names)
        return names

    def __exit__(self, *error: object) -> None:
        _plain.pop()


def ran_plain(name: str) -> None:
    """Note that a kernel ran as plain Python."""
    for names in _plain:
        names.setdefault(name)
