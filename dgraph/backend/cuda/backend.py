"""GPU backend: programs as CUDA C++, one GPU a rank.

Entry: :class:`CudaBackend`, which plans memory and picks a machine for each program; ``gpu_graphs.py`` keeps graphs on
the GPU. CuPy is imported in ``device/device.py`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.backend.cuda.device import gpu_assignment
from dgraph.backend.cuda.device_graph.graph_cache import GraphCache
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.backend.cuda.exchange.exchange import Exchange
from dgraph.backend.cuda.filtered_edges.kinds import kind_of
from dgraph.backend.cuda.gathered.gathered_graph import gathered_before, replica_of, whole_graph
from dgraph.backend.cuda.gpu_graphs import GpuGraphs
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.memory import memory_plan as plans
from dgraph.backend.cuda.memory.memory_figures import memory_figures
from dgraph.backend.cuda.multi_gpu.device_bsp import device_rounds_of
from dgraph.backend.cuda.round_kernels.module_set import ModuleSet
from dgraph.backend.cuda.transports import joined
from dgraph.backend.graph_replica import GraphReplica
from dgraph.backend.kernel_register import SOLVERS, kernel_of
from dgraph.backend.row_solver import RowSolver
from dgraph.backend.transport_names import Connection
from dgraph.comm import Comm
from dgraph.errors import OutOfMemory
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced

if TYPE_CHECKING:
    pass

PULLS_BEFORE_CSC = 64
"""Pulls after which in-edges (CSC) are built for programs that can do without."""

SHARE = 16
"""One in SHARE bytes of a GPU may be taken by kept machines of one graph."""


class CudaBackend(GpuGraphs):
    """One of this node's GPUs for this rank.

    Args:
        place: index of this rank among the ranks of its node.
        ranks_here: number of ranks on this node.
        alone: True if there is one rank in all.
        options: options of the run.
        device: device to run on; None: the GPU that ``gpus`` names for ``place``, or the next in turn.
        gpus: "0,1,2,3": the GPU of each rank of the node, by place.

    Attributes:
        planned: planned bytes of GPU memory of the most demanding program so far.
    """

    name, threads, keeps, compiles_in_parallel, few_rounds = "cuda", 1, True, True, True

    def __init__(
        self, place: int, ranks_here: int, alone: bool, options: GpuPlan, device=None, gpus: str | None = None,
        allocator: str = "pool",
    ):  # fmt: skip
        self.alone, self.options, self.warning, self.how = alone, options, "", "given"
        self.schedule = options.schedule
        self.device = device or self._gpu(place, ranks_here, gpus, allocator)
        self.reason = f"{self.device.name}, {self.device.architecture}"
        self._graphs = GraphCache()
        self.device.ranged |= options.ranges
        self._taken: int | None = None
        self._shares_graphs, self.planned, self._renumber = False, 0, options.renumber

    def choosing(self, options: GpuPlan) -> CudaBackend:
        """Return a backend of other options that shares this GPU and its graphs; the memory peak restarts."""
        self.device.forget_peak()
        return self._sharing(options, self.alone)

    def _sharing(self, options: GpuPlan, alone: bool) -> CudaBackend:
        """Return a backend that shares this GPU and its graphs."""
        other = CudaBackend(0, 1, alone, options, self.device)
        other._graphs, other.why, other.how = self._graphs, self.why, self.how
        other._shares_graphs, other.host_threads = True, self.host_threads
        return other

    def reopen(self) -> None:
        """Prepare for the next run, with the same options; the memory peak restarts."""
        self.device.use()
        self.device.forget_peak()
        self._shares_graphs, self.planned = True, 0

    def has(self, gpus: str | None, place: int, ranks_here: int, allocator: str = "pool") -> bool:
        """Return True if ``gpus`` names this backend's GPU for this rank, or is None, and the allocator is this one."""
        from dgraph.backend.cuda.device.device import visible_gpus

        if getattr(self.device, "allocator", allocator) != allocator:
            return False
        return gpus is None or gpu_assignment.number(gpus, place, ranks_here, visible_gpus())[0] == self.device.number

    def optimise(self) -> None:
        """Have quickly compiled kernels optimised in the background, for later runs."""
        self.device.optimise()

    @property
    def remark(self) -> str:
        """For the report, why kernels of a run are not optimised, or ""."""
        quick = self.device.quick
        return f"{', '.join(quick)}: optimised in the background for later runs" if quick else ""

    def leave(self) -> None:
        """Set CuPy's allocator back to the process' own."""
        self.device.leave()

    @property
    def ranges(self):
        """Device that names profiler ranges; None where ranges are off."""
        return self.device if self.device.ranged else None

    def memory(self) -> dict[str, int | bool]:
        """Return figures of this rank's GPU memory; see ``memory/memory_figures.py``."""
        self._taken = self.device.taken() if self._taken is None else self._taken
        return memory_figures(self.device, self._graphs.last, self.planned, self._taken)

    def _gpu(self, place: int, ranks_here: int, gpus: str | None, allocator: str):
        from dgraph.backend.cuda.device.device import CudaDevice, visible_gpus

        number, self.how = gpu_assignment.number(gpus, place, ranks_here, visible_gpus())
        device = CudaDevice(number, allocator)
        device.code.place = place, ranks_here
        return device

    @property
    def put(self) -> Callable[[np.ndarray], Any]:
        """Function that copies an array to the GPU; it holds the device, but no graph."""
        device = self.device

        def copied(array: np.ndarray) -> Any:
            device.use()
            return device.put(array)

        return copied

    @property
    def local_rounds(self) -> bool | None:
        """True if ranks run several rounds before they exchange; None: on some graphs."""
        able = self.links is not None and self.links.direct and not self.options.record
        return self.options.local_rounds if able and self.options.schedule in ("auto", "persistent") else False

    def connect(self, comm: Comm, transport: str, allow_gpu_sharing: bool) -> Connection:
        """Find each rank's GPU and the transports between them; collective."""
        self.device.use()
        gpus = gpu_assignment.gpus_of_ranks(self.device, self.how, comm)
        warnings = [gpu_assignment.refuse_shared(gpus, allow_gpu_sharing)]
        under = [str(rank) for rank, gpu in enumerate(gpus) if gpu["mps"]]
        if under:
            warnings.append(f"the Multi-Process Service (MPS) stands between ranks {', '.join(under)} and their GPUs")
        self.links = None
        if comm.size == 1:
            return Connection("none", "one rank", gpus, list(filter(None, warnings)))
        self.links = joined(self.device, comm, transport)
        warnings += [
            f"transport {name} DISQUALIFIED between ranks {a} and {b}, it brought wrong bytes {fault}"
            for name, a, b, fault in self.links.broken
        ]
        return Connection(self.links.names(), self.links.summary(), gpus, list(filter(None, warnings)))

    def machine(self, traced: Traced, local: LocalGraph, direction: str) -> Any:
        """Return a machine for a program on a graph: a hand-written kernel's, or one that walks edges.

        Raises:
            OutOfMemory: the program does not fit into GPU memory.
        """
        self.device.use()
        direction = self._direction(traced, local, direction)
        key = self._key(traced, direction)
        machine = None if key is None else self.taken(key, local)
        if machine is not None:
            return self._renewed(machine, traced)
        machine = self._made(traced, local, direction)
        machine.kept_as, machine.planned = key if machine.renewable else None, self.planned
        return machine

    def taken(self, key: Hashable, local: LocalGraph) -> Any:
        """Take what an earlier call kept for a graph by :meth:`keep`; None: it is not there."""
        return self._graphs.machines(local).take(key)

    def _renewed(self, machine: Any, traced: Traced) -> Any:
        """Return a kept machine, prepared for another run."""
        machine.renew(traced)
        self.planned = max(self.planned, machine.planned)
        return machine

    @property
    def repeats(self) -> bool:  # type: ignore[override]
        """True if GPUs exchange messages: machines keep their mailboxes."""
        return self.links is not None

    def repeated(self, traced: Traced, local: LocalGraph, direction: str) -> Any:
        """Return the machine of an earlier run if graph, machine code and mailboxes are still there."""
        key, graph = self._key(traced, self._direction(traced, local, direction)), self._uploaded(local)
        if key is None or graph is None:
            return None
        machines, graph.links = self._graphs.machines(local), self.links
        machine = machines.find(key)
        if machine is None or not machine.settled:
            return None
        machine.repeats = True
        return self._renewed(machines.take(key), traced)

    def keep(self, machine: Any, local: LocalGraph) -> None:
        """Keep a machine whose run has ended for the next run of its program."""
        if machine.kept_as is not None:
            machine.rest()
            total = self.device.limit or self.device.total()
            self._graphs.machines(local).keep(machine.kept_as, machine, total // SHARE)

    def _key(self, traced: Traced, direction: str) -> tuple | None:
        """Return the key of a program's machine; None where it is made anew for each run."""
        kept = traced.key is not None and not self.options.observed
        return (traced.key, direction, self.options.key) if kept else None

    def _made(self, traced: Traced, local: LocalGraph, direction: str) -> Any:
        """Make a machine for a program."""
        self._taken = None
        options = self._options(traced, local, direction)
        try:
            self._plan(traced, local, direction, options)
        except OutOfMemory:
            if not options.may_copy_edges(traced):
                raise
            options = options.without_edge_copies()
            self._plan(traced, local, direction, options)
        graph, kernel = self._graph(local), self._kernel(traced, local, direction)
        if kernel is not None:
            machine = kernel(traced, graph, self.device, options)
        else:
            kind = kind_of(traced, graph.extent, options, plans.may_pull(traced, direction))
            machine = kind(traced, graph, self.device, direction, options)
        machine.make_exchange, machine.make_rounds = Exchange, device_rounds_of
        return machine

    def replica(self, local: LocalGraph, comm: Comm, kernel: str) -> GraphReplica | str:
        """Gather the graph on every rank's GPU, where it stays beside the part; collective."""
        if self.links is None or self.options.schedule != "auto" or local.n >= 1 << 32:
            return "hosts without GPUs, a requested schedule, or ids of 64 bits"
        uploaded = self._uploaded(local)
        if gathered_before(uploaded, comm, kernel):
            assert uploaded is not None
            return replica_of(uploaded, self._sharing(self.options, True))
        part = self.part_of(local, comm)
        lack = whole_graph(part, comm, kernel)
        return lack or replica_of(part, self._sharing(self.options, True))

    def solvers(self, name: str) -> Iterator[RowSolver]:
        """Yield the solver on this GPU, then the one on this rank's threads, if there are such."""
        row = SOLVERS[name]
        on_gpu, on_host = row.load("gpu" if self.alone else "gpus"), row.load("cpu")
        if on_gpu is not None:
            yield on_gpu(self)
        if on_host is not None and row.beside_gpu:
            yield on_host(self)

    def ahead(self, traced: Traced, local: LocalGraph, direction: str) -> Callable[[], None] | None:
        """Return a function that compiles a later program's modules; None where nothing can be compiled yet."""
        graph = self._graphs.of(local)
        if graph is None or not self._walks(traced, local, direction):
            return None
        direction = self._direction(traced, local, direction)
        options, pulls = self._options(traced, local, direction), plans.may_pull(traced, direction)
        filters_edges = kind_of(traced, graph.extent, options, pulls).filters_edges
        sources = ModuleSet(traced, graph, self.device, options, pulls, filters_edges=filters_edges)
        return lambda: sources.compile(sources.names)

    def affords(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """Return True if a pull pays: in-edges exist or were requested often enough, and memory suffices.

        Every call counts as a request, see ``PULLS_BEFORE_CSC``.
        """
        graph = self._graphs.of(local)
        if graph is None:
            return False
        graph.pull_requests += 1
        if not graph.has_incoming and graph.pull_requests < PULLS_BEFORE_CSC:
            return False
        try:
            self._plan(traced, local, direction, self._options(traced, local, direction))
        except OutOfMemory:
            return False
        return True

    def _options(self, traced: Traced, local: LocalGraph, direction: str) -> GpuPlan:
        """Return the options of a program's run."""
        traversal = traced.program.traversal
        return self.options.under(traversal) if traversal else self.options

    def _direction(self, traced: Traced, local: LocalGraph, asked: str) -> str:
        """Return the direction in which a program runs, see :meth:`GpuPlan.direction`."""
        return self._options(traced, local, asked).direction(asked, traced, local.arcs) if self.alone else asked

    def _walks(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """Return True if rounds walk edges, so that no hand-written kernel takes their place."""
        return self._kernel(traced, local, direction) is None

    def _kernel(self, traced: Traced, local: LocalGraph, direction: str) -> Any:
        """Return the class of a program's hand-written machine; None where this run may not take it.

        A direction or schedule that was asked for, and a directed graph, need the program's own rounds.
        """
        kernel = kernel_of(traced.program.kernel)
        free = direction == "auto" and self.options.schedule == "auto" and not local.directed
        return kernel.load("cuda" if self.alone else "cuda_ranks") if free else None

    def _plan(self, traced: Traced, local: LocalGraph, direction: str, options: GpuPlan) -> None:
        """Refuse a program whose plan exceeds the free memory, before anything is allocated.

        Where renumbering was left open and does not fit, even without copies of edges, vertices keep their numbers;
        optional arrays of the graph that this program does not need are dropped first.

        Raises:
            OutOfMemory: the program does not fit.
        """
        uploaded = self._graphs.of(local)
        built, device = getattr(local, "planned", 0), self.device
        kernel = kernel_of(traced.program.kernel)
        allocates = self.alone and kernel.memory is not None and not self._walks(traced, local, direction)

        def needs(extent: GraphSize) -> plans.MemoryPlan:
            if allocates:
                return plans.for_kernel(kernel, extent)
            return plans.for_rounds(
                traced, extent, direction, options, device.blocks, lambda: local.out.measured(self.host_threads)
            )

        extent = uploaded.extent if uploaded else GraphSize.of(local, self._renumber)
        need = needs(extent)
        fresh = not (uploaded or built)
        least = need.upload if options.may_copy_edges(traced) else need.peak
        if fresh and extent.renumbered and self._renumber is None and least > device.free(least):
            self._renumber = False
            extent = replace(extent, renumbered=False)
            need = needs(extent)
        messages = need.buffers({} if self.links is None else self.links.chosen)
        wanted = (need.peak if fresh else need.rounds) + messages
        names = ("incoming", "light", "heads", "id_heads", "tiles", "weighted_tiles")
        gathered = dict.fromkeys(("whole", "oriented", "numbering", "id_places"), 0)
        sizes = {name: getattr(need, name) for name in names} | gathered
        there = 0 if fresh else need.graph + (uploaded.held_bytes(sizes) if uploaded else 0)
        free = device.free(wanted - there) + there
        for name, size in sizes.items():
            if wanted > free and uploaded and not size:
                self._graphs.machines(local).clear()  # some may use it
                uploaded.forget(name)
                free = device.free(wanted - there) + there
        if wanted > free:
            raise OutOfMemory(
                plans.refusal(type(traced.program).__name__, extent, need, messages, wanted, free, device)
            )
        self.planned = max(self.planned, 0 if self._shares_graphs else built, need.peak if fresh else need.rounds)
