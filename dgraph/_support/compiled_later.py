"""Process that compiles what a call ran uncompiled, while the caller reads its answer: a later call runs machine code.

It runs the algorithm on a tiny graph of the same types, and its machine code comes through the cache folder. A process
that fails costs a core for some seconds. Commands end with their answer and start none.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dgraph._support import first_runs
from dgraph._support.affinity import mask, share

CODE = "import sys; sys.path.append(sys.argv[1]); from dgraph.tools.compile_beside import main; main(sys.argv[2])"
"""Runs :func:`dgraph.tools.compile_beside.main`; the folder of dgraph comes last: it may be that of all packages."""

PAYS = 0.3
"""Seconds of a processor in a call that ran uncompiled code from which on compilation pays."""


def begun(task: str) -> Any:
    """Return a process that compiles a task of :mod:`dgraph.tools.compile_beside`."""
    import subprocess

    line = [sys.executable, "-P", "-c", CODE, str(Path(__file__).parents[2]), task]
    return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Later:
    """The one process of this program, and the names of the code that it compiles.

    Attributes:
        off: True in programs that end with their first answer.
    """

    def __init__(self) -> None:
        self.off, self._stems, self._tasks = False, list[str](), set[str]()
        self._process: Any = None

    def begin(self, task_of_call: Callable[[], str], seconds: float, spent: dict[str, float]) -> None:
        """Start the process for a call of so many seconds, unless one has run for the task.

        Args:
            task_of_call: returns the task of :mod:`dgraph.tools.compile_beside`.
            seconds: of the call.
            spent: seconds of uncompiled code before the call, by name.
        """
        if self.off or seconds < PAYS or self._process is not None or os.environ.get("DGRAPH_COMPILE"):
            return
        stems = [stem for stem, total in first_runs.spent().items() if total > spent.get(stem, 0.0)]
        task = task_of_call()
        if not stems or task in self._tasks or share([mask()], mask()) < 2:
            return
        self._tasks.add(task)
        with suppress(OSError):
            self._process, self._stems = begun(task), stems
            atexit.register(self.end)

    def collect(self) -> None:
        """Let calls run what the process has compiled by now."""
        if self._process is not None and self._process.poll() is not None:
            for stem in self._stems if self._process.returncode == 0 else ():
                first_runs.spend(stem, 2 * first_runs.WORTH)
            self._process = None

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


LATER = Later()
