"""Trace: what one rank did, how long it took, and how all ranks' traces become one report.

Timers are wall-clock seconds. ``load … output`` follow each other; ``compute … agree`` lie inside ``solve``.
"""

from __future__ import annotations

import math
import os
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from dgraph.backend.round_stats import Spent
from dgraph.comm import Comm
from dgraph.comm.hosts import host
from dgraph.engine.rounds.round_series import KEPT_ROUNDS, PARTS, RoundSeries

VERSION = 1
"""Of the report's schema, ``schema.json``: raised when a key changes its meaning or goes away."""

PHASES = ("load", "partition", "build", "prepare", "compile", "init", "solve", "validate", "output")

KEPT_FIGURES, FEWEST_ROUNDS = 1 << 16, 256
"""Of many ranks, rounds that are kept, times ranks; but so many rounds in any case."""

KEPT_SPANS = 512
"""Phases of which the times of day are kept; a run of many programs has more."""


class Ranges(Protocol):
    """Names what happens for a profiler."""

    def push(self, name: str) -> None:
        """It begins."""

    def pop(self) -> None:
        """What began last ends."""


class Trace:
    """One rank's record of a run; create it on every rank when the run starts.

    ``with trace("pack"): …`` and ``trace.add("pack", seconds)`` accumulate; a timer must not be entered while it runs.

    Attributes:
        gpu, gpu_memory: this rank's GPU and its memory, as the backend tells them; None where there is none.
        ranges: where timers are also named, for a profiler.
    """

    def __init__(self, comm: Comm, command: Sequence[str] | None = None):
        self.comm = comm
        self.command = list(sys.argv if command is None else command)
        self.created = datetime.now(UTC).isoformat(timespec="seconds")
        self.began = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.sent: dict[int, list[int]] = {}
        self.facts: dict[str, dict] = {"algorithm": {}, "graph": {}, "outcome": {}}
        self.choices: list[dict] = []
        self.warnings: list[str] = []
        self.spans: list[tuple[str, float, float]] = []
        self.rounds = RoundSeries(
            self.seconds, self.began, max(FEWEST_ROUNDS, min(KEPT_ROUNDS, KEPT_FIGURES // comm.size))
        )
        self.queues: dict[str, float] = {}
        self.kernels: dict[tuple[str, str, bool], tuple[int, float]] = {}
        self.gpu: dict | None = None
        self.gpu_memory: dict | None = None
        self.ranges: Ranges | None = None
        self._timers: dict[str, _Timer] = {}

    def __call__(self, name: str) -> _Timer:
        """A context manager that adds the time spent inside it to timer ``name``."""
        timer = self._timers.get(name)
        if timer is None:
            timer = self._timers[name] = _Timer(self, name)
        return timer

    def add(self, name: str, seconds: float) -> None:
        """Add to timer ``name`` what compiled code measured itself."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def count(self, name: str, amount: int) -> None:
        """Add to counter ``name``: ``masters``, ``mirrors``, ``edges``, ``edges_visited`` …"""
        self.counts[name] = self.counts.get(name, 0) + int(amount)

    def message(self, peer: int, bytes: int, messages: int = 1) -> None:
        """``messages`` of ``bytes`` in all were sent to ``peer``."""
        sent = self.sent.setdefault(peer, [0, 0])
        sent[0] += int(bytes)
        sent[1] += int(messages)

    def spent(self, kernels: Iterable[Spent]) -> None:
        """Add seconds on the GPU, by kernel."""
        for one in kernels:
            launches, seconds = self.kernels.get(one[:3], (0, 0.0))
            self.kernels[one[:3]] = launches + one.launches, seconds + one.seconds

    def describe(self, section: str, **values) -> None:
        """Facts that all ranks share: section ``algorithm``, ``graph`` or ``outcome``; numbers, text, lists, dicts."""
        self.facts[section].update(plain(values))

    def choose(self, what: str, taken: str, reason: str = "") -> None:
        """A choice made for or by the user: policy, direction, threads, backend, transport."""
        self.choices = [choice for choice in self.choices if choice["what"] != what]
        self.choices.append({"what": what, "taken": str(taken), "reason": reason})

    def warn(self, text: str) -> None:
        """Something that a careful user wants to know; said once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def collect(self) -> dict:
        """The report, as ``schema.json`` describes it: every rank's figures, and this rank's view of the rest.

        Collective. When more has happened it may be called again: the report covers everything since the start.
        """
        from dgraph._support.version import __version__

        self.comm.barrier()
        ranks = self.comm.allgather_json(self._mine())
        warnings = list(dict.fromkeys(text for rank in ranks for text in rank.pop("warnings")))
        return {
            "version": VERSION,
            "dgraph": __version__,
            "created": self.created,
            "command": self.command,
            **self.facts,
            "choices": self.choices,
            "warnings": warnings,
            "wall_seconds": max(rank["seconds"]["wall"] for rank in ranks),
            "hosts": _hosts(ranks),
            "ranks": ranks,
            "imbalance": imbalance(ranks),
            "rounds": self.rounds.summary(),
        }

    def _mine(self) -> dict:
        seconds = {name: self.seconds.get(name, 0.0) for name in PHASES + PARTS} | self.seconds
        seconds["wall"] = time.perf_counter() - self.began
        gpu: dict = {} if self.gpu is None else {"gpu": self.gpu}
        if self.gpu_memory is not None:
            gpu["gpu_memory"] = self.gpu_memory
        if self.rounds.schedules:
            gpu["schedules"] = self.rounds.schedules
        if self.kernels:
            names = ("schedule", "kernel", "walks", "launches", "seconds")
            gpu["kernels"] = [dict(zip(names, (*k, n, round(s, 9)), strict=True)) for k, (n, s) in self.kernels.items()]
        if self.queues:
            gpu["queues"] = self.queues
        if load := self.rounds.loads.facts():
            gpu["load"] = load
        spans = [{"name": name, "start": round(start, 7), "seconds": round(s, 7)} for name, start, s in self.spans]
        return {
            "rank": self.comm.rank,
            "host": host(self.comm),
            "cores": os.cpu_count() or 1,
            "seconds": {name: round(max(value, 0.0), 9) for name, value in seconds.items()},
            "counts": self.counts,
            "sent": [{"peer": peer, "bytes": b, "messages": m} for peer, (b, m) in sorted(self.sent.items())],
            "peak_memory_bytes": peak_memory(),
            **gpu,
            "spans": spans,
            "rounds": self.rounds.parts(),
            "warnings": self.warnings,
        }


def _hosts(ranks: list[dict]) -> list[dict]:
    """Every host once: its cores, its ranks, and what they held in memory together."""
    hosts: dict[str, dict] = {}
    for rank in ranks:
        found = {"host": rank["host"], "cores": rank.pop("cores"), "ranks": [], "peak_memory_bytes": 0}
        found = hosts.setdefault(rank["host"], found)
        found["ranks"].append(rank["rank"])
        found["peak_memory_bytes"] += rank["peak_memory_bytes"]
    return list(hosts.values())


def imbalance(ranks: list[dict]) -> dict[str, dict]:
    """Of every timer and counter the largest and the mean over ranks, and their ratio (None where the mean is 0)."""
    figures = [
        rank["seconds"]
        | rank["counts"]
        | {f"{what}_sent": sum(peer[what] for peer in rank["sent"]) for what in ("messages", "bytes")}
        | {"peak_memory_bytes": rank["peak_memory_bytes"]}
        for rank in ranks
    ]
    found = {}
    for name in dict.fromkeys(name for figure in figures for name in figure):
        values = [figure.get(name, 0) for figure in figures]
        most, mean = max(values), sum(values) / len(values)
        found[name] = {"max": most, "mean": mean, "ratio": most / mean if mean else None}
    return found


class _Timer:
    """Adds the time between ``with`` and its end to ``seconds[name]``; one object a name, so entering costs little."""

    __slots__ = ("began", "name", "phase", "ranges", "trace")

    def __init__(self, trace: Trace, name: str):
        self.trace, self.name, self.phase = trace, name, name in PHASES

    def __enter__(self) -> None:
        self.ranges = self.trace.ranges
        if self.ranges is not None:
            self.ranges.push(self.name)
        self.began = time.perf_counter()

    def __exit__(self, *error) -> None:
        elapsed = time.perf_counter() - self.began
        if self.ranges is not None:
            self.ranges.pop()
        trace = self.trace
        trace.seconds[self.name] = trace.seconds.get(self.name, 0.0) + elapsed
        if self.phase and len(trace.spans) < KEPT_SPANS:
            trace.spans.append((self.name, self.began - trace.began, elapsed))


def plain(value):
    """``value`` as JSON can hold it: NumPy's numbers become Python's, infinity and not-a-number become text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def peak_memory() -> int:
    """The most bytes this process has held in memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
