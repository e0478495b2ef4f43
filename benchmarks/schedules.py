"""Every schedule, and every variant of bfs, on one GPU: time, memory, and balance of blocks.

bfs pushes in every round, as in the papers, unless a variant says otherwise. Only the rounds are timed, as in ``gpu``.
A separate run counts every thread's edges in its first 300 rounds, for the balance. Lines are those of the schedule's
template.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import anchors, record
from benchmarks.gpu import program
from dgraph.tools import benchmarking
from dgraph.tools.benchmarking import BFS_VARIANTS, SCHEDULES

GRAPHS = ("rmat20gt", "er20", "rmat22sym", "road24M", "rmat25alb")
WORK = {"bfs": "bfs top-down", "sssp": "sssp", "cc": "cc", "pagerank": "pagerank", "kcore": "kcore"}
SEARCHES = {"bfs top-down": "level", "sssp": "dist"}
"""Search → field of its distances."""
SYMMETRIC = ("cc", "kcore")
"""Works that a directed graph is left out of."""

LONGEST = 5.0
"""Seconds after which a run is cut; the rounds done so far are reported."""
LONG = 0.3
"""Seconds from which on a run is long enough that the milliseconds for loading kernels do not matter."""

RECORDED = 300
"""Rounds in which edges by thread are counted."""

SERIAL = ("vertex", "steal")
HOPELESS = 1 << 24
"""Edges of one vertex above which ``SERIAL`` schedules are skipped: a running kernel cannot be cut."""


EMPTY: dict = {"seconds": None, "mteps": None, "rounds": None, "imbalance": None, "cut": None}
NOT_RUN = EMPTY | {"cut": "not run: bfs was not, or was cut"}


class Cut(Exception):
    """A run took too long; ``args[0]`` is the reason."""


def solve(gpu: benchmarking.Gpu, machine: benchmarking.Rounds, most: int = 1 << 40) -> float:
    """Return seconds of one run of at most ``most`` rounds."""
    rounds = 1 if machine.schedule in SCHEDULES else 256  # rounds between two looks at the clock
    gpu.wait()
    began = time.perf_counter()
    machine.start()
    while not machine.done and machine.rounds < most:
        machine.go(min(rounds, most))
        if time.perf_counter() - began > LONGEST:
            raise Cut(f"over {LONGEST:g} s, cut after {machine.rounds} rounds")
    gpu.wait()
    return time.perf_counter() - began


@dataclass(frozen=True)
class Entry:
    """Line of the table: a schedule with its options, or a variant of bfs."""

    schedule: str
    options: Mapping[str, Any] = field(default_factory=dict)
    variant: str = ""

    @property
    def name(self) -> str:
        told = [f"--{key.replace('_', '-')} {value}" for key, value in self.options.items()]
        return f"--variant {self.variant}" if self.variant else " ".join([self.schedule, *told])

    def machine(
        self, graph: benchmarking.GpuGraph, work: str, source: int, record: bool = False
    ) -> benchmarking.Rounds:  # fmt: skip
        """Return a machine that is ready to start."""
        program_of_work, forced = program(work, source, graph)
        return benchmarking.Rounds(
            graph, program_of_work, forced, variant=self.variant, schedule=self.schedule, record=record, **self.options
        )


ENTRIES = [
    *(Entry(name) for name in ("auto", "persistent", *SCHEDULES)),
    Entry("edge", {"edge_chunk": "off"}),
    Entry("merge_path", {"merge_by": "memory"}),
    Entry("virtual_warp", {"warp_size": 32}),
    Entry("alb", {"alb_distribution": "blocked"}),
    Entry("alb", {"alb_threshold": "auto"}),
]
VARIED = [Entry("auto", variant=name) for name in BFS_VARIANTS]


def works(directed: bool) -> dict[str, str]:
    """Return the works that a graph has: short name → name."""
    return {short: work for short, work in WORK.items() if not (directed and short in SYMMETRIC)}


def cell(
    gpu: benchmarking.Gpu, graph: benchmarking.GpuGraph, work: str, starts: Sequence[int], entry: Entry, repeat: int,
    arcs: Callable[[np.ndarray], int],
) -> dict:  # fmt: skip
    """Return seconds, rate, bytes and imbalance of one entry for one algorithm; a search's from several sources.

    Args:
        gpu, graph, work, entry: what runs.
        starts: sources; seconds and rates of a search are means over them.
        repeat: timed runs from the first source; the others have one each.
        arcs: distances → arcs that leave reached vertices.
    """
    row = dict(EMPTY)
    source, times, rates = starts[0], list[float](), list[float]()
    try:
        machine = entry.machine(graph, work, source)
        row["bytes"] = machine.bytes
        if machine.schedule in SERIAL and graph.largest > HOPELESS:
            raise Cut(f"not run: one thread would walk {graph.largest:,} edges")
        while len(times) <= repeat and sum(times) < LONG:  # the first run loads kernels; it counts only if it is long
            machine = entry.machine(graph, work, source)
            times.append(solve(gpu, machine))
        pace = [min(times[1:] or times)]
        row["rounds"] = machine.rounds
        for start in starts if work in SEARCHES else ():
            if start != source:
                machine = entry.machine(graph, work, start)
                pace.append(solve(gpu, machine))
            rates.append(arcs(machine.fields()[SEARCHES[work]]) / pace[-1])
        row |= {"seconds": statistics.mean(pace), "sources": len(pace)}
        row["mteps"] = statistics.mean(rates) / 1e6 if rates else None
        machine = entry.machine(graph, work, source, record=True)
        solve(gpu, machine, most=RECORDED)
        if queues := machine.queues():
            row["queues"] = queues
        loads = machine.edges_by_block()
        row["imbalance"] = imbalance(loads) if loads.any() else None  # pulls without a schedule are not recorded
    except Cut as cut:
        row["cut"] = cut.args[0]
    return row


def imbalance(loads: np.ndarray) -> float:
    """Return the edges of the fullest block over the mean of all launched blocks."""
    launched = loads[: np.flatnonzero(loads)[-1] + 1]
    return float(launched.max() / launched.mean())


def lines(schedule: str) -> int | None:
    """Return the lines of a schedule's template that are neither blank nor comments."""
    text = benchmarking.template(schedule)
    if text is None:
        return None
    return sum(bool(line.strip()) and not line.strip().startswith("//") for line in text.splitlines())


def measure(graphs: list[str], repeat: int, folder: Path, sources: int = 1) -> None:
    """Run everything and write ``schedules-GRAPH.json`` and ``schedules-GRAPH.md`` for every graph.

    Args:
        graphs: of ``GRAPHS``.
        repeat: timed runs.
        folder: of the files.
        sources: of a search: the vertex of most edges, and random ones that have edges.
    """
    gpu = benchmarking.Gpu()
    where = record.circumstances(("cupy-cuda13x",)) | {"gpu": gpu.name}
    for name in graphs:
        drawn = anchors.graph(name)
        graph = benchmarking.GpuGraph(gpu, *drawn.rows, drawn.directed)
        starts, degree = anchors.sources(drawn, sources), gpu.device.get(drawn.rows[0][1:] - drawn.rows[0][:-1])

        def arcs(distances: np.ndarray, degree=degree) -> int:
            return int(degree[distances < np.iinfo(distances.dtype).max].sum())

        rows: list[dict] = []
        for short, work in works(drawn.directed).items():
            for entry in [*ENTRIES, *(VARIED if short == "bfs" else ())]:
                row = {"graph": name, "work": short, "schedule": entry.name, "lines": lines(entry.schedule)}
                cut = [earlier for earlier in rows if earlier["schedule"] == entry.name and earlier["cut"]]
                row |= (
                    NOT_RUN | {"bytes": cut[0]["bytes"]} if cut else cell(gpu, graph, work, starts, entry, repeat, arcs)
                )
                rows.append(row)
                print(*row.values(), flush=True)
            record.write(folder, f"schedules-{name}", {"circumstances": where, "rows": rows}, table(rows))
        del graph, drawn
        gpu.free_unused()


def table(rows: list[dict]) -> str:
    """Return one table per graph and algorithm, fastest first, and the ratio of ``auto`` to the fastest schedule."""
    text = []
    for graph, work in dict.fromkeys((row["graph"], row["work"]) for row in rows):
        mine = [row for row in rows if (row["graph"], row["work"]) == (graph, work)]
        mine.sort(key=lambda row: row["seconds"] or LONGEST)
        singles = [row["seconds"] for row in mine if row["seconds"] and not row["schedule"].startswith(("auto", "--"))]
        auto = next((row["seconds"] for row in mine if row["schedule"] == "auto"), None)
        told = f": auto takes {auto / min(singles):.2f}× the fastest single schedule" if auto and singles else ""
        text += [
            f"**{graph}, {work}**{told}",
            "",
            "| schedule | ms | million edges/s | MiB | max/mean edges a block | lines |",
            "|-|-|-|-|-|-|",
        ]
        for row in mine:
            ms = f"{1000 * row['seconds']:,.2f}" if row["seconds"] else row["cut"]
            even = f"{row['imbalance']:,.2f}" if row["imbalance"] else "–"
            mib = f"{row['bytes'] / 2**20:,.0f}"
            rate = f"{row['mteps']:,.0f}" if row.get("mteps") else "–"
            text.append(f"| {row['schedule']} | {ms} | {rate} | {mib} | {even} | {row['lines'] or '–'} |")
        queues = [row["queues"] for row in mine if "queues" in row]
        text += ["", *(_told(of) for of in queues), *[""] * len(queues)]
    return "\n".join(text)


def _told(q: dict) -> str:
    """Return a line with statistics of the queues of ``steal``."""
    return (
        f"steal: {q['tasks']:,} tasks in {q['queues']} queues, {q['stolen']:,} of them stolen; by queue "
        f"{q['least']:,} to {q['most']:,}, mean {q['mean']:,.1f}, standard deviation {q['deviation']:,.1f}"
    )
