"""``Bench``: graphs and runs of one backend, for the cells of figures.

A run is a call of :func:`dgraph.run` on a graph that stays on the device; seconds are those of its rounds. A second run
has events around every kernel, a third one counts the edges of blocks, warps and threads. Under emulation (the CUDA
text compiled as C++) counts are exact, and no time is kept.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dgraph
from benchmarks.papers import sequential
from benchmarks.papers.figure import CPU, CUDA, EMULATED, Cell, Row
from dgraph.report import Progress
from dgraph.tools import benchmarking

LONGEST = {"small": 5.0, "full": 20.0}
"""Scale → seconds of rounds after which a run is cut."""

LONG = 1.0
"""Seconds of rounds from which on a second run, after one that may compile, is the measurement."""

SEQUENTIAL_SOURCES = 10
"""Sources of a sequential text where others have more."""

PREPARING = ("start", "apply_totals")
"""Kernels that run before the first round."""

SETTLED = 4
"""Rounds after which a run has all its memory."""

BLOCKS = 4
"""Thread blocks of the emulated GPU."""

SIZES = {(EMULATED, "small"): 0, (CPU, "small"): 1, (CUDA, "small"): 2}


@dataclass(frozen=True)
class Shape:
    """Graph of a paper, or its stand-in.

    Attributes:
        spec: generator, with ``{s}`` where its size stands.
        sizes: emulated, on a CPU, on a GPU, and the paper's.
        weights: rule of the weights; None: the generator's own.
        about: the paper's graph that it stands for.
    """

    spec: str
    sizes: tuple[int, int, int, int]
    weights: str | None
    about: str


@dataclass(frozen=True)
class System:
    """Contestant: a schedule, a variant, or a sequential text."""

    name: str
    schedule: str = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sequential: str = ""


WORKS: dict[str, dict[str, Any]] = {
    "bfs": {"return_predecessors": False},
    "sssp": {"return_predecessors": False, "variant": "bellman-ford"},
    "cc": {"variant": "label-propagation"},
    "pagerank": {"tol": 0.0, "max_iter": 20},
    "kcore": {"k": 16},
    "kcore, pull": {"k": 16},
    "color": {},
    "mapping": {"variant": "label-propagation"},
}
"""Work → parameters. sssp keeps a worklist as the papers do; ``mapping`` is one round that visits all edges."""

SEARCHES, PUSHED, PULLED = ("bfs", "sssp"), ("bfs", "sssp", "cc", "mapping"), ("kcore, pull",)
UNDIRECTED = ("cc", "kcore", "kcore, pull", "color", "mapping")


class Cut(Exception):
    """A run exceeded ``LONGEST``."""


class Limit(Progress):
    """Progress that cuts a run; the clock starts with its second round, as the first may compile."""

    def __init__(self, seconds: float):
        super().__init__()
        self.began, self.seconds = 0.0, seconds

    def phase(self, name, detail=""):
        self.began = 0.0

    def round(self, number, vertices, edges=None, direction=""):
        now = time.perf_counter()
        self.began = self.began or now
        if now - self.began > self.seconds:
            raise Cut(f"cut after {self.seconds:g} s")


class Bench:
    """One backend at one scale.

    Attributes:
        rows: of this paper so far, for figures that are drawn from others.
    """

    def __init__(self, backend: str, scale: str, repeat: int = 3, sources: int | None = None):
        self.backend, self.scale, self.repeat, self.sources = backend, scale, repeat, sources
        self.rows: list[Row] = []
        self._loaded: tuple[Any, dgraph.Graph] | None = None
        self._gpu = None if backend == CPU else benchmarking.Gpu(device=_emulator() if backend == EMULATED else None)
        self.machine = "emulated" if backend == EMULATED else self._gpu.name if self._gpu else ""

    def size(self, shape: Shape) -> int:
        """Return the size of a graph at this scale."""
        return shape.sizes[SIZES.get((self.backend, self.scale), 0 if self.backend == EMULATED else 3)]

    def spec(self, shape: Shape) -> str:
        """Return the generator of a graph at this scale."""
        return shape.spec.format(s=self.size(shape))

    def graph(self, shape: Shape, undirected: bool = False, on_host: bool = False) -> dgraph.Graph:
        """Load a graph; the last one is kept, with its undirected form."""
        key = self.spec(shape), shape.weights, on_host
        if self._loaded is None or self._loaded[0] != key:
            self._loaded = None
            if self._gpu is not None and self.backend == CUDA:
                self._gpu.free_unused()
            weights = {} if shape.weights is None else {"weights": shape.weights}
            device = "cuda" if self.backend == CUDA and not on_host else "cpu"
            self._loaded = key, dgraph.Graph.load(key[0], device=device, **weights)
        graph = self._loaded[1]
        return graph.undirected("min") if undirected and graph.directed else graph

    def starts(self, graph: dgraph.Graph, count: int) -> list[int]:
        """Return the vertex of most edges, or several random vertices that have edges."""
        if count == 1:
            return [int(graph.hub())]
        linked = np.flatnonzero(np.diff(graph.block.offsets))
        return np.random.default_rng(7).choice(linked, min(count, linked.size), replace=False).tolist()

    def run(
        self, shape: Shape, work: str, system: System, sources: int = 1, load: bool = False, **parameters: Any,
    ) -> Row:  # fmt: skip
        """Measure one system on one graph.

        Args:
            shape, work, system: what runs.
            sources: sources of a search.
            load: count the edges of blocks, warps and threads.
            parameters: of the algorithm.

        Returns:
            ``ms`` (mean over sources of the median run), ``kernel_ms`` and ``overhead_ms``, ``mteps`` (edges of reached
            vertices a second), ``rounds``, ``walked`` (edges visited ÷ edges), ``answer``, and with ``load`` or under
            emulation ``block``, ``warp`` and ``thread``: largest ÷ mean edges.
        """
        graph = self.graph(shape, work in UNDIRECTED)
        if work == "sssp":
            parameters = {"variant": "bellman-ford"} | parameters
        starts = self.starts(graph, self.sources or sources if work in SEARCHES else 1)
        if system.sequential:
            few = starts[:SEQUENTIAL_SOURCES]
            return sequential.measure(system.sequential, graph, few, 1 if len(starts) > 1 else self.repeat)
        calls = _Calls(self, graph, work, system, parameters)
        row: Row = {"n": graph.n, "arcs": graph.arcs}
        try:
            if self.backend != EMULATED:
                row |= calls.times(starts)
            if self._gpu is not None and (load or self.backend == EMULATED):
                row |= calls.loads(starts[0])
        except Cut as cut:
            row["note"] = cut.args[0]
        return row

    def memory(self, shape: Shape, work: str, system: System) -> Row:
        """Return ``mib``: peak GPU memory of a few rounds, with the graph and what the system keeps beside it.

        Nothing of other systems is on the GPU. A first run copies the graph, so that the second one's peak has none of
        the memory that copying takes.
        """
        graph = self.graph(shape, work in UNDIRECTED, on_host=True)
        assert self._gpu is not None, "memory is that of a GPU"
        self._gpu.release()
        calls = _Calls(self, graph, work, system, {}, rounds=SETTLED)
        start = self.starts(graph, 1)[0]
        calls.once(start)
        (rank,) = calls.once(start).report["ranks"]
        return {"n": graph.n, "arcs": graph.arcs, "mib": rank["gpu_memory"]["peak_bytes"] / 2**20}

    def transfers(self, shape: Shape, work: str, system: System) -> Row:
        """Return ``ms`` of a run, ``copied_ms`` of copies of rows and result, and ``share``: their percent of both."""
        graph = self.graph(shape, work in UNDIRECTED, on_host=True)
        assert self._gpu is not None, "transfers go to a GPU"
        calls, device = _Calls(self, graph, work, system, {}), self._gpu.device
        row = calls.times(self.starts(graph, 1)) | {"n": graph.n, "arcs": graph.arcs}
        seconds = []
        for _ in range(1 + self.repeat):  # the first one allocates
            began = time.perf_counter()
            rows = [device.put(part) for part in (graph.block.offsets, graph.block.targets)]
            device.get(rows[0][: graph.n].astype(np.int32))
            seconds.append(time.perf_counter() - began)
        copied = 1e3 * statistics.median(seconds[1:])
        return row | {"copied_ms": copied, "share": 100 * copied / (copied + row["ms"])}

    def device(self, schedule: str, record: str | None) -> Any:
        """Return the device of a run, on which graphs stay."""
        return "cpu" if self._gpu is None else self._gpu.backend(schedule, record)


class _Calls:
    """Runs of one system on one graph."""

    def __init__(
        self, bench: Bench, graph: dgraph.Graph, work: str, system: System, parameters: Mapping[str, Any],
        rounds: int | None = None,
    ):  # fmt: skip
        self.bench, self.graph, self.work, self.system = bench, graph, work, system
        self.parameters = WORKS[work] | parameters | system.parameters
        self.name, self.rounds = ("cc", 1) if work == "mapping" else (work.partition(",")[0], rounds)

    def once(self, source: int, record: str | None = None) -> dgraph.Result:
        parameters = dict(self.parameters)
        if self.work in SEARCHES:
            parameters["source"] = source
        pushed = self.work in PUSHED and "variant" not in self.system.parameters
        direction = "push" if pushed else "pull" if self.work in PULLED else "auto"
        options = dgraph.Options(direction=direction, max_rounds=self.rounds)
        placed = self.graph.on(device=self.bench.device(self.system.schedule, record))
        limit = Limit(LONGEST[self.bench.scale])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dgraph.ConvergenceWarning)
            return dgraph.run(self.name, placed, options=options, progress=limit, **parameters)

    def times(self, starts: Sequence[int]) -> Row:
        """Return seconds and rates."""
        first = self.once(starts[0])
        repeat, medians, rates = 1 if len(starts) > 1 else self.bench.repeat, [], []
        for source in starts:
            results = [first if source == starts[0] and _settled(first) else self.once(source)]
            while len(results) < repeat and _seconds(results[0]) <= LONG:
                results.append(self.once(source))
            seconds = statistics.median(map(_seconds, results))
            medians.append(seconds)
            if self.work in SEARCHES:
                rates.append(_edges(self.graph, results[-1]) / seconds)
        (rank,) = first.report["ranks"]
        row = {"ms": 1e3 * statistics.mean(medians), "sources": len(starts)} | _counts(first, self.graph)
        if rates:
            row["mteps"] = statistics.mean(rates) / 1e6
        if "gpu" in rank:
            (rank,) = self.once(starts[0], "time").report["ranks"]
            row["kernel_ms"] = 1e3 * sum(k["seconds"] for k in rank["kernels"] if k["walks"])
            others = (k for k in rank["kernels"] if not k["walks"] and k["kernel"] not in PREPARING)
            row["overhead_ms"] = 1e3 * sum(k["seconds"] for k in others)
        return row

    def loads(self, source: int) -> Row:
        """Return how evenly edges lie on blocks, warps and threads."""
        result = self.once(source, "load")
        (rank,) = result.report["ranks"]
        row = _counts(result, self.graph)
        load = rank.get("load")
        if load and load["edges"]:
            row |= {unit: load[unit]["ratio"] for unit in ("block", "warp", "thread")}
            row["walked"] = load["edges"] / max(self.graph.arcs, 1)
            row["by_round"] = [
                {"round": one["round"], "blocks": one.get("by_block", {}).get("edges", []), "most": one["block"]["max"]}
                for one in load["rounds"][:3]
            ]
        if rank.get("queues"):
            row["queues"] = rank["queues"]
        return row


def _seconds(result: dgraph.Result) -> float:
    return result.report["ranks"][0]["seconds"]["compute"]


def _settled(first: dgraph.Result) -> bool:
    """Return True if a first run is long, and compiled next to nothing, so that a second one would take as long."""
    return _seconds(first) > LONG and first.report["ranks"][0]["seconds"]["compile"] < 0.01 * _seconds(first)


def _counts(result: dgraph.Result, graph: dgraph.Graph) -> Row:
    summary, rounds = result.summary, result.report["rounds"]
    walked = summary.get("walked", rounds["frontier_edges"])
    column = list(result.columns)[-1]
    values = np.asarray(result.columns[column])
    if values.dtype.kind == "f":
        answer = f"{float(values[np.isfinite(values)].sum()):.5g}"
    else:
        answer = str(int(values.astype(np.uint64).sum()))
    row: Row = {"rounds": result.rounds, "walked": walked / max(graph.arcs, 1), "answer": answer}
    return row | ({"colors": summary["colors"]} if "colors" in summary else {})


def _edges(graph: dgraph.Graph, result: dgraph.Result) -> int:
    """Return the edges that leave the vertices that a search reached."""
    distance = np.asarray(result.columns["distance"])
    reached = np.isfinite(distance) if distance.dtype.kind == "f" else distance < np.iinfo(np.int32).max
    return int(np.diff(graph.block.offsets)[reached].sum())


def import_from_tests() -> None:
    """Let modules of the tests be imported: the emulated GPU, and models of the papers."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))


def _emulator() -> Any:
    """Return an emulated GPU."""
    import_from_tests()
    from emulated import Device

    return Device(BLOCKS, seed=1)


def grid(
    bench: Bench, graphs: Mapping[str, Shape], works: Sequence[str], systems: Sequence[System],
    printed: Callable[[str, str, str], Any] = lambda graph, work, system: None, **options: Any,
) -> Iterator[Cell]:  # fmt: skip
    """Yield a cell for each graph, work and system; schedules are for GPUs.

    Args:
        bench: the bench.
        graphs, works, systems: of the figure.
        printed: the paper's number for a graph, a work and a system; None: it states none.
        options: of :meth:`Bench.run`.
    """
    for name, shape in graphs.items():
        for work in works:
            for system in systems:
                if (bench.backend == CPU and system.schedule != "auto") or (
                    bench.backend == EMULATED and system.sequential
                ):
                    continue
                key = {"graph": name, "spec": bench.spec(shape), "work": work, "system": system.name}
                number = printed(name, work, system.name)
                yield (
                    key | ({} if number is None else {"paper": number}),
                    partial(bench.run, shape, work, system, **options),
                )


def degrees(bench: Bench, graphs: Mapping[str, Shape], printed: Mapping[str, Mapping[str, Any]]) -> Iterator[Cell]:
    """Yield a cell with vertices, edges and degrees of each graph."""

    def measured(shape: Shape) -> Row:
        block = bench.graph(shape).block
        degree = np.diff(block.offsets)
        inward = np.bincount(block.targets, minlength=degree.size)
        return {
            "n": degree.size, "arcs": int(degree.sum()), "least": int(degree.min()), "largest": int(degree.max()),
            "largest_in": int(inward.max()), "mean": float(degree.mean()), "sigma": float(degree.std()),
            "rms": float(np.sqrt(np.square(degree.astype(float)).mean())),
            "histogram": np.bincount(np.ceil(np.log2(degree + 1)).astype(int)).tolist(),
        }  # fmt: skip

    for name, shape in graphs.items():
        yield {"graph": name, "spec": bench.spec(shape), "paper": printed.get(name)}, partial(measured, shape)
