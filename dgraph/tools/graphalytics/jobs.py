"""Jobs of the benchmark: every algorithm on every dataset, timed, written and compared with its reference output.

The load time is from the first byte of the files to a graph in memory. The makespan of a job is from its call to the
written output; the graph is loaded already, and the process runs, so the makespans of the benchmark's driver, which
starts a process for each job, are longer. The processing time is the algorithm alone, without compilation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dgraph.algorithms import ALGORITHMS as ALGORITHM_CLASSES
from dgraph.comm import Comm
from dgraph.engine.rounds.record import Record
from dgraph.errors import DgraphError, OutputError
from dgraph.graph.devices import Device
from dgraph.graph.stored_graph import Graph
from dgraph.run import run
from dgraph.tools.graphalytics.benchmark_properties import ALGORITHMS, Benchmark, BenchmarkGraph
from dgraph.tools.graphalytics.reference_outputs import RULES, difference, reference_of


@dataclass(frozen=True)
class JobFigures:
    """Figures of one run, equal on all ranks.

    Attributes:
        graph, algorithm: as in the benchmark.
        repetition: from 1.
        vertices, edges: of the graph.
        load, makespan, processing: seconds, on the slowest rank.
        evps: vertices and edges a second of processing.
        verdict: "valid", "not validated", or one of the benchmark's failures with its reason: EXE, TIM or VAL.
        started, ended: of processing, milliseconds since 1970 on rank 0.
    """

    graph: str
    algorithm: str
    repetition: int
    vertices: int
    edges: int
    load: float
    makespan: float
    processing: float
    evps: float
    verdict: str
    started: int
    ended: int

    @property
    def failed(self) -> bool:
        """True if the benchmark counts the job as a failure."""
        return self.verdict.split(":")[0] in ("EXE", "TIM", "VAL")


def jobs(
    benchmark: Benchmark, comm: Comm, device: Device, policy: str, say: Callable[[str], None]
) -> Iterator[JobFigures]:
    """Run the benchmark and yield the figures of each job; collective.

    Args:
        benchmark: what to run.
        comm: the ranks.
        device: where rounds run.
        policy: partitioning policy.
        say: receiver of lines about progress.

    Raises:
        DataError, UsageError: a dataset that cannot be read.
        OutputError: a folder or file that cannot be written.
    """
    for dataset in benchmark.datasets:
        say(f"load {dataset.name}")
        began = time.perf_counter()
        weighted = Graph.load(str(dataset.file), comm=comm, device=device, policy=policy)
        plain = weighted
        if weighted.weight_type is not None:  # the other five algorithms ignore weights, and pagerank would use them
            plain = Graph(replace(weighted.block, weights=None), comm).on(policy, device)
        load = _slowest(comm, time.perf_counter() - began)
        for algorithm in dataset.jobs:
            for repetition in range(1, benchmark.repetitions + 1):
                say(f"{algorithm} on {dataset.name}, run {repetition} of {benchmark.repetitions}")
                graph = weighted if algorithm == "SSSP" else plain
                yield _job(benchmark, dataset, graph, algorithm, repetition, load)


def _job(
    benchmark: Benchmark, dataset: BenchmarkGraph, graph: Graph, algorithm: str, repetition: int, load: float
) -> JobFigures:
    comm, name = graph.comm, f"{dataset.name}-{algorithm}"
    record, began, verdict = Record(comm, ["graphalytics"]), time.perf_counter(), "not validated"
    started = int(1000 * time.time())
    try:
        result = run(ALGORITHMS[algorithm], graph, record=record, **dataset.jobs[algorithm])
    except DgraphError as error:  # on every rank alike
        result, verdict = None, f"EXE: {error}"
    processing = record.seconds.get("solve", 0.0) - record.seconds.get("compile", 0.0)
    solved = [begin for what, begin, _ in record.spans if what == "solve"]
    if solved:
        started += int(1000 * solved[0])
    column = next(iter(ALGORITHM_CLASSES[ALGORITHMS[algorithm]].columns))
    if result is not None and benchmark.output is not None:
        _made(benchmark.output, comm)
        result.save(benchmark.output / f"{name}.txt", column=column)
    makespan = _slowest(comm, time.perf_counter() - began)
    reference = reference_of(benchmark.references or dataset.file.parent, name) if benchmark.validated else None
    if result is not None and reference is not None:
        apart = difference(RULES[algorithm], reference, result.columns["vertex"], result.columns[column], comm)
        verdict = "valid" if apart is None else f"VAL: {apart}"
    if benchmark.timeout is not None and makespan > benchmark.timeout:
        verdict = f"TIM: {makespan:.1f} s, more than {benchmark.timeout:g} s"
    processing = max(_slowest(comm, processing), 1e-9)
    n, m = graph.n, graph.m
    ended = started + int(1000 * processing)
    return JobFigures(
        dataset.name, algorithm, repetition, n, m, load, makespan, processing, (n + m) / processing, verdict,
        started, ended,
    )  # fmt: skip


def _made(folder: Path, comm: Comm) -> None:
    """Create the folder for outputs; collective."""
    with comm.together():
        if comm.rank == 0:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(f"{folder}: {error.strerror}; name another folder by --output") from None


def _slowest(comm: Comm, seconds: float) -> float:
    return comm.largest(int(1e9 * seconds)) / 1e9
