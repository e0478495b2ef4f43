"""Stable names for ``benchmarks/``: the rounds of one GPU, and parts of a call of :func:`dgraph.run`.

:class:`GpuGraph` wraps rows that lie on a GPU, and :class:`Rounds` runs one program on it, without loading, building,
compiling or collecting results. The classes behind these names may move; these names stay, so that one script can time
two commits. Measurements of whole calls use :func:`dgraph.run` and its report.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import partitioning
from dgraph.algorithms.bfs_programs import Levels
from dgraph.algorithms.bfs_variants import VARIANTS, traversal
from dgraph.algorithms.cc import UnionFindLabels
from dgraph.algorithms.delta_stepping import Distances
from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.algorithms.pagerank import SINGLE, PageRank
from dgraph.algorithms.sssp import Sssp
from dgraph.algorithms.sssp_parts.gather_near_hubs import has_hubs
from dgraph.backend.backend_base import Backend
from dgraph.backend.cuda import schedules
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import SMALL, GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.backend.cuda.transports import compare, selftest
from dgraph.backend.kernel_register import kernel_of
from dgraph.backend.schedule_options import parse_record, parse_schedule
from dgraph.backend.transport_names import TRANSPORTS
from dgraph.comm import Comm, SerialComm
from dgraph.comm.hosts import ranks_here
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.record import Record, peak_memory
from dgraph.errors import UsageError
from dgraph.graph.build.local_graph import build
from dgraph.graph.generate import GENERATORS
from dgraph.graph.local import Csr, LocalGraph
from dgraph.graph.stored_graph import Graph
from dgraph.program import Program, trace
from dgraph.report import Progress
from dgraph.result.files.graph_text import Lines

__all__ = [
    "BFS_VARIANTS", "LOW_DEGREE", "PERSISTENT_LIMIT", "SCHEDULES", "SINGLE", "Gpu", "GpuGraph", "Rounds",
    "build_part", "edge_lists", "gathered_sssp", "message_times", "peak_memory", "planned_bytes", "program",
    "template",
]  # fmt: skip

SCHEDULES = tuple(schedules.SCHEDULES)
"""Schedules that a whole run can be fixed to, without "auto" and "persistent"."""

BFS_VARIANTS = tuple(VARIANTS)
"""Variants of bfs."""

LOW_DEGREE = control_block.LOW_DEGREE
"""Degree up to which "auto" assigns a vertex's edges to one thread."""

PERSISTENT_LIMIT = SMALL
"""Frontier vertices and edges up to which "auto" keeps rounds of one GPU in the persistent kernel."""

PROGRAMS: dict[str, type[Program]] = {
    "bfs": Levels, "sssp": Distances, "cc": UnionFindLabels, "kcore": Peel, "pagerank": PageRank,
}  # fmt: skip

ALL_ROUNDS = 1 << 40


def program(algorithm: str, **parameters: Any) -> Program:
    """Return the program that does an algorithm's main work, for :class:`Rounds` or :func:`dgraph.run`.

    Args:
        algorithm: "bfs" (levels), "sssp" (distances by delta-stepping), "cc", "kcore", or "pagerank" (without weights).
        parameters: ``source`` of bfs; ``source`` and ``delta`` of sssp; ``tol`` and ``max_iter`` of pagerank.
    """
    return PROGRAMS[algorithm](**parameters)


class Gpu:
    """This rank's GPU, which becomes the current device of this thread.

    Args:
        comm: ranks with a GPU each; None: a single process on the first GPU.
        device: emulated GPU, for tests.

    Attributes:
        name: the maker's name of it.
        device: the backend's device object.
    """

    def __init__(self, comm: Comm | None = None, device: Any = None):
        here = [0] if comm is None else ranks_here(comm)
        place = 0 if comm is None else here.index(comm.rank)
        self._backend = CudaBackend(place, len(here), comm is None or comm.size == 1, GpuPlan(), device)
        self.device = self._backend.device
        self.name: str = self.device.name
        self.device.use()

    def wait(self) -> None:
        """Wait until all launched work has ended."""
        self.device.wait()

    def free_unused(self) -> None:
        """Return unused memory of the pool to the driver."""
        self.device.pool.free_all_blocks()

    def release(self) -> None:
        """Drop the graphs on this GPU."""
        self._backend.release()

    def backend(self, schedule: str = "auto", record: str | None = None, **options: Any) -> Backend:
        """Return a backend on this GPU for ``graph.on(device=…)``, which keeps graphs there from run to run.

        Args:
            schedule: as of :class:`dgraph.Options`.
            record: likewise.
            options: ``host_rounds``, ``local_rounds`` and ``across_limit`` of :func:`dgraph.run`;
                ``reach``: blocks a multiprocessor of the kernel that runs a whole search on all GPUs, 0 for none.
        """
        keywords: dict[str, Any] = parse_schedule(schedule) | parse_record(record) | options
        return self._backend.choosing(GpuPlan(**keywords))


class GpuGraph:
    """Graph of one rank in GPU memory.

    Args:
        gpu: the GPU.
        offsets: int64 (n + 1,) on the GPU.
        targets: int32 (arcs,) on the GPU, sorted within each row.
        weights: (arcs,) on the GPU, of any weight dtype; or None.
        directed: False if every arc has its reverse.

    Attributes:
        n: vertices.
        arcs: arcs.
        largest: largest out-degree.
        weights: as given.
    """

    def __init__(self, gpu: Gpu, offsets: Any, targets: Any, weights: Any, directed: bool):
        xp, n, arcs = gpu.device.xp, int(offsets.size) - 1, int(targets.size)
        ids = xp.arange(n, dtype=np.int64)
        self.gpu, self.n, self.arcs, self.weights = gpu, n, arcs, weights
        self._local = LocalGraph(
            n=n, m=arcs if directed else arcs // 2, arcs=arcs, masters=n, gids=ids, original=ids,
            out_degree=xp.diff(offsets), out=Csr(offsets, targets, weights), directed=directed,
        )  # fmt: skip
        self._graph = DeviceGraph(self._local, gpu.device)
        self.largest = int(self._graph.largest)

    @property
    def has_hubs(self) -> bool:
        """True if ``dgraph.run("sssp")`` runs the programs of :func:`gathered_sssp` on it."""
        return has_hubs(self.n, self.arcs, self.largest)


class Rounds:
    """One run of a program's rounds on one GPU: :meth:`start`, then :meth:`go` until ``done``.

    Making it compiles the kernels. Each object serves one run; another object reuses the compiled kernels.

    Args:
        graph: the graph.
        program: the program.
        direction: "auto", "push" or "pull".
        variant: variant of bfs, from ``BFS_VARIANTS``, which sets direction and schedule; "": none.
        schedule: "auto", "persistent", or one of ``SCHEDULES``.
        record: count the edges that every thread visits.
        limit: frontier vertices and edges up to which rounds stay in the persistent kernel; None: the default.
        options: options of the schedule.
    """

    def __init__(
        self, graph: GpuGraph, program: Program, direction: str = "auto", *, variant: str = "", schedule: str = "auto",
        record: bool = False, limit: int | None = None, **options: Any,
    ):  # fmt: skip
        chosen = GpuPlan(schedule, record=record, small=limit, **options)
        if variant:
            published = traversal(variant, None)
            direction, chosen = published.direction, chosen.under(published)
        device = graph.gpu.device
        traced = trace(program, None if graph.weights is None else graph.weights.dtype)
        kernel = kernel_of(program.kernel).load("cuda")
        self._device, self.schedule, self._started = device, chosen.schedule, False
        self._machine: Any = (
            kernel(traced, graph._graph, device, chosen)
            if kernel is not None and direction == "auto" and chosen.schedule == "auto"
            else GpuMachine(traced, graph._graph, device, direction, chosen)
        )
        self._machine.compile()

    @property
    def rounds(self) -> int:
        """Rounds since the last start."""
        return self._machine.round

    @property
    def done(self) -> bool:
        """True if the program has ended."""
        return self._machine.done

    @property
    def bytes(self) -> int:
        """GPU memory of its arrays, without the graph's."""
        return self._machine.arrays.bytes

    def start(self) -> None:
        """Initialise the fields and build the first frontier.

        Raises:
            UsageError: it was started before.
        """
        if self._started:
            raise UsageError("these rounds were started before; make another Rounds for another run")
        self._started = True
        self._machine.start({})
        self._machine.apply_totals(*self._machine.totals(), True)

    def go(self, rounds: int = ALL_ROUNDS) -> None:
        """Run at most ``rounds`` rounds; it may return earlier, so poll ``done``."""
        self._machine.fused(rounds)

    def seconds(self) -> float:
        """Run all rounds and return their seconds, from :meth:`start` until the GPU has finished the last one."""
        self._device.wait()
        began = time.perf_counter()
        self.start()
        while not self.done:
            self.go()
        self._device.wait()
        return time.perf_counter() - began

    def fields(self) -> Mapping[str, np.ndarray]:
        """Return the program's fields (n,); each is copied to the host on access."""
        return self._machine.fields()

    def frontier(self) -> dict[str, int]:
        """Return the frontier's ``vertices``, ``edges`` and ``largest`` degree (0 if the schedule does not use it)."""
        words = self._machine.words
        numbers = control_block.QUEUED, control_block.LOCAL_EDGES, control_block.LARGEST
        return {name: int(words[i]) for name, i in zip(("vertices", "edges", "largest"), numbers, strict=True)}

    def edges_by_block(self) -> np.ndarray:
        """Return the edges that each thread block has visited so far, int64; needs ``record``."""
        counted = self._device.get(self._machine.arrays.record)
        return counted.reshape(-1, self._device.threads).sum(1)

    def queues(self) -> dict[str, Any]:
        """Return statistics of the queues of schedule "steal", if ``record``; otherwise an empty dictionary."""
        return self._machine.tasks().facts()


def gathered_sssp(graph: GpuGraph, source: int, repeat: int) -> tuple[list[float], int]:
    """Run sssp with the programs for graphs with hubs, ``repeat`` times after a warm-up run.

    Returns:
        Seconds of init and rounds of each run; number of rounds of the last run.
    """
    drawn, gpu, comm = graph._local, graph.gpu, SerialComm()
    ids, rows, weights = np.arange(graph.n, dtype=np.int64), copy(drawn.out), graph.weights
    weight_range = weights.min().item(), weights.max().item(), float(weights.sum(dtype=np.float64))
    rows.__dict__["weight_range"] = weight_range
    degrees = gpu.device.get(drawn.out_degree)
    local = replace(drawn, out=rows, gids=ids, original=ids, out_degree=degrees)
    backend = CudaBackend(0, 1, True, GpuPlan(), gpu.device)
    backend.keep_on_gpu(local, graph._graph)
    seconds = []
    for _ in range(repeat + 1):
        context = Context(local, comm, backend, Record(comm, []), Progress())
        Sssp(source=source, return_predecessors=False).run(context)
        seconds.append(sum(context.record.seconds[part] for part in ("init", "compute")))
    graph._graph.local = drawn
    return seconds[1:], context.rounds


def template(schedule: str) -> str | None:
    """Return the CUDA C++ template of a schedule; None if it has none of its own."""
    path = Path(schedules.__file__).parent / f"{schedule}.cuh"
    return path.read_text() if path.exists() else None


def planned_bytes(graph: Graph, policy: str) -> int:
    """Return the planned peak of GPU memory for building, of a graph made by ``build_on_gpus``."""
    return graph.partitions[policy].local.planned


def build_part(graph: Graph, policy: str) -> LocalGraph:
    """Partition a loaded graph under a policy and build this rank's part; collective."""
    return build(graph.block, partitioning.plan(policy, graph.block, graph.comm.size, graph.comm), graph.comm)


def edge_lists(generator: str, scale: int, step: int, **options: Any) -> Iterator[tuple[int, bytes]]:
    """Yield the edges of a generated graph in generation order, as lines of a text edge list.

    Args:
        generator: name of the generator.
        scale: its size.
        step: edges generated at a time.
        options: options of the generator.

    Yields:
        Number of edges, and their lines.
    """
    recipe, lines = GENERATORS[generator].make(scale, **options), Lines(0, False, False)
    for first in range(0, recipe.items, step):
        last = min(first + step, recipe.items)
        src, dst, _ = recipe.edges(first, last)
        yield last - first, lines.text(src, np.ones(src.size, np.int64), dst, None).tobytes()


def message_times(
    gpu: Gpu, comm: Comm, sizes: Sequence[int], repeat: int
) -> tuple[dict[str, list[list[float]]], dict[str, str]]:
    """Time GPU messages with each transport, every rank to the next one at the same time; collective.

    Args:
        gpu: this rank's GPU.
        comm: ranks with a GPU each.
        sizes: message sizes in bytes.
        repeat: messages of each size, after a warm-up message.

    Returns:
        Transport → for each size, this rank's seconds of each message; transport → reason why it is unavailable.
    """
    links, refused = compare(gpu.device, comm)
    selftest.SIZES = tuple(sizes)  # type: ignore[assignment]
    pairs = {(a, b) for b in range(comm.size) for a in range(b)}
    times: dict[str, list[list[float]]] = {}
    for name in TRANSPORTS:
        if refused[name]:
            continue
        trial = selftest.Trial(gpu.device, comm, links, name, pairs)
        trial.aim(1)
        times[name] = []
        for size in sizes:
            trial.timed(size)
            times[name].append([trial.timed(size) for _ in range(repeat)])
        trial.close()
    return times, {name: next(iter(reasons.values())) for name, reasons in refused.items() if reasons}
