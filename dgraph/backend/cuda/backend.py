"""The GPU backend: programs rendered to CUDA C++, one GPU a rank. CuPy is imported in ``device/device.py`` alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.backend.cuda.device import gpu_assignment
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.graph_cache import GraphCache
from dgraph.backend.cuda.device_graph.graph_size import SKEWED, GraphSize
from dgraph.backend.cuda.gpu_options import Options
from dgraph.backend.cuda.memory.memory_plan import MemoryPlan, beside, for_components, for_rounds, may_pull
from dgraph.backend.cuda.multi_gpu.device_bsp import exchange_of
from dgraph.backend.cuda.round_kernels.edge_filter import FilteredMachine
from dgraph.backend.cuda.round_kernels.light_edges import LightEdgesMachine
from dgraph.backend.cuda.round_kernels.machine import Machine
from dgraph.backend.cuda.round_kernels.module_set import ModuleSet
from dgraph.backend.cuda.transports import Links, joined
from dgraph.backend.interface import Backend
from dgraph.backend.kernel_register import kernel_of
from dgraph.backend.transport_names import Connection
from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced
from dgraph.program.analysis import sums_sources

if TYPE_CHECKING:
    from dgraph.graph.handle import Graph


PULLS_BEFORE_CSC = 64
"""Runs after which edges are brought into order by target for programs that can do without."""


class CudaBackend(Backend):
    """One of this node's GPUs for this rank.

    Args:
        place: this rank's number among the ranks of its node.
        ranks_here: how many they are.
        alone: whether there is no other rank on any node.
        device: what to run on; None: the GPU that ``gpus`` names for ``place``, or the next in turn.
        gpus: "0,1,2,3": the GPU of each rank of the node, by place.

    Attributes:
        links: how GPUs are joined, once :meth:`connect` has found out; None on one rank, and where some have no GPU.
        planned: bytes of the GPU's memory that the most demanding program so far was planned to take.
    """

    name, threads, keeps, compiles_in_parallel = "cuda", 1, True, True
    links: Links | None = None

    def __init__(
        self, place: int, ranks_here: int, alone: bool, options: Options, device=None, gpus: str | None = None
    ):  # fmt: skip
        self.alone, self.options, self.warning = alone, options, ""
        self.how = "given"
        self.device = device or self._gpu(place, ranks_here, gpus)
        self.reason = f"{self.device.name}, {self.device.architecture}"
        self._graphs = GraphCache()
        self.device.ranged |= options.ranges
        self.planned = 0
        self._goes_on = False
        self._numbered = options.renumber

    def choosing(self, options: Options) -> CudaBackend:
        """The same GPU, with the graphs that are on it, under other options. Its memory's peak begins anew."""
        other = CudaBackend(0, 1, self.alone, options, self.device)
        other._graphs, other.why, other.how = self._graphs, self.why, self.how
        other._goes_on = True
        other.device.forget_peak()
        return other

    def adopt(self, local: LocalGraph, graph: DeviceGraph) -> None:
        """A graph that lies on the GPU already is that of ``local``."""
        self._graphs.keep(local, graph)

    def has(self, gpus: str | None, place: int, ranks_here: int) -> bool:
        """Whether its GPU is the one that ``gpus`` names for this rank; any will do where that is None."""
        from dgraph.backend.cuda.device.device import some

        return gpus is None or gpu_assignment.number(gpus, place, ranks_here, some())[0] == self.device.number

    @property
    def ranges(self):
        return self.device if self.device.ranged else None

    def memory(self) -> dict[str, int | bool]:
        """This rank's GPU: whether vertices are numbered by degree there; bytes that arrays use, the most they used,
        what was planned, what is taken from the GPU for them, and what anybody holds of it."""
        device, graph = self.device, self._graphs.last
        return {
            "renumbered": graph is not None and graph.extent.renumbered,
            "used_bytes": device.used(),
            "peak_bytes": device.peak,
            "planned_bytes": self.planned,
            "messages_bytes": graph.post.boxes.bytes if graph and graph.post else 0,
            "held_bytes": device.held(),
            "taken_bytes": device.taken(),
        }

    def _gpu(self, place: int, ranks_here: int, gpus: str | None):
        from dgraph.backend.cuda.device.device import CudaDevice, some

        number, self.how = gpu_assignment.number(gpus, place, ranks_here, some())
        return CudaDevice(number)

    @property
    def local_rounds(self) -> bool:
        return self.options.local_rounds and self.links is not None and self.links.direct

    def connect(self, comm: Comm, transport: str, allow_gpu_sharing: bool) -> Connection:
        """Find out which GPUs ranks have and what joins them; collective."""
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
            f"transport {name} DISQUALIFIED between ranks {a} and {b}, it brought wrong bytes {told}"
            for name, a, b, told in self.links.broken
        ]
        return Connection(self.links.names(), self.links.summary(), gpus, list(filter(None, warnings)))

    def build(self, spec: str, comm: Comm, policy: str, options: LoadOptions) -> Graph:
        from dgraph.backend.cuda.graph_build import BuiltGraph  # not at the top: lists would wait for Numba

        return BuiltGraph.at(spec, comm, self.device, policy, options, self.options.renumber)

    def prepare(self, local: LocalGraph, comm: Comm) -> None:
        """Ranks number vertices by degree where some part of the graph is skewed and all GPUs have room for that, since
        the two sides of a message count the same positions. So a graph that had to leave one GPU leaves all."""
        self._numbered = self.options.renumber
        if self.links is None or hasattr(local, "built"):
            return
        known = self._graphs.of(local)
        skewed, room = (known.extent.renumbered, True) if known else self._skewed(local)
        skewed, cramped, lacking = comm.allreduce(np.array([skewed, not room, known is None], np.int64))
        if known is not None and lacking:
            del self._graphs[id(local)]
        if self._numbered is None:
            self._numbered = bool(skewed and not cramped)

    def _skewed(self, local: LocalGraph) -> tuple[bool, bool]:
        """Whether vertices should be numbered by degree, and whether there is room for it."""
        extent = GraphSize.of(local, renumber=True)
        need = for_components(extent).upload
        fits = need <= self.device.free(need)
        return local.largest_degree > SKEWED * max(local.arcs, 1) / max(local.n, 1), fits

    def machine(self, traced: Traced, local: LocalGraph, direction: str) -> Any:
        self.device.use()
        options = self._options(traced, local, direction)
        try:
            self._plan(traced, local, direction, options)
        except UsageError:
            if not (traced.program.sparse or traced.program.heaviest is not None or sums_sources(traced)):
                raise
            options = options.unsifted()
            self._plan(traced, local, direction, options)
        graph, kernel = self._graph(local), self._kernel(traced, local, direction)
        if kernel is not None:
            machine = kernel(traced, graph, self.device, options)
        else:
            kind = _kind(traced, graph, options, may_pull(traced, direction))
            machine = kind(traced, graph, self.device, direction, options)
        machine.make_exchange = exchange_of
        return machine

    def ahead(self, traced: Traced, local: LocalGraph, direction: str) -> Callable[[], None] | None:
        graph = self._graphs.of(local)
        if graph is None or not self._walks(traced, local, direction):
            return None
        options, pulls = self._options(traced, local, direction), may_pull(traced, direction)
        filters_edges = _kind(traced, graph, options, pulls).filters_edges
        sources = ModuleSet(traced, graph, self.device, options, pulls, filters_edges=filters_edges)
        return lambda: sources.compile(sources.names)

    def affords(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """Edges by target are there, or wished for so often that they would have paid by now; and there is room."""
        graph = self._graphs.of(local)
        if graph is None:
            return False
        graph.pull_requests += 1
        if not graph.turned and graph.pull_requests < PULLS_BEFORE_CSC:
            return False
        try:
            self._plan(traced, local, direction, self._options(traced, local, direction))
        except UsageError:
            return False
        return True

    def _options(self, traced: Traced, local: LocalGraph, direction: str) -> Options:
        """Those of a program's run; rounds in two parts only where they walk edges, and GPUs agree on them."""
        traversal = traced.program.traversal
        options = self.options.under(traversal) if traversal else self.options
        direct = self.links is not None and self.links.direct
        cut = direct and not options.record and self._walks(traced, local, direction)
        return options if cut else options.uncut()

    def _walks(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """True if rounds walk edges, and no hand-written kernel takes their place."""
        return self._kernel(traced, local, direction) is None

    def _hooks(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """True if components are found by hooking on one GPU, and not by the program's rounds."""
        return self.alone and traced.program.kernel == "components" and not self._walks(traced, local, direction)

    def _kernel(self, traced: Traced, local: LocalGraph, direction: str) -> Any:
        """The hand-written machine that a program names, if this run may take it: a schedule walks the program's own
        rounds."""
        kernel = kernel_of(traced.program.kernel)
        load = kernel.cuda if self.alone else kernel.cuda_ranks
        free = direction == "auto" and self.options.schedule == "auto" and not local.directed
        return load() if load is not None and free else None

    def _plan(self, traced: Traced, local: LocalGraph, direction: str, options: Options) -> None:
        """Refuse, before anything is allocated, what will not fit. Vertices that could be numbered by degree keep their
        numbers where there is no room for that."""
        known = self._graphs.of(local)
        built, device = getattr(local, "planned", 0), self.device
        hooks = self._hooks(traced, local, direction)

        def needs(extent: GraphSize) -> MemoryPlan:
            return for_components(extent) if hooks else for_rounds(traced, extent, direction, options, device.blocks)

        extent = known.extent if known else GraphSize.of(local, self._numbered)
        need = needs(extent)
        fresh = not (known or built)
        if fresh and extent.renumbered and self._numbered is None and need.upload > device.free(need.upload):
            self._numbered = False
            extent = replace(extent, renumbered=False)
            need = needs(extent)
        messages = self._messages(need)
        wanted = (need.peak if fresh else need.rounds) + messages
        names = ("incoming", "parts", "light", "heads", "tiles")
        sizes = {name: getattr(need, name) for name in names}
        there = 0 if fresh else need.graph + (known.left(sizes) if known else 0)
        free = device.free(wanted - there) + there
        for name, size in sizes.items():
            if wanted > free and known and not size:
                known.forget(name)
                free = device.free(wanted - there) + there
        if wanted > free:
            other = "--direction push, which needs no edges by target, or " if need.incoming else ""
            raise UsageError(
                f"{type(traced.program).__name__} on {extent.size:,} vertices and {extent.edges:,} edges needs "
                f"{wanted:,} bytes of GPU memory (bringing the graph there {need.upload:,}; the graph {need.graph:,}, "
                f"its edges by target {need.incoming:,}, in two parts {need.parts:,}, light ones {need.light:,}, "
                f"rows' first neighbours {need.heads:,}, tiles of edges {need.tiles:,}, the program {need.arrays:,}, "
                f"messages {messages:,}), and "
                f"{free:,} are free on {device.name}{beside(device)}; use {other}more GPUs (python -m dgraph estimate "
                f"tells how many)"
            )
        self.planned = max(self.planned, 0 if self._goes_on else built, need.peak if fresh else need.rounds)

    def _messages(self, need: MemoryPlan) -> int:
        """Bytes of buffers: what p2p does not carry lies on this GPU before it leaves, too."""
        staged = self.links is not None and any(name != "p2p" for name in self.links.chosen.values())
        return need.messages * (1 + staged)

    def _graph(self, local: LocalGraph) -> DeviceGraph:
        """The graph on the GPU, kept as long as it lives on the host."""
        known = self._graphs.of(local)
        if known is None:
            known = self._graphs.keep(local, DeviceGraph(local, self.device, self._numbered))
        known.links = self.links
        return known


def _kind(traced: Traced, graph: DeviceGraph, options: Options, pulls: bool) -> type[Machine]:
    """Of machines whose rounds walk edges, the one of a program on a graph."""
    if options.lightening(traced, pulls):
        return LightEdgesMachine
    return FilteredMachine if options.sifting(traced, graph.extent, pulls) else Machine
