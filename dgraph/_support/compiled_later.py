"""Process that compiles what a call ran uncompiled, while the caller reads its answer: a later call runs machine code.

It runs the algorithm on a tiny graph of the same types, and its machine code comes through the cache folder. A process
that fails costs a core for some seconds. Commands end with their answer and start none.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from dgraph._support import first_runs
from dgraph._support.affinity import mask, share

CODE = "import sys; sys.path.append(sys.argv[1]); from dgraph.tools.compile_beside import main; main(sys.argv[2])"
"""Runs :func:`dgraph.tools.compile_beside.main`; the folder of dgraph comes last: it may be that of all packages."""

PAYS = 0.3
"""Seconds of a processor in a call of uncompiled code, or in such code over calls, from which on compilation pays."""


def begun(task: str) -> Any:
    """Return a process that compiles a task of :mod:`dgraph.tools.compile_beside`."""
    import subprocess

    line = [sys.executable, "-P", "-c", CODE, str(Path(__file__).parents[2]), task]
    return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Call(NamedTuple):
    """A call that may run uncompiled code.

    Attributes:
        graph: if the graph is directed, and the dtype of its weights or None, as :mod:`dgraph.tools.compile_beside`
            takes them.
        began: seconds of this thread before the call.
        spent: seconds of uncompiled code before the call, by name.
    """

    graph: list
    began: float
    spent: dict[str, float]


class Later:
    """The one process of this program, and the names of the code that it compiles.

    Attributes:
        off: True in programs that end with their first answer.
    """

    def __init__(self) -> None:
        self.off, self._stems, self._tasks = False, list[str](), set[str]()
        self._process: Any = None

    def call(self, graph: Any) -> Call:
        """Let a call on a graph run what the process has compiled by now."""
        self.collect()
        kind = graph.weight_type
        return Call([graph.directed, None if kind is None else kind.str], time.thread_time(), first_runs.spent())

    def begin(self, call: Call, work: Any, direction: str) -> None:
        """Start the process after a call, unless the call and those like it were quick, or the process has run for it.

        Args:
            call: of :meth:`call`.
            work: the algorithm, in the register.
            direction: of the run.
        """
        if self.off or self._process is not None:
            return
        spent = {stem: total for stem, total in first_runs.spent().items() if total > call.spent.get(stem, 0.0)}
        seconds = max(time.thread_time() - call.began, *spent.values()) if spent else 0.0
        if seconds < PAYS or os.environ.get("DGRAPH_COMPILE"):
            return
        task = _task(call, work, direction)
        if task in self._tasks or share([mask()], mask()) < 2:
            return
        self._tasks.add(task)
        with suppress(OSError):
            self._process, self._stems = begun(task), list(spent)
            first_runs.beside = self._stems
            atexit.register(self.end)

    def collect(self) -> None:
        """Let calls run what the process has compiled by now."""
        if self._process is not None and self._process.poll() is not None:
            for stem in self._stems if self._process.returncode == 0 else ():
                first_runs.spend(stem, 2 * first_runs.WORTH)
            self._process, first_runs.beside = None, ()

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process, first_runs.beside = None, ()


def _task(call: Call, work: Any, direction: str) -> str:
    """Return the task of a process that compiles what a call runs, as JSON; vertices are left out."""
    plain = bool, float, int, str, type(None)
    names = [row.name for row in work.parameters.values() if row.holds_vertices]
    values = {name: value for name, value in work.settings().items() if isinstance(value, plain) and name not in names}
    settings = {name: min(value, 3) if type(value) is int else value for name, value in values.items()}
    return json.dumps([work.name, call.graph, settings, {"weight": None, "direction": direction}], sort_keys=True)


LATER = Later()
