"""Progress of a run on stderr: a live line on a terminal, else a plain line for each phase and every 30 s."""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

from dgraph._support.compile_clock import listening
from dgraph.engine.rounds.progress import read_text, round_text
from dgraph.report import Progress

EVERY = 30.0
"""Seconds between lines of a log while nothing else is printed."""


def progress_for(rank: int, quiet: bool, began: float) -> Progress:
    """Return the progress of this rank; only rank 0 prints. ``began``: ``perf_counter`` at the start."""
    if rank or quiet:
        return Progress()
    return Live(sys.stderr) if sys.stderr.isatty() else Plain(sys.stderr, began)


class Terminal(Progress):
    """Progress that says at the process' first compilation what compiles, and that later runs do not wait for it."""

    _told = False

    def __enter__(self):
        self._compilations = listening(self.compiles)
        self._compilations.__enter__()
        return self

    def __exit__(self, *error):
        self._compilations.__exit__(*error)
        super().__exit__(*error)

    def compiles(self, name: str) -> None:
        """Print the first name."""
        if not Terminal._told:
            Terminal._told = True
            self.line(f"compiling {name}, and what else this run needs: once on this machine, later runs load it")


class Plain(Terminal):
    """Progress as lines of a log, each with the seconds since the start."""

    def __init__(self, stream: TextIO, began: float, every: float = EVERY):
        self.stream, self.began = stream, began
        self.now, self._printed_at = "start", ""
        self._ended, self._began_phase = 0.0, began
        self._closed = threading.Event()
        self._clock = threading.Thread(target=self._signs_of_life, args=(every,), name="dgraph-progress", daemon=True)
        self._clock.start()

    def phase(self, name, detail=""):
        """Show the phase that starts."""
        self.now, self._ended, self._began_phase = name, 0.0, time.perf_counter()
        self.line(f"{name} {detail}".rstrip())

    def round(self, number, vertices, edges=None, direction=""):
        """Show the round that ended, and the frontier of the next."""
        self.now, self._ended = round_text(number, vertices, edges, direction), time.perf_counter()

    def reading(self, done, size, seconds):
        """Keep the figures of a read for the next line."""
        self.now, self._ended, self._began_phase = read_text(done, size, seconds), 0.0, 0.0

    def line(self, text):
        """Print a permanent line."""
        print(f"[{time.perf_counter() - self.began:8.2f} s] {text}", file=self.stream, flush=True)

    def close(self):
        """Stop the display."""
        self._closed.set()
        self._clock.join()

    def sign_of_life(self) -> None:
        """Print the phase and its seconds, or the last round; if it was printed already, the seconds since its end."""
        now, ended, clock = self.now, self._ended, time.perf_counter()
        stands = ended and now == self._printed_at
        text = f"{now} for {clock - self._began_phase:.0f} s" if self._began_phase and not ended else now
        self.line(f"... no round has ended for {clock - ended:.0f} s" if stands else f"... {text}")
        self._printed_at = now

    def _signs_of_life(self, every: float) -> None:
        while not self._closed.wait(every):
            self.sign_of_life()


class Live(Terminal):
    """Progress as one line that is redrawn: phase, round, frontier and time. Permanent lines scroll above it."""

    def __init__(self, stream: TextIO):
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        console = Console(file=stream, highlight=False, markup=False)
        columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
        self.bar = Bar(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
        self.bar.start()
        self.task = self.bar.add_task("start")

    def phase(self, name, detail=""):
        """Show the phase that starts."""
        self.bar.update(self.task, description=f"{name} {detail}".rstrip())

    def round(self, number, vertices, edges=None, direction=""):
        """Show the round that ended, and the frontier of the next."""
        self.bar.update(self.task, description=round_text(number, vertices, edges, direction))

    def reading(self, done, size, seconds):
        """Show the figures of a read."""
        self.bar.update(self.task, description=read_text(done, size, seconds))

    def line(self, text):
        """Print a permanent line."""
        self.bar.console.print(text, soft_wrap=True)

    def close(self):
        """Stop the display."""
        self.bar.stop()
