"""What ``benchmarks/`` measures beside whole calls of :func:`dgraph.run`: rounds of one GPU, and parts of a call.

:class:`GpuGraph` makes a graph of rows that lie on a GPU, and :class:`Rounds` runs one program on it, without loading,
building, compiling or collecting. The classes behind these names move and are renamed; these names stay, so that one
script times two commits. Measurements of whole calls need :func:`dgraph.run` and its report.
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
from dgraph.algorithms.bfs import Levels
from dgraph.algorithms.bfs_variants import VARIANTS, traversal
from dgraph.algorithms.cc import Joined
from dgraph.algorithms.kcore import Peel
from dgraph.algorithms.pagerank import SINGLE, PageRank
from dgraph.algorithms.sssp import Distances, Sssp, has_hubs
from dgraph.backend.cuda import schedules
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import SMALL, Options
from dgraph.backend.cuda.round_kernels.machine import Machine
from dgraph.backend.cuda.transports import compare, selftest
from dgraph.backend.interface import Backend
from dgraph.backend.kernel_register import kernel_of
from dgraph.backend.transport_names import TRANSPORTS
from dgraph.comm import Comm, SerialComm
from dgraph.comm.hosts import ranks_here
from dgraph.engine.rounds.driver import Context
from dgraph.engine.rounds.timings import Trace, peak_memory
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
"""Schedules that walk every large round in one way; "auto" and "persistent" are beside them."""

BFS_VARIANTS = tuple(VARIANTS)
"""Variants of bfs."""

LOW_DEGREE = control_block.LOW_DEGREE
"""Edges of a vertex up to which "auto" has one thread walk them."""

PERSISTENT_LIMIT = SMALL
"""Vertices and edges up to which "auto" keeps rounds of one GPU in the persistent kernel."""

PROGRAMS: dict[str, type[Program]] = {
    "bfs": Levels, "sssp": Distances, "cc": Joined, "kcore": Peel, "pagerank": PageRank,
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
    """This rank's GPU; new CuPy arrays of this thread lie on it.

    Args:
        comm: ranks that have a GPU each; None: this process is alone, on the first GPU.
        device: what stands for a GPU in tests.

    Attributes:
        name: as its maker calls it.
        device: the GPU as backends see it.
    """

    def __init__(self, comm: Comm | None = None, device: Any = None):
        here = [0] if comm is None else ranks_here(comm)
        place = 0 if comm is None else here.index(comm.rank)
        self._backend = CudaBackend(place, len(here), comm is None or comm.size == 1, Options(), device)
        self.device = self._backend.device
        self.name: str = self.device.name
        self.device.use()

    def wait(self) -> None:
        """Wait until it has done all that was started."""
        self.device.wait()

    def free_unused(self) -> None:
        """Give the memory that no array uses back to the driver."""
        self.device.pool.free_all_blocks()

    def backend(self, **options: Any) -> Backend:
        """Return a backend on this GPU for ``dgraph.run(backend=…)``, which keeps graphs there from run to run.

        Args:
            options: ``host_rounds``, ``local_rounds``, ``overlap`` and ``across_limit`` of :func:`dgraph.run`;
                ``reach``: blocks a multiprocessor of the kernel that runs a whole search on all GPUs, 0 for none.
        """
        return self._backend.choosing(Options(**options))


class GpuGraph:
    """A graph of one rank in the memory of its GPU.

    Args:
        offsets, targets, weights: sorted rows, arrays of the GPU: int64 (n + 1,), int32 (arcs,), and (arcs,) of any
            dtype that weights may have.
        directed: False where every arc has its reverse.

    Attributes:
        n, arcs: vertices and arcs.
        largest: arcs of the vertex that has most.
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
        """True if ``dgraph.run("sssp")`` takes the programs of :func:`gathered_sssp` on it."""
        return has_hubs(self.n, self.arcs, self.largest)


class Rounds:
    """One run of a program's rounds on one GPU, compiled: :meth:`start`, then :meth:`go` until ``done``. Another run
    needs another object, which finds the compiled kernels.

    Args:
        direction: "auto", "push" or "pull".
        variant: of bfs, from ``BFS_VARIANTS``: its direction and schedule hold; "": none.
        schedule: "auto", "persistent", or one of ``SCHEDULES``.
        record: count the edges that every thread visits.
        limit: vertices and edges of a round up to which rounds stay in the persistent kernel; None: as measured.
        options: options of the schedule.
    """

    def __init__(
        self, graph: GpuGraph, program: Program, direction: str = "auto", *, variant: str = "", schedule: str = "auto",
        record: bool = False, limit: int | None = None, **options: Any,
    ):  # fmt: skip
        chosen = Options(schedule, record=record, small=limit, **options)
        if variant:
            published = traversal(variant, None)
            direction, chosen = published.direction, chosen.under(published)
        device = graph.gpu.device
        traced = trace(program, None if graph.weights is None else graph.weights.dtype)
        load = kernel_of(program.kernel).cuda
        self._device, self.schedule, self._started = device, chosen.schedule, False
        self._machine: Any = (
            load()(traced, graph._graph, device, chosen)
            if load is not None and direction == "auto" and chosen.schedule == "auto"
            else Machine(traced, graph._graph, device, direction, chosen)
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
        """Give every vertex its first value, and make the first frontier.

        Raises:
            UsageError: it was started before.
        """
        if self._started:
            raise UsageError("these rounds were started before; make another Rounds for another run")
        self._started = True
        self._machine.start({})
        self._machine.apply_totals(*self._machine.totals(), True)

    def go(self, rounds: int = ALL_ROUNDS) -> None:
        """Run at most so many rounds, perhaps fewer: look at ``done``."""
        self._machine.fused(rounds)

    def seconds(self) -> float:
        """Run all rounds and return their seconds, from the start to the end of the last round, waited for."""
        self._device.wait()
        began = time.perf_counter()
        self.start()
        while not self.done:
            self.go()
        self._device.wait()
        return time.perf_counter() - began

    def fields(self) -> Mapping[str, np.ndarray]:
        """Return the program's fields of every vertex, copied to the host when they are asked for."""
        return self._machine.fields()

    def frontier(self) -> dict[str, int]:
        """Return the frontier's ``vertices``, their ``edges``, and the ``largest`` number of edges of one: 0 where the
        schedule does not need it."""
        words = self._machine.words
        numbers = control_block.QUEUED, control_block.LOCAL_EDGES, control_block.LARGEST
        return {name: int(words[at]) for name, at in zip(("vertices", "edges", "largest"), numbers, strict=True)}

    def edges_by_block(self) -> np.ndarray:
        """Return the edges that each thread block has visited so far, of rounds that are recorded; int64."""
        counted = self._device.get(self._machine.arrays.record)
        return counted.reshape(-1, self._device.threads).sum(1)

    def queues(self) -> dict[str, float]:
        """Return what the queues of the schedule "steal" held, of rounds that are recorded; else nothing."""
        return self._machine.tasks()


def gathered_sssp(graph: GpuGraph, source: int, repeat: int) -> tuple[list[float], int]:
    """Run sssp as on a graph with hubs, by several programs: ``repeat`` runs after one that is not counted.

    Returns:
        Of every run the seconds of init and of the rounds of all programs; rounds of the last one.
    """
    drawn, gpu, comm = graph._local, graph.gpu, SerialComm()
    ids, out, weights = np.arange(graph.n, dtype=np.int64), copy(drawn.out), graph.weights
    known = weights.min().item(), weights.max().item(), float(weights.sum(dtype=np.float64))
    out.__dict__["weight_range"] = known
    degrees = gpu.device.get(drawn.out_degree)
    local = replace(drawn, out=out, gids=ids, original=ids, out_degree=degrees)
    backend = CudaBackend(0, 1, True, Options(), gpu.device)
    backend.adopt(local, graph._graph)
    found = []
    for _ in range(repeat + 1):
        context = Context(local, comm, backend, Trace(comm, []), Progress())
        Sssp(source=source, return_predecessors=False).run(context)
        found.append(sum(context.record.seconds[part] for part in ("init", "compute")))
    graph._graph.local = drawn
    return found[1:], context.rounds


def template(schedule: str) -> str | None:
    """Return the CUDA C++ of a schedule; None: it has none of its own."""
    path = Path(schedules.__file__).parent / f"{schedule}.cuh"
    return path.read_text() if path.exists() else None


def planned_bytes(graph: Graph, policy: str) -> int:
    """Return the GPU memory that building was planned to take at most, of a graph that ``build_on_gpus`` made."""
    return graph._locals[policy].local.planned  # type: ignore[attr-defined]


def build_part(graph: Graph, policy: str) -> LocalGraph:
    """Place a loaded graph under a policy and build this rank's part of it; collective."""
    return build(graph.block, partitioning.plan(policy, graph.block, graph.comm.size, graph.comm), graph.comm)


def edge_lists(generator: str, scale: int, step: int, **options: Any) -> Iterator[tuple[int, bytes]]:
    """Yield the edges of a generated graph in the order in which they are drawn, as lines of a text edge list.

    Args:
        step: edges drawn at a time.
        options: of the generator.

    Yields:
        How many edges, and their lines.
    """
    recipe, lines = GENERATORS[generator].make(scale, **options), Lines(0, False, False)
    for first in range(0, recipe.items, step):
        last = min(first + step, recipe.items)
        src, dst, _ = recipe.edges(first, last)
        yield last - first, lines.spelled(src, dst, None)


def message_times(
    gpu: Gpu, comm: Comm, sizes: Sequence[int], repeat: int
) -> tuple[dict[str, list[list[float]]], dict[str, str]]:
    """Send messages between GPUs, every rank to the next and all at once, by each transport; collective.

    Args:
        sizes: bytes of a message.
        repeat: messages of a size, after one that is not counted.

    Returns:
        This rank's seconds: transport → by size → of every message. Transport → why it cannot be.
    """
    links, refused = compare(gpu.device, comm)
    selftest.SIZES = tuple(sizes)  # type: ignore[assignment]
    pairs = {(a, b) for b in range(comm.size) for a in range(b)}
    found: dict[str, list[list[float]]] = {}
    for name in TRANSPORTS:
        if refused[name]:
            continue
        trial = selftest.Trial(gpu.device, comm, links, name, pairs)
        trial.aim(1)
        found[name] = []
        for size in sizes:
            trial.timed(size)
            found[name].append([trial.timed(size) for _ in range(repeat)])
        trial.close()
    return found, {name: next(iter(told.values())) for name, told in refused.items() if told}
