"""Record of one rank's run, and the report that all ranks' records become.

Main entry: :class:`Record`. Timers are wall-clock seconds. The ``PHASES`` follow each other, except that ``solve``
contains ``prepare``, ``compile`` and ``init`` of its programs, and the ``PARTS`` of its rounds. Rounds are left to
:mod:`round_series`, the printed report to :mod:`dgraph.report`.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Protocol

import numpy as np

from dgraph._support.compile_clock import clock
from dgraph.backend.queue_record import QueueRecord
from dgraph.backend.round_stats import Spent
from dgraph.comm import Comm
from dgraph.comm.hosts import host
from dgraph.engine.rounds.round_series import KEPT_ROUNDS, PARTS, RoundSeries

VERSION = 2
"""Version of the report's schema, ``schema.json``: raised when a key is renamed, removed or changes its meaning.
``dgraph/report/read.py`` upgrades reports of earlier versions. 2: the wait for the slowest rank is ``idle``."""

PHASES = ("load", "partition", "build", "prepare", "compile", "init", "solve", "validate", "output")
"""Timers of a run, in the order in which they are first used."""

KEPT_FIGURES, FEWEST_ROUNDS = 1 << 16, 256
"""Upper bound of rounds kept × ranks, so that the report of many ranks stays small; lower bound of rounds kept."""

CORES = os.cpu_count() or 1
"""Cores of this host."""

KEPT_SPANS = 512
"""Upper bound of the phases whose start is kept; a run of many programs has more phases."""


class Ranges(Protocol):
    """Named ranges of a profiler (NVTX): every timer opens and closes one."""

    def push(self, name: str) -> None:
        """Open a range inside the ranges that are open."""

    def pop(self) -> None:
        """Close the range opened last."""


class Record:
    """Record of one rank's run; create it on every rank when the run starts.

    ``with record("pack"): …`` and ``record.add("pack", seconds)`` accumulate. Timers are not reentrant.

    Args:
        comm: the ranks whose records :meth:`collect` combines.
        command: the command line for the report; None means ``sys.argv``.

    Attributes:
        gpu: this rank's GPU, ``ranks[i].gpu`` of the report; None without a GPU.
        gpu_memory: the GPU's memory, ``ranks[i].gpu_memory`` of the report; None without a GPU.
        ranges: profiler that timers are shown to; None without one.
        residuals: True if rounds of programs that name a ``residual`` record it.
    """

    _last: tuple[dict, bytes] = {}, b""
    """What this process gathered last, and its JSON, which the next call on the same graph often sends again."""

    def __init__(self, comm: Comm, command: Sequence[str] | None = None):
        self.comm = comm
        self.command = list(sys.argv if command is None else command)
        self._created = time.time()
        self.began = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.sent: dict[int, list[int]] = {}
        self.facts: dict[str, dict] = {"algorithm": {}, "graph": {}, "outcome": {}}
        self._choices: dict[str, dict] = {}
        self.warnings: list[str] = []
        self.spans: list[tuple[str, float, float]] = []
        self.rounds = RoundSeries(
            self.seconds, self.began, max(FEWEST_ROUNDS, min(KEPT_ROUNDS, KEPT_FIGURES // comm.size))
        )
        self.queues = QueueRecord()
        self.kernels: dict[tuple[str, str, bool], tuple[int, float]] = {}
        self.gpu: dict | None = None
        self.gpu_memory: dict | None = None
        self.ranges: Ranges | None = None
        self.residuals = False
        self._compiled = 0.0  # on the clock of compilation: ``seconds["compile"]`` has what was before
        self._timers: dict[str, _Timer] = {}
        self._ended: tuple[float, int] | None = None

    def __call__(self, name: str) -> _Timer:
        """Return a context manager that adds the time spent inside it to timer ``name``."""
        timer = self._timers.get(name)
        if timer is None:
            timer = self._timers[name] = _Timer(self, name)
        return timer

    def add(self, name: str, seconds: float) -> None:
        """Add seconds that compiled code measured to timer ``name``."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def compiled_until(self, end: float, begin: float) -> None:
        """Add the compilation between two readings of the clock to timer ``compile``, less what was added already."""
        self.add("compile", end - max(begin, min(self._compiled, end)))
        self._compiled = end

    def count(self, name: str, amount: int) -> None:
        """Add to a counter of this rank, such as ``masters``, ``mirrors`` or ``edges``."""
        self.counts[name] = self.counts.get(name, 0) + int(amount)

    def count_most(self, name: str, amount: int) -> None:
        """Raise a counter of this rank to ``amount``: the most of any program of the run."""
        self.counts[name] = max(self.counts.get(name, 0), int(amount))

    def message(self, peer: int, bytes: int, messages: int = 1) -> None:
        """Count ``messages`` of ``bytes`` in total as sent to rank ``peer``."""
        sent = self.sent.setdefault(peer, [0, 0])
        sent[0] += int(bytes)
        sent[1] += int(messages)

    def spent(self, kernels: Iterable[Spent]) -> None:
        """Add launches and GPU seconds of kernels."""
        for one in kernels:
            launches, seconds = self.kernels.get(one[:3], (0, 0.0))
            self.kernels[one[:3]] = launches + one.launches, seconds + one.seconds

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the run's graph."""
        return self.facts["graph"]["fingerprint"]

    def describe(self, section: str, **values) -> None:
        """Set facts that are equal on all ranks.

        Args:
            section: ``algorithm``, ``graph`` or ``outcome``.
            values: by key, anything that :func:`plain` turns into JSON when the report is made; do not change it.
        """
        self.facts[section].update(values)

    def choose(self, what: str, taken: str, reason: str = "") -> None:
        """Set a choice (policy, threads, backend, transport); it replaces an earlier choice of the same ``what``."""
        self._choices.pop(what, None)
        self._choices[what] = {"what": what, "taken": str(taken), "reason": reason}

    @property
    def choices(self) -> list[dict]:
        """Choices so far, in order."""
        return list(self._choices.values())

    def warn(self, text: str) -> None:
        """Add a warning to the report; a repeated one is dropped."""
        if text not in self.warnings:
            self.warnings.append(text)

    def collect(self) -> dict:
        """Return the report that ``schema.json`` describes.

        Collective, and repeatable: a report covers everything since the start. ``ranks`` and ``warnings`` come from all
        ranks, everything else from this one.
        """
        return self._report(self._begin_gathering()())

    def ended(self) -> Callable[[], Callable[[], dict]]:
        """Begin to gather the records of a run that ends now; collective.

        Returns:
            The function that waits, before any other communication; it returns one that makes the report.
        """
        if self.comm.size > 1:
            wait = self._begin_gathering()
            return lambda: partial(self._report, wait())
        self._ended = time.perf_counter() - self.began, peak_memory()
        return lambda: self.collect

    def _begin_gathering(self) -> Callable[[], list[np.ndarray]]:
        """Begin to gather every rank's record as bytes: length of its JSON, JSON, its numbers, those of rounds."""
        times = None if self.comm.size == 1 else self.rounds.times()
        mine, numbers = self._mine(times)
        if Record._last[0] != mine:
            Record._last = mine, json.dumps(mine).encode()
        text, tail = Record._last[1], np.array(numbers).tobytes() + (b"" if times is None else times[0].tobytes())
        record = np.frombuffer(len(text).to_bytes(8, "little") + text + tail, np.uint8)
        return self.comm.begin_allgatherv(record)

    def _report(self, records: list[np.ndarray]) -> dict:
        """Return the report of every rank's record."""
        from dgraph._support.version import __version__

        ranks = []
        for record in records:
            end = 8 + int.from_bytes(record[:8].tobytes(), "little")
            rank = json.loads(record[8:end].tobytes())
            times = _name_numbers(rank, np.frombuffer(record[end:].tobytes()))
            if rank["rounds"] is None:
                rank["rounds"] = self.rounds.parts_of(times.reshape(-1, 2 + len(PARTS) + 1))
            ranks.append(rank)
        warnings = list(dict.fromkeys(text for rank in ranks for text in rank.pop("warnings")))
        return {
            "version": VERSION,
            "dgraph": __version__,
            "created": datetime.fromtimestamp(self._created, UTC).isoformat(timespec="seconds"),
            "command": self.command,
            **plain(self.facts),
            "choices": self.choices,
            "warnings": warnings,
            "wall_seconds": max(rank["seconds"]["wall"] for rank in ranks),
            "hosts": _hosts(ranks),
            "ranks": ranks,
            "imbalance": imbalance(ranks),
            "rounds": self.rounds.summary(),
        }

    def _mine(self, times: tuple[np.ndarray, dict[str, int]] | None) -> tuple[dict, list[float]]:
        """Return this rank's record, and numbers that differ between calls apart: the record is the same in many calls.

        :func:`_name_numbers` brings both into the form of the report, if that is read.

        ``times``: from :meth:`RoundSeries.times`, if they are sent in place of the rounds.
        """
        seconds = dict.fromkeys(PHASES + PARTS, 0.0) | self.seconds
        seconds["wall"], peak = self._ended or (time.perf_counter() - self.began, peak_memory())
        gpu: dict = {} if self.gpu is None else {"gpu": self.gpu}
        if self.gpu_memory is not None:
            gpu["gpu_memory"] = self.gpu_memory
        if schedules := self.rounds.schedules if times is None else times[1]:
            gpu["schedules"] = schedules
        if self.kernels:
            names = ("schedule", "kernel", "walks", "launches", "seconds")
            gpu["kernels"] = [dict(zip(names, (*k, n, round(s, 9)), strict=True)) for k, (n, s) in self.kernels.items()]
        if queues := self.queues.facts():
            gpu["queues"] = queues
        if times is None and (load := self.rounds.loads.facts()):
            gpu["load"] = load
        mine = {
            "rank": self.comm.rank,
            "host": host(self.comm),
            "cores": CORES,
            "seconds": [*seconds],
            "counts": {**self.counts},
            "sent": sorted(self.sent),
            "peak_memory_bytes": peak,
            **gpu,
            "spans": [name for name, _, _ in self.spans],
            "rounds": self.rounds.parts() if times is None else None,
            "warnings": [*self.warnings],
        }
        times_of_spans = [time for span in self.spans for time in span[1:]]
        return mine, [*seconds.values(), *times_of_spans, *(x for peer in mine["sent"] for x in self.sent[peer])]


def _name_numbers(record: dict, numbers: np.ndarray) -> np.ndarray:
    """Put numbers into a rank's part of the report; return those of its rounds."""
    sizes = [len(record["seconds"]), 2 * len(record["spans"]), 2 * len(record["sent"])]
    seconds, spans, sent, rounds = np.split(numbers, np.cumsum(sizes))
    record["seconds"] = {n: round(max(s, 0.0), 9) for n, s in zip(record["seconds"], seconds.tolist(), strict=True)}
    record["spans"] = [
        {"name": name, "start": round(start, 7), "seconds": round(s, 7)}
        for name, (start, s) in zip(record["spans"], spans.reshape(-1, 2).tolist(), strict=True)
    ]
    record["sent"] = [
        {"peer": peer, "bytes": int(size), "messages": int(count)}
        for peer, (size, count) in zip(record["sent"], sent.reshape(-1, 2).tolist(), strict=True)
    ]
    return rounds


def _hosts(ranks: list[dict]) -> list[dict]:
    """Return ``hosts`` of the report; move ``cores`` there from ``ranks``."""
    hosts: dict[str, dict] = {}
    for rank in ranks:
        host = {"host": rank["host"], "cores": rank.pop("cores"), "ranks": [], "peak_memory_bytes": 0}
        host = hosts.setdefault(rank["host"], host)
        host["ranks"].append(rank["rank"])
        host["peak_memory_bytes"] += rank["peak_memory_bytes"]
    return list(hosts.values())


def imbalance(ranks: list[dict]) -> dict[str, dict]:
    """Return max, mean and max / mean over ranks of every timer and counter; the ratio is None where the mean is 0."""
    figures = [
        rank["seconds"]
        | rank["counts"]
        | {f"{what}_sent": sum(peer[what] for peer in rank["sent"]) for what in ("messages", "bytes")}
        | {"peak_memory_bytes": rank["peak_memory_bytes"]}
        for rank in ranks
    ]
    ratios = {}
    for name in dict.fromkeys(name for figure in figures for name in figure):
        values = [figure.get(name, 0) for figure in figures]
        most, mean = max(values), sum(values) / len(values)
        ratios[name] = {"max": most, "mean": mean, "ratio": most / mean if mean else None}
    return ratios


class _Timer:
    """Context manager that adds its duration to ``record.seconds[name]``; one object is reused for each name.

    Compilation inside is added to ``compile`` instead; ``solve`` contains it.
    """

    __slots__ = ("began", "compiled", "name", "phase", "ranges", "record")

    def __init__(self, record: Record, name: str):
        self.record = weakref.proxy(record)  # a cycle would keep every run until the next collection of garbage
        self.name, self.phase = name, name in PHASES

    def __enter__(self) -> None:
        self.ranges = self.record.ranges
        if self.ranges is not None:
            self.ranges.push(self.name)
        self.compiled = clock.seconds
        self.began = perf_counter()

    def __exit__(self, kind, error, traceback) -> None:
        elapsed = perf_counter() - self.began
        if self.ranges is not None:
            self.ranges.pop()
        record, seconds = self.record, self.record.seconds
        if (compiled := clock.seconds) > self.compiled:
            record.compiled_until(compiled, self.compiled if self.name != "compile" else compiled)
            elapsed -= 0.0 if self.name in ("compile", "solve") else compiled - self.compiled
        seconds[self.name] = seconds.get(self.name, 0.0) + elapsed
        if self.phase and len(record.spans) < KEPT_SPANS:
            record.spans.append((self.name, self.began - record.began, elapsed))


def plain(value):
    """Convert ``value`` for JSON: NumPy numbers become Python's; infinities and NaN become text, other types too."""
    if isinstance(value, dict):
        return {str(key): plain(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def peak_memory() -> int:
    """Return the peak resident set size of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
