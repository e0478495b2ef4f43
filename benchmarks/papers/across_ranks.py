"""Cells that run on several ranks: processes of one CPU thread each, or one for each GPU, started by ``mpiexec``.

Emulated GPUs are threads of this process; their blocks are counted, not timed.

``python -m benchmarks.papers.across_ranks`` is the process of a rank; its first call may compile, and does not count.
CPU ranks draw at full scale the graphs that a GPU draws at small scale. Computation is that of the slowest rank; the
rest of the round time is communication that it does not cover.   [002 6.2]
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dgraph
from benchmarks.papers.bench import BLOCKS, SEARCHES, SIZES, Bench, Shape, import_from_tests
from benchmarks.papers.figure import CPU, CUDA, EMULATED, Cell, NotTried, Row, Rows, all_of, ratio

LONGEST = 300
"""Seconds that a job may take."""

PARTS = ("compute", "pack", "exchange", "unpack", "idle")
WORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "bfs": ("push", {"return_predecessors": False}),
    "pagerank": ("auto", {"tol": 0.0, "max_iter": 20}),
}
"""Work → direction and parameters."""

REPEAT = 3

EMULATED_RANKS = (1, 2, 3, 4)


def cells(bench: Bench, graphs: Mapping[str, Shape], works: Sequence[str], schedules: Sequence[str]) -> Iterator[Cell]:
    """Yield a cell for each graph, work, schedule (GPUs alone) and number of ranks."""
    counts = [1 << k for k in range(5)]
    cores = len(os.sched_getaffinity(0))
    most, lack = counts[-1], ""
    if bench.backend == CUDA:
        most, lack = gpus(), f"this host has {gpus()} GPU{'s' * (gpus() > 1)}"
    elif bench.scale == "small":
        most, lack = 2 * cores, f"this host has {cores} cores; --scale full takes up to {most} ranks"
    for name, shape in graphs.items():
        spec = bench.spec(shape)
        if (bench.backend, bench.scale) == (CPU, "full"):
            spec = shape.spec.format(s=shape.sizes[SIZES[CUDA, "small"]])
        for work in works:
            for schedule in schedules if bench.backend == CUDA else ("CPU ranks",):
                for ranks in counts:
                    system = f"{schedule.upper() if bench.backend == CUDA else schedule} × {ranks}"
                    key = {"graph": name, "spec": spec, "work": work, "system": system, "ranks": ranks}
                    if ranks > most:
                        yield key, partial(dict, note=f"not tried: {lack}")
                    else:
                        yield key, partial(_job, bench, spec, work, schedule, ranks)


def counted(bench: Bench, graphs: Mapping[str, Shape], schedules: Sequence[str]) -> Iterator[Cell]:
    """Yield a cell of bfs for each graph, schedule and number of emulated GPUs: edges of the fullest blocks."""
    for name, shape in graphs.items():
        for schedule in schedules:
            for ranks in EMULATED_RANKS:
                system = f"{schedule.upper()} × {ranks}"
                key = {"graph": name, "spec": bench.spec(shape), "work": "bfs", "system": system, "ranks": ranks}
                yield key, partial(_fullest, bench, shape, schedule, ranks)


def _fullest(bench: Bench, shape: Shape, schedule: str, ranks: int) -> Row:
    """Return the edges of the fullest block of any rank, summed over rounds: a round lasts as long as that block."""
    import_from_tests()
    import gpu_ranks
    import simulated

    graph = bench.graph(shape)
    arcs = simulated.graph(graph.n, graph.block.sources(), graph.block.targets)
    hub = 1 + int(np.diff(graph.block.offsets).argmax())  # simulated ids begin at 1
    loads = gpu_ranks.loads_of_bfs(ranks, arcs, hub, schedule, BLOCKS)
    most: dict[int, int] = {}
    for one in (one for load in loads for one in load["rounds"]):
        most[one["round"]] = max(most.get(one["round"], 0), one["block"]["max"])
    walked = sum(load["edges"] for load in loads)
    return {"rounds": len(most), "walked": walked / max(graph.arcs, 1), "block_edges": sum(most.values())}


def gpus() -> int:
    """Return the number of GPUs of this host."""
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    return max(len(listed.splitlines()), 1)


def _job(bench: Bench, spec: str, work: str, schedule: str, ranks: int) -> Row:
    launcher = shutil.which("mpiexec") or shutil.which("mpirun")
    if launcher is None and ranks > 1:
        return {"note": "not tried: there is no mpiexec"}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        start = [] if ranks == 1 else [str(launcher), "-n", str(ranks)]
        chosen = [bench.backend, "auto" if bench.backend == CPU else schedule]
        words = [sys.executable, "-m", "benchmarks.papers.across_ranks", work, spec, *chosen, str(report)]
        compiled = os.environ | ({"DGRAPH_COMPILE": "always"} if bench.backend == CPU else {})  # no rounds by NumPy
        done = subprocess.run(
            [*start, *words], capture_output=True, text=True, timeout=LONGEST, check=False, env=compiled
        )
        if done.returncode:
            return {"note": f"not tried: {' '.join((done.stderr or 'no words').split())[-200:]}"}
        return _figures(json.loads(report.read_text())) | ({"threads": 1} if bench.backend == CPU else {})


def rank(work: str, spec: str, backend: str, schedule: str, file: str) -> None:
    """Run a work on this rank, and write the report of the median call."""
    device = dgraph.Cpu(threads=1) if backend == CPU else "cuda"
    graph = dgraph.Graph.load(spec, device=device)
    direction, parameters = WORKS[work]
    if work in SEARCHES:
        parameters = parameters | {"source": graph.hub()}
    options = dgraph.Options(direction=direction, schedule=schedule)
    calls = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dgraph.ConvergenceWarning)
        for _ in range(1 + REPEAT):
            calls.append(dgraph.run(work, graph, options=options, **parameters).report)
    last = sorted(calls[1:], key=lambda report: report["ranks"][0]["seconds"]["compute"])[REPEAT // 2]
    if graph.comm.rank == 0:
        Path(file).write_text(json.dumps(last))


def _figures(report: dict[str, Any]) -> Row:
    seconds = [rank["seconds"] for rank in report["ranks"]]
    computation = max(rank["compute"] for rank in seconds)
    whole = max(sum(rank[part] for part in PARTS) for rank in seconds)
    return {
        "computation_ms": 1e3 * computation, "communication_ms": 1e3 * max(whole - computation, 0.0),
        "rounds": report["rounds"]["count"],
        "sent": sum(peer["bytes"] for rank in report["ranks"] for peer in rank["sent"]),
    }  # fmt: skip


def compared(figure: str, graph: str, backend: str, rows: Rows) -> tuple[bool, str]:
    """Test that ALB is faster than TWC for bfs on every number of GPUs that ran."""
    tests = []
    every = rows.of(figure, graph=graph, backend=backend, work="bfs")
    counts = sorted({row["ranks"] for row in every if "computation_ms" in row})
    for ranks in counts:
        key = {"graph": graph, "backend": backend, "work": "bfs"}
        times = [rows.value("computation_ms", figure, system=f"{s} × {ranks}", **key) for s in ("TWC", "ALB")]
        tests.append(ratio(f"{ranks} GPUs, bfs TWC / ALB", *times))
    if not tests:
        raise NotTried("needs GPUs")
    holds, numbers = all_of(*tests)
    return holds, f"up to {counts[-1]} GPUs of one host, more were not tried: {numbers}"


def fuller_blocks(figure: str, graph: str, rows: Rows) -> tuple[bool, str]:
    """Test that the fullest blocks have fewer edges under ALB than under TWC on every number of emulated GPUs."""
    tests = []
    for ranks in EMULATED_RANKS:
        key = {"graph": graph, "backend": EMULATED, "ranks": ranks}
        edges = [rows.value("block_edges", figure, system=f"{s} × {ranks}", **key) for s in ("TWC", "ALB")]
        tests.append(ratio(f"{ranks} GPUs, edges TWC / ALB", *edges))
    return all_of(*tests)


def scaled(figure: str, graph: str, rows: Rows) -> tuple[bool, str]:
    """Test that each doubling of CPU ranks shortens the computation of the slowest rank."""
    times = [(row["ranks"], row["computation_ms"]) for row in _on_cpu_ranks(figure, graph, rows)]
    steps = itertools.pairwise(times)
    return all_of(*(ratio(f"{a} / {b} CPU ranks, ms", slower, faster) for (a, slower), (b, faster) in steps))


def short_rounds(figure: str, graph: str, rows: Rows) -> str:
    """Return ranks × milliseconds of computation, and of communication, in a round of the fewest and the most ranks."""
    ranks = _on_cpu_ranks(figure, graph, rows)
    parts = (
        f"{row['ranks']} × {row['computation_ms'] / row['rounds']:.2g} + {row['communication_ms'] / row['rounds']:.2g}"
        for row in (ranks[0], ranks[-1])
    )
    return f"rounds are short: {', '.join(parts)} ms"


def _on_cpu_ranks(figure: str, graph: str, rows: Rows) -> list[Row]:
    """Return the rows of CPU ranks at one scale by number of ranks."""
    every = [row for row in rows.of(figure, graph=graph, backend=CPU, work="bfs") if "computation_ms" in row]
    if len(every) < 2:
        raise NotTried("needs more than one CPU rank")
    return sorted((row for row in every if row["scale"] == every[0]["scale"]), key=lambda row: row["ranks"])


def mostly_computation(figure: str, graph: str, backend: str, rows: Rows) -> tuple[bool, str]:
    """Test that computation takes most of the time under TWC on more than one GPU."""
    key = {"graph": graph, "backend": backend, "work": "bfs", "system": "TWC × 2"}
    parts = [rows.value(column, figure, **key) for column in ("computation_ms", "communication_ms")]
    return ratio("computation / communication on 2 GPUs", parts[0], max(parts[1], 1e-9))


if __name__ == "__main__":
    rank(*sys.argv[1:])
