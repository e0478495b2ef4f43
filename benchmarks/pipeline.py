"""Whole jobs by phase, from the command to the file: start, load, build, compile, rounds, validate, gather, output.

A row is a command (its own process, timed from outside, phases from its report), a step of the Python API, or a whole
job on a CPU from edges in memory to a file, beside SciPy, NetworKit and igraph. On a GPU, ``bound`` is the time that
the bytes of the row would take over PCIe or through the GPU's memory, at rates measured here.
"""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

import dgraph
from benchmarks import peers, record

PHASES = (
    "start", "load", "build", "prepare", "compile", "init", "rounds", "validate", "gather", "output", "other",
)  # fmt: skip
PARTS = ("compute", "pack", "exchange", "unpack", "idle")
KEY = ("row", "by")
TOLD = """Seconds of whole jobs and of their phases, medians. `gain`: what the row is about, where that is not the sum.
Of `fresh-cpu`, `gain` is seconds of processors.
`bound`: the row's bytes over PCIe or through GPU memory, at rates measured in the same process."""
CACHES = ("DGRAPH_CACHE_DIR", "NUMBA_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH")
"""Variables that name a folder of machine code."""
WEIGHTED = ("apsp", "mst", "multi_source_sssp", "sssp")
CONVERGING = {"katz": ["--alpha", "0.005"]}
"""Parameters with which an algorithm converges on the graph of ``fresh-cpu``."""
DIRECTED = ("hits", "scc")
"""Algorithms that are measured on a directed graph."""
SEARCHED = ("bfs", "sssp", "cc", "pagerank", "kcore")


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        goal: seconds that the row should take, or a text.
        gpu: True if it needs a GPU.
        measure: ``measure(quick)`` yields measurements: dicts with ``by``, ``phases`` (seconds) and optionally ``gain``
            (seconds), ``pcie`` and ``memory`` (bytes), and ``note``.
    """

    goal: str
    gpu: bool
    measure: Callable[[bool], Iterator[dict]]


def command(words: list[str], fresh: bool = False, ranks: int = 0, caches: str | None = None) -> dict:
    """Run ``python -m dgraph``; return its seconds by phase.

    Args:
        words: the command line.
        fresh: start with empty caches of machine code.
        ranks: ranks under MPI; 0: none.
        caches: folder of the caches of machine code.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # a GPU's optimiser may still write
        report = Path(folder, "report.json")
        names = CACHES if fresh or caches else ()
        environment = os.environ | {name: str(Path(caches or folder, name)) for name in names}
        environment.pop("DGRAPH_COMPILE", None)  # ``benchmarks`` sets it for runs in this process; users do not
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has bytecode
        mpiexec = Path(sys.executable).with_name("mpiexec")
        start = [str(mpiexec if mpiexec.exists() else "mpiexec"), "-n", str(ranks)] if ranks else []
        began = time.perf_counter()
        line = [*start, sys.executable, "-m", "dgraph", *words, "-q", "--report", str(report)]
        subprocess.run(line, check=True, env=environment, capture_output=True)
        wall = time.perf_counter() - began
        told = json.loads(report.read_text())
    return _phases(told, wall) | {"start": wall - told["wall_seconds"]}


def _phases(told: dict, wall: float) -> dict[str, float]:
    """Return seconds by phase of a report's slowest rank; ``other`` is the rest of ``wall``, but for the start."""
    spent = max((rank["seconds"] for rank in told["ranks"]), key=lambda s: s["wall"])
    phases = {name: spent.get(name, 0.0) for name in ("load", "prepare", "compile", "init", "validate", "output")}
    phases |= {"build": spent["build"] + spent["partition"], "rounds": sum(spent[part] for part in PARTS)}
    return phases | {"other": max(min(wall, told["wall_seconds"]) - sum(phases.values()), 0.0)}


def commands(words: str, small: str = "", **options) -> Callable[[bool], Iterator[dict]]:
    """Return the measurement of a command line; with ``quick``, ``small`` takes the place of the graph's name."""

    def measure(quick: bool) -> Iterator[dict]:
        line = words.split()
        if quick and small:
            line[1] = small
        runs = [command(line, **options) for _ in range(1 if quick or options.get("fresh") else 3)]
        yield {"by": "dgraph", "phases": _median(runs), "note": f"`{' '.join(line)}`"}

    return measure


def imports(quick: bool) -> Iterator[dict]:
    """Measure a tiny bfs on a CPU, and the imports that it cannot do without."""
    yield from commands("bfs rmat:8 --backend cpu")(quick)
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import numpy, numba"], check=True)
        seconds.append(time.perf_counter() - began)
    yield {"by": "import numpy, numba", "phases": {"start": statistics.median(seconds)}}


def first_commands(quick: bool) -> Iterator[dict]:
    """Measure README's command on four ranks with empty caches, and first and second commands of all algorithms."""
    yield from commands("sssp rmat:16 --weights hash", fresh=True, ranks=4)(quick)
    graph = "rmat:8" if quick else "rmat:12"
    for algorithm, ranks in product(dgraph.FUNCTIONS, (0, 2)):
        spec = graph if algorithm in DIRECTED else f"{graph},symmetric"
        weights = ["--weights", "1..255"] if algorithm in WEIGHTED else []
        line = [algorithm, spec, "--backend", "cpu", *weights, *CONVERGING.get(algorithm, [])]
        with tempfile.TemporaryDirectory() as caches:
            for turn in ("first", "second"):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                spent = command(line, ranks=ranks, caches=caches)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                by = f"dgraph, {algorithm} {spec}, {ranks or 1} rank{'s' if ranks else ''}, {turn}"
                yield {"by": by, "phases": spent, "gain": busy}


def first_calls(quick: bool, ranks: int = 0) -> Iterator[dict]:
    """Measure the first run of each algorithm on GPUs, each in a job of its own and with empty caches."""
    for algorithm in (*SEARCHED, "color", "louvain", "leiden"):
        weights = ["--weights", "1..255"] if algorithm == "sssp" else []
        spent = command([algorithm, "rmat:14,symmetric", "--backend", "cuda", *weights], fresh=True, ranks=ranks)
        yield {"by": f"dgraph, {algorithm}", "phases": spent, "gain": spent["compile"] + spent["build"]}


def calls(quick: bool) -> Iterator[dict]:
    """Measure calls on a resident graph; ``gain`` is what they cost beyond their rounds."""
    for spec in ("rmat:12,symmetric",) if quick else ("rmat:14,symmetric", "rmat:20,symmetric"):
        weighed, plain = dgraph.Graph.load(spec, weights="1..255"), dgraph.Graph.load(spec)
        for algorithm in SEARCHED:
            graph = weighed if algorithm == "sssp" else plain
            parameters = {"source": graph.hub()} if algorithm in ("bfs", "sssp") else {}
            runs = []
            for _ in range(5 if quick else 50):
                began = time.perf_counter()
                result = dgraph.run(algorithm, graph, **parameters)
                wall = time.perf_counter() - began
                runs.append(_phases(result.report, wall))
                runs[-1]["other"] += max(wall - result.report["wall_seconds"], 0.0)
            spent = _median(runs[2:])
            gain = sum(spent.values()) - spent["rounds"]
            yield {"by": f"dgraph, {algorithm} {spec}", "phases": spent, "gain": gain}


def profile(quick: bool) -> Iterator[dict]:
    """Profile repeated bfs calls on a resident graph: own seconds a call of the functions that take most."""
    graph, calls = dgraph.Graph.load("rmat:12,symmetric" if quick else "rmat:14,symmetric"), 5 if quick else 200
    source, profiler = graph.hub(), cProfile.Profile()
    for turn in range(calls + 5):
        if turn == 5:
            profiler.enable()
        dgraph.bfs(graph, source)
    profiler.disable()
    functions = pstats.Stats(profiler).stats.items()  # type: ignore[attr-defined]
    for (file, line, name), (_, count, own, _, _) in sorted(functions, key=lambda one: -one[1][2])[:16]:
        where = f"{Path(file).parent.name}/{Path(file).name}:{line}, {name}" if line else name
        yield {"by": f"{where}, {count / calls:.0f} times", "phases": {"other": own / calls}}


def predecessors(quick: bool) -> Iterator[dict]:
    """Measure what predecessors cost beyond distances."""
    for spec in ("rmat:12,symmetric",) if quick else ("rmat:24,symmetric", "rmat:25"):
        graph = dgraph.Graph.load(spec)
        source, runs = graph.hub(), []
        for wanted in (False, True):
            times = []
            for _ in range(7):
                began = time.perf_counter()
                dgraph.bfs(graph, source, return_predecessors=wanted)
                times.append(time.perf_counter() - began)
            runs.append(statistics.median(times[2:]))
        memory = 4 * graph.arcs
        yield {"by": f"dgraph, {spec}", "phases": {"rounds": runs[1]}, "gain": runs[1] - runs[0], "memory": memory}
        graph.close()


def gathered(quick: bool) -> Iterator[dict]:
    """Measure ``Result.gather`` of 16 M rows and two columns: the first time, and later."""
    graph, times = dgraph.Graph.load("rmat:12,symmetric" if quick else "rmat:24,symmetric"), []
    source = graph.hub()
    for _ in range(5):
        result = dgraph.bfs(graph, source, return_predecessors=False)
        began = time.perf_counter()
        result.gather()
        times.append(time.perf_counter() - began)
    pcie = 16 * graph.n
    yield {"by": "dgraph, first", "phases": {"gather": times[0]}, "pcie": pcie}
    yield {"by": "dgraph, later", "phases": {"gather": statistics.median(times[1:])}, "pcie": pcie}


def outputs(quick: bool) -> Iterator[dict]:
    """Measure files of 4 M rows and two columns."""
    graph = dgraph.Graph.load("rmat:12,symmetric" if quick else "rmat:22,symmetric")
    result = dgraph.cc(graph)
    for suffix in (".npz", ".txt"):
        times = []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                result.save(Path(folder, f"result{suffix}"))
                times.append(time.perf_counter() - began)
        yield {"by": f"dgraph, {suffix}", "phases": {"output": min(times)}, "pcie": 16 * graph.n}


def jobs(quick: bool) -> Iterator[dict]:
    """Measure whole jobs on the CPU: edges in memory, their graph, the answer as an array, a file."""
    peers.install()
    graph = dgraph.Graph.load("rmat:12,symmetric" if quick else "rmat:20,symmetric", device="cpu")
    n, offsets, targets = graph.n, graph.block.offsets, graph.block.targets.astype(np.int64)
    rows = np.repeat(np.arange(n), np.diff(offsets))
    once, source = rows < targets, graph.hub()
    ends = rows[once], targets[once]
    graph.close()
    for algorithm in ("bfs", "cc", "pagerank"):
        agreed = None
        for library, make in peers.JOBS.items():
            runs = []
            for _ in range(2):
                build, solve = make(algorithm, n, source)
                steps = [time.perf_counter()]
                built = build(*ends)
                steps.append(time.perf_counter())
                answer = np.asarray(solve(built))
                steps.append(time.perf_counter())
                with tempfile.TemporaryDirectory() as folder:
                    np.savez(Path(folder, "answer"), answer)
                    steps.append(time.perf_counter())
                runs.append(dict(zip(("build", "rounds", "output"), np.diff(steps).tolist(), strict=True)))
            figure = CHECKED[algorithm](answer)
            if agreed not in (None, figure):
                raise SystemExit(f"{algorithm}: {library} says {figure}, dgraph {agreed}; nothing was measured")
            agreed = figure
            yield {"by": f"{library}, {algorithm}", "phases": min(runs, key=lambda run: sum(run.values()))}


CHECKED: dict[str, Callable] = {
    "bfs": lambda answer: np.count_nonzero(answer < 1e15),
    "cc": lambda answer: np.unique(answer).size,
    "pagerank": lambda answer: answer.size,  # NetworKit's rounds drop the mass of sinks, igraph's go on to the end
}
"""Algorithm → figure of the answer that all libraries have in common."""

ROWS = {
    "start-gpu": Row("0.9 s", True, commands("bfs rmat:8 --backend cuda")),
    "start-cpu": Row("2 × the imports", False, imports),
    "fresh-cpu": Row("5 s on 4 ranks, others 2 s, on 2 cores", False, first_commands),
    "fresh-gpu": Row("gain 4 s bfs, 2 s others", True, first_calls),
    "fresh-gpus": Row("gain 1.3 × fresh-gpu", True, partial(first_calls, ranks=2)),
    "build": Row("1.5 s", True, commands("bfs rmat:24,symmetric --backend cuda", "rmat:17,symmetric")),
    "largest": Row("it runs", True, commands("bfs rmat:30 --backend cuda", "rmat:17")),
    "validate-pagerank": Row("validate 0.5 s", True, commands("pagerank rmat:24 --backend cuda --validate", "rmat:17")),
    "validate-bfs": Row("3 s", True, commands("bfs rmat:25,symmetric --backend cuda --validate", "rmat:17,symmetric")),
    "call": Row("gain 0.5 ms on a GPU", False, calls),
    "call-profile": Row("the profiler's own time included", False, profile),
    "predecessors": Row("gain 1 ms on a GPU", True, predecessors),
    "gather": Row("120 ms, 30 ms on a GPU", True, gathered),
    "output": Row("60 ms, 150 ms on 16 cores", False, outputs),
    "job": Row("the quickest", False, jobs),
}  # fmt: skip
"""Name → row."""


def measure(rows: list[str], quick: bool, folder: Path) -> None:
    """Run the rows that this machine can, and add them to ``pipeline.json``, ``pipeline.md`` and ``pipeline.svg``."""
    gpu, measured = _gpu(), []
    for name in rows:
        if ROWS[name].gpu and gpu is None:
            print(f"{name}: needs a GPU", flush=True)
            continue
        for one in ROWS[name].measure(quick):
            seconds = {phase: one["phases"][phase] for phase in PHASES if one["phases"].get(phase, 0.0) > 0}
            measured.append({"row": name, "goal": ROWS[name].goal, **one, "phases": seconds})
            print(_line(measured[-1]), flush=True)
    circumstances = record.circumstances(peers.LIBRARIES)
    if gpu is not None:
        circumstances["gpu"], rates = gpu[0], dict(zip(("pcie", "memory"), gpu[1:], strict=True))
        for one in measured:
            moved = [one[kind] / rate for kind, rate in rates.items() if kind in one]
            one |= {"bound": max(moved)} if moved else {}
    keep(folder, [{"circumstances": circumstances, "rows": measured}])


def keep(folder: Path, runs: list[dict]) -> None:
    """Add the rows of these runs, newest first, in place of older ones, and draw all."""
    record.add(folder, "pipeline", runs, KEY, TOLD, _table)
    _plot([row for run in json.loads((folder / "pipeline.json").read_text())["runs"] for row in run["rows"]], folder)


def _gpu() -> tuple[str, float, float] | None:
    """Return name, and bytes a second over PCIe from pinned memory and through memory, of the GPU; None without one."""
    try:
        import cupy

        if not cupy.cuda.runtime.getDeviceCount():
            return None
    except Exception:  # CuPy or the driver is missing
        return None
    there = cupy.zeros(1 << 28, np.uint8)
    here = np.frombuffer(cupy.cuda.alloc_pinned_memory(there.nbytes), np.uint8, there.nbytes)

    def rate(work: Callable[[], object], moved: int) -> float:
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            work()
            cupy.cuda.Device().synchronize()
            seconds.append(time.perf_counter() - began)
        return moved / min(seconds)

    other = cupy.empty_like(there)
    rates = rate(lambda: there.get(out=here), there.nbytes), rate(lambda: cupy.copyto(other, there), 2 * there.nbytes)
    return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), *rates


def _median(runs: list[dict]) -> dict[str, float]:
    """Return the phases of the run of median length."""
    return sorted(runs, key=lambda run: sum(run.values()))[len(runs) // 2]


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{1e3 * value:.2f} ms" if value < 0.1 else f"{value:.2f} s"


def _line(row: dict) -> str:
    parts = ", ".join(f"{name} {_seconds(spent)}" for name, spent in row["phases"].items() if spent > 1e-5)
    figures = [_seconds(value) for value in (sum(row["phases"].values()), row.get("gain"), row.get("bound"))]
    return f"| {row['row']} | {row['by']} | {row['goal']} | {' | '.join(figures)} | {parts} |"


def _table(rows: list[dict]) -> str:
    head = "| row | by | goal | whole | gain | bound | phases |"
    return "\n".join([head, "|-" * 7 + "|", *map(_line, rows)]) + "\n"


def _plot(rows: list[dict], folder: Path) -> None:
    """Draw each row as a bar of its phases' shares, with its seconds beside it; ``merge`` does it where this cannot."""
    try:
        import matplotlib
    except ImportError as missing:
        print(f"no picture was drawn: {missing}")
        return
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.22 * len(rows)), layout="constrained")
    places = np.arange(len(rows))[::-1]
    whole = np.array([sum(row["phases"].values()) for row in rows])
    before = np.zeros(len(rows))
    for number, phase in enumerate(PHASES):
        shares = np.array([row["phases"].get(phase, 0.0) for row in rows]) / whole
        if shares.any():
            axes.barh(places, shares, left=before, label=phase, color=pyplot.get_cmap("tab20")(number))
        before += shares
    for place, seconds in zip(places, whole, strict=True):
        axes.text(1.01, place, _seconds(seconds), va="center", fontsize=8)
    axes.set_yticks(places, [f"{row['row']}: {row['by']}" for row in rows], fontsize=8)
    axes.set(xlim=(0, 1.15), xlabel="share of the whole")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=6, fontsize=8)
    figure.savefig(folder / "pipeline.svg", metadata={"Date": None})
    pyplot.close(figure)
