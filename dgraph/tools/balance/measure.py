"""Runs of a comparison. Each schedule has one warm-up run, timed runs, one run with events, and one that counts edges.

Time is that of the rounds, without loading and compiling. It is split as in the load-balancing papers into the kernels
that visit edges and the overhead of the strategy.   [000 figures 7 and 8]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dgraph.backend.cuda.backend import CudaBackend, GpuPlan
from dgraph.engine.run_options import Options
from dgraph.errors import UsageError
from dgraph.graph.stored_graph import Graph
from dgraph.report import Progress
from dgraph.result.result import Result
from dgraph.run import run
from dgraph.tools.balance.candidates import Candidate

SLOWER = 20
"""Factor on the time limit for the run that counts edges, because every launch is followed by a copy to the host."""

BEFORE = ("start", "apply_totals")
"""Kernels that run before the first round, on one rank."""

CLOSE = 1e-5
"""Relative tolerance for floats that were added in another order."""


@dataclass
class Cell:
    """Measurements of one schedule, in seconds, bytes and edges.

    Attributes:
        candidate: schedule and options.
        seconds: rounds, mean over sources of the median of the timed runs; None if there was none.
        spread: minimum and maximum of the timed runs.
        kernel: time in kernels that visit edges.
        others: time in other kernels; the remainder of ``seconds`` is the host's.
        rounds: number of rounds.
        memory: peak on the GPU, with the graph.
        load: edges by block, warp and thread, as in a report; None if they were not counted.
        series: for each round that a report keeps: number, schedule, edges, maximum and mean edges of a thread block.
        queues: statistics of the queues of schedule ``steal``.
        counts: counters of the run.
        answer: columns of the result.
        note: reason why something is missing; "" if nothing is.
        right: True if the answer equals that of the first schedule.
        rate: arcs of reached vertices a second, mean over sources [004]; None of algorithms that do not search.
    """

    candidate: Candidate
    seconds: float | None = None
    spread: tuple[float, float] = (0.0, 0.0)
    kernel: float = 0.0
    others: float = 0.0
    rounds: int = 0
    memory: int = 0
    load: dict[str, Any] | None = None
    series: list[tuple[int, str, int, int, float]] = field(default_factory=list)
    queues: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    answer: Mapping[str, np.ndarray] | None = None
    note: str = ""
    right: bool = True
    rate: float | None = None

    @property
    def overhead(self) -> float:
        """Seconds outside the kernels that visit edges."""
        return max((self.seconds or 0.0) - self.kernel, 0.0)


def measure(
    backend: CudaBackend, algorithm: str, graph: Graph, compared: Iterable[Candidate], *,
    options: Options, repeat: int, limit: float, parameters: Mapping[str, Any], announce: Callable[[str], None],
    sources: Sequence[int | str] = (),
) -> list[Cell]:  # fmt: skip
    """Measure every candidate, in order.

    Args:
        backend: its GPU, and the graphs that lie on it, serve all runs.
        algorithm: name of the algorithm.
        graph: the graph.
        compared: schedules with their options.
        options: options of every run, without a schedule.
        repeat: number of timed runs.
        limit: seconds of rounds after which a run is aborted; the cell's note records it.
        parameters: the algorithm's.
        announce: called with the label of each candidate before its runs.
        sources: start vertices of the timed runs; the others start from the first. Empty: that of ``parameters``.
    """
    cells: list[Cell] = []
    starts = [{"source": source} for source in sources] or [{}]
    for candidate in compared:
        cell = Cell(candidate)

        def once(
            longest: float, start: Mapping[str, int | str] = starts[0], cell=cell, candidate=candidate, **recorded: bool
        ) -> Result:  # fmt: skip
            chosen = backend.choosing(GpuPlan(candidate.schedule, **recorded, **candidate.options))
            result = run(
                algorithm, graph.on(device=chosen), options=options, progress=RoundLimit(longest),
                **{**parameters, **start},
            )  # fmt: skip
            cell.memory = chosen.device.peak or chosen.planned
            return result

        announce(candidate.label)
        try:
            _fill(cell, once, repeat, limit, starts)
        except Cut as cut:
            cell.note = f"cut after {cut.seconds:.1f} s"
        except UsageError as refused:
            cell.note = str(refused)
        cells.append(cell)
    _compare(cells)
    return cells


def _fill(
    cell: Cell, once: Callable[..., Result], repeat: int, limit: float, starts: Sequence[Mapping[str, int | str]]
) -> None:  # fmt: skip
    warm = once(limit)
    cell.answer = warm.columns
    runs = [[_spent(once(limit, start)) for _ in range(repeat)] for start in starts]
    memory = cell.memory  # of a run that neither uploads the graph nor counts edges
    medians = [statistics.median(seconds for seconds, _ in of_source) for of_source in runs]
    times = [seconds for of_source in runs for seconds, _ in of_source]
    cell.seconds, cell.spread = statistics.mean(medians), (min(times), max(times))
    arcs = [of_source[0][1] for of_source in runs]
    rates = [count / seconds for count, seconds in zip(arcs, medians, strict=True) if count is not None]
    cell.rate = statistics.mean(rates) if rates else None
    (rank,) = once(limit, timed=True).report["ranks"]
    for row in rank["kernels"]:
        if row["walks"]:
            cell.kernel += row["seconds"]
        elif row["kernel"] not in BEFORE:
            cell.others += row["seconds"]
    cell.rounds = warm.rounds
    cell.note = "; ".join(text for text in warm.report["warnings"] if text.startswith("no round used"))
    try:
        report = once(SLOWER * limit, record=True).report
    except Cut:
        cell.note = f"counting edges took more than {SLOWER * limit:.0f} s"
        return
    finally:
        cell.memory = memory
    (rank,) = report["ranks"]
    cell.load, cell.queues = rank.get("load"), rank.get("queues", {})
    cell.counts = rank["counts"]
    columns = rank["rounds"]
    if "fullest_block" in columns:
        cell.series = [
            (row["round"], row["schedule"], row["frontier_edges"], fullest, mean)
            for row, fullest, mean in zip(
                report["rounds"]["kept"], columns["fullest_block"], columns["mean_block"], strict=True
            )
        ]


def _spent(result: Result) -> tuple[float, int | None]:
    """Return seconds of the rounds, and arcs that leave reached vertices; None of an algorithm that counts none."""
    (rank,), edges = result.report["ranks"], result.report["outcome"].get("edges_traversed")
    directed = result.report["graph"]["directed"]
    return rank["seconds"]["compute"], edges if edges is None or directed else 2 * edges


def _compare(cells: list[Cell]) -> None:
    """Compare every answer with the first one; schedules must not change the result."""
    first = next((cell.answer for cell in cells if cell.answer is not None), None)
    for cell in cells:
        if cell.answer is not None and first is not None:
            cell.right = all(_same(values, first[name]) for name, values in cell.answer.items())
        cell.answer = None


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    return bool(np.allclose(one, other, rtol=CLOSE, atol=0.0))


class Cut(Exception):
    """A run exceeded its time limit."""

    def __init__(self, seconds: float):
        self.seconds = seconds


class RoundLimit(Progress):
    """Progress observer that aborts a run whose rounds take longer than ``limit`` seconds.

    The time starts at the end of the first round, which may include compilation.
    """

    def __init__(self, limit: float):
        self.limit, self.began = limit, 0.0

    def phase(self, name, detail=""):
        """Reset the clock."""
        self.began = 0.0

    def round(self, number, vertices, edges=None, direction=""):
        """Start the clock, or raise :class:`Cut` if the limit has passed."""
        now = time.perf_counter()
        if not self.began:
            self.began = now
        elif now - self.began > self.limit:
            raise Cut(now - self.began)
