"""The runs of a comparison: for every way one that warms up, some that are timed, one with events, one that counts.

Time is that of the rounds: neither loading nor compiling is in it. Its split is the load balancing papers': the kernels
that visit edges, and what a strategy costs beside them.   [000 figures 7 and 8]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dgraph.backend.cuda.backend import CudaBackend, Options
from dgraph.errors import UsageError
from dgraph.graph.stored_graph import Graph
from dgraph.report import Progress
from dgraph.result.result import Result
from dgraph.run import run
from dgraph.tools.balance.candidates import Candidate

SLOWER = 20
"""Times the limit that a run which counts edges may take: every launch is then followed by a copy to the host."""

BEFORE = ("start", "apply_totals")
"""Kernels that run before the first round, on one rank."""

CLOSE = 1e-5
"""Relative difference of floats that were added in another order."""


@dataclass
class Cell:
    """What one way came to. Seconds, bytes, edges.

    Attributes:
        seconds: of the rounds, the median of the timed runs; None where there was none.
        spread: the shortest and the longest of them.
        kernel: in kernels that visit edges; ``others``: in the other kernels. The rest is the host's.
        memory: of the GPU at most, the graph included.
        load: edges by block, warp and thread, as a report has them; None where they were not counted.
        series: of every round that a report keeps: number, schedule, edges, the fullest thread block, their mean.
        queues: what those of ``steal`` came to.
        answer: columns of the result.
        told: why something is missing; "" where nothing is.
        right: whether the answer is that of the first way.
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
    queues: dict[str, float] = field(default_factory=dict)
    answer: Mapping[str, np.ndarray] | None = None
    told: str = ""
    right: bool = True

    @property
    def overhead(self) -> float:
        """Seconds beside the kernels that visit edges."""
        return max((self.seconds or 0.0) - self.kernel, 0.0)


def measure(
    backend: CudaBackend, algorithm: str, graph: Graph, compared: Iterable[Candidate], *,
    direction: str, repeat: int, limit: float, parameters: Mapping[str, Any], tell: Callable[[str], None],
) -> list[Cell]:  # fmt: skip
    """A cell for every way, in their order.

    Args:
        backend: its GPU, and the graphs that are on it, serve all ways.
        direction: as for a run.
        repeat: timed runs.
        limit: seconds of rounds after which a run is cut, and said to be.
        tell: is given a line for every way.
    """
    cells: list[Cell] = []
    for candidate in compared:
        cell = Cell(candidate)

        def once(longest: float, cell=cell, candidate=candidate, **recorded: bool) -> Result:
            chosen = backend.choosing(Options(candidate.schedule, **recorded, **candidate.options))
            result = run(
                algorithm, graph, backend=chosen, direction=direction, progress=Watch(longest), **parameters
            )  # fmt: skip
            cell.memory = chosen.device.peak or chosen.planned
            return result

        tell(candidate.label)
        try:
            _fill(cell, once, repeat, limit)
        except Cut as cut:
            cell.told = f"cut after {cut.seconds:.1f} s"
        except UsageError as refused:
            cell.told = str(refused)
        cells.append(cell)
    _compare(cells)
    return cells


def _fill(cell: Cell, once: Callable[..., Result], repeat: int, limit: float) -> None:
    warm = once(limit)
    cell.answer = warm.columns
    times = [_spent(once(limit)) for _ in range(repeat)]
    memory = cell.memory  # of a run that neither uploaded the graph nor counts edges
    cell.seconds, cell.spread = statistics.median(times), (min(times), max(times))
    (rank,) = once(limit, timed=True).report["ranks"]
    for row in rank["kernels"]:
        if row["walks"]:
            cell.kernel += row["seconds"]
        elif row["kernel"] not in BEFORE:
            cell.others += row["seconds"]
    cell.rounds = warm.rounds
    try:
        report = once(SLOWER * limit, record=True).report
    except Cut:
        cell.told = f"counting edges took more than {SLOWER * limit:.0f} s"
        return
    finally:
        cell.memory = memory
    (rank,) = report["ranks"]
    cell.load, cell.queues = rank.get("load"), rank.get("queues", {})
    columns = rank["rounds"]
    if "fullest_block" in columns:
        cell.series = [
            (row["round"], row["schedule"], row["frontier_edges"], fullest, mean)
            for row, fullest, mean in zip(
                report["rounds"]["kept"], columns["fullest_block"], columns["mean_block"], strict=True
            )
        ]


def _spent(result: Result) -> float:
    (rank,) = result.report["ranks"]
    return rank["seconds"]["compute"]


def _compare(cells: list[Cell]) -> None:
    """Every answer with the first: schedules may change nothing but time."""
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
    """A run took too long."""

    def __init__(self, seconds: float):
        self.seconds = seconds


class Watch(Progress):
    """Ends a run whose rounds take longer than ``limit`` seconds; they count from the end of the first call of rounds,
    which may have compiled."""

    def __init__(self, limit: float):
        self.limit, self.began = limit, 0.0

    def phase(self, name, detail=""):
        self.began = 0.0

    def round(self, number, vertices, edges=None, direction=""):
        now = time.perf_counter()
        if not self.began:
            self.began = now
        elif now - self.began > self.limit:
            raise Cut(now - self.began)
