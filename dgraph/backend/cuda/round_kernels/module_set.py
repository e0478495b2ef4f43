"""Modules of one program on one GPU: their texts, and which of them a run launches.

Nothing here allocates GPU memory, so that modules of later programs can be compiled ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from dgraph.backend.cuda.codegen import module_text
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.auto_schedule import ahead
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.kernel_register import kernel_of
from dgraph.backend.schedule_options import constants
from dgraph.program import Traced
from dgraph.program.analysis import hands_on_edges, sends_vertex_sets

Name = tuple[str, bool]
"""Key of ``module_text.module``, or ``schedule:direction``; and True for the module of graphs without mirrors."""

LARGE = ("multi_gpu_rounds", "persistent_bfs")
"""Modules that take 7 to 9 s to compile; without them the same rounds are launched one by one."""

PROGRAMS = 32
"""Programs of which a process keeps texts, up to 3 MB each."""


class ModuleSet:
    """Texts of one program on one graph.

    Attributes:
        postponed: True while the run does without :data:`LARGE` modules, which are not compiled on every host yet.
        further: (text, name) of kernels of the machine that belong to no program, which are compiled beside.

    Args:
        traced: the program.
        graph: the graph on the GPU.
        device: the GPU.
        options: options of the run.
        pulls: the program may pull.
        walks: its rounds walk edges by a schedule.
        union_find: labels spread over trees of a union-find forest.
        filters_edges: edges are marked and copied into rows of their own.
    """

    def __init__(
        self, traced: Traced, graph: DeviceGraph, device, options: GpuPlan, pulls: bool,
        walks: bool = True, union_find: bool = False, filters_edges: bool = False,
    ):  # fmt: skip
        self.traced, self.graph, self.device, self.options = traced, graph, device, options
        self.pulls, self.walks, self.union_find, self.filters_edges = pulls, walks, union_find, filters_edges
        self.postponed = device.postpones and options.schedule == "auto"
        self.further: list[tuple[str, str]] = []
        self._program = type(traced.program).__name__.lower()
        if len(device.texts) >= PROGRAMS:
            device.texts.clear()
        self._known = device.texts.setdefault(traced.signature, {})
        self._texts: dict[Name, tuple[str, str]] = {}

    @cached_property
    def whole(self) -> bool:
        """True if the whole graph is on this GPU alone, so that kernels for graphs without mirrors run all phases."""
        return self.graph.links is None and self.graph.local.masters == self.graph.local.n

    @property
    def runs_multi_gpu(self) -> bool:
        """True if all GPUs run small rounds of this program in one launch."""
        return self._may_run_multi_gpu and not self.postponed

    @property
    def runs_persistent_bfs(self) -> bool:
        """True if GPUs run the whole program in one kernel."""
        return self._may_run_persistent_bfs and not self.postponed

    @cached_property
    def _may_run_multi_gpu(self) -> bool:
        links, traced, options = self.graph.links, self.traced, self.options
        asked = options.schedule not in ("auto", "persistent")
        strict = asked or options.record or options.sweeps or options.emit_limit > 0 or options.cull > 0
        able = (self.walks or self.union_find) and not (traced.all or traced.float_sums or traced.row_reducer or strict)
        return able and links is not None and links.direct

    @cached_property
    def _may_run_persistent_bfs(self) -> bool:
        asked = self.options.persistent_bfs_blocks(self.graph.extent) > 0
        return self._may_run_multi_gpu and asked and sends_vertex_sets(self.traced)

    @property
    def large(self) -> list[tuple[str, str]]:
        """Texts and names of the :data:`LARGE` modules that a run launches, unless it is to do without them."""
        wanted = (self._may_run_multi_gpu, self._may_run_persistent_bfs)
        return [self.text(name, False) for name, launched in zip(LARGE, wanted, strict=True) if launched]

    @property
    def local_rounds(self) -> bool:
        """True if GPUs run several rounds between exchanges, where the program can."""
        asked = self.options.local_rounds
        return self.traced.program.local_rounds if asked is None else asked

    @property
    def kcore_peel(self) -> bool:
        """True if edges peel vertices and nothing pulls."""
        return kernel_of(self.traced.program.kernel).peels and not self.pulls

    @property
    def names(self) -> list[Name]:
        """Modules that every run launches; one GPU alone compiles the large module of exchanges when it is needed."""
        fused = self.graph.local.mirrors == 0
        names = [] if self.whole else [("round_kernels", False)]
        wanted = (self.runs_multi_gpu, self.runs_persistent_bfs)
        names += [(name, False) for name, launched in zip(LARGE, wanted, strict=True) if launched]
        if fused:
            names += [("round_kernels", True), ("persistent_rounds", True)]
        names += [(name, fused) for name in self._schedule_modules(fused)]
        return names + [("edge_filter", fused)] * self.filters_edges

    def compiled(self, names: Sequence[Name]) -> bool:
        """Return True if the modules' machine code is loaded or in the cache folder."""
        return all(self.device.compiled(*text) for text in self._with_further(names))

    def compile(self, names: Sequence[Name]) -> None:
        """Compile modules that are not in the cache folder, in parallel."""
        self.device.prepare(self._with_further(names))

    def _with_further(self, names: Sequence[Name]) -> list[tuple[str, str]]:
        return [*(self.text(*name) for name in names), *self.further]

    def text(self, name: str, fused: bool) -> tuple[str, str]:
        """Return a module's text and its name."""
        if (name, fused) not in self._texts:
            self._texts[name, fused] = self._made(name, fused)
        return self._texts[name, fused]

    def _schedule_modules(self, fused: bool) -> list[str]:
        """Return the modules of schedules that a run is likely to use."""
        chosen, graph = self.options.schedule, self.graph
        if not self.walks:
            return []
        if chosen not in SCHEDULES:
            small = max(graph.edges, graph.local.masters) <= self.options.alone
            if self.traced.all or (small and fused and graph.links is None):  # the persistent kernel takes every push
                return []
            return [f"{name}:push" for name in ahead(self.options, graph.wide)]
        directions = ["push"] * ("push" in self.traced.program.directions) + ["pull"] * self.pulls
        emitting = ["emit"] * bool(fused and self.options.emit_limit and hands_on_edges(self.traced))
        plain = [f"{SCHEDULES[chosen].plain}:push"] * bool(SCHEDULES[chosen].plain and "push" in directions)
        return [f"{chosen}:{traversal}" for traversal in directions + emitting] + plain

    def _made(self, name: str, fused: bool) -> tuple[str, str]:
        """Generate a module's text, which all runs of a program on this GPU share."""
        schedule, _, traversal = name.partition(":")
        row = SCHEDULES.get(schedule)
        variant = module_text.ModuleFlags(
            wide=self.graph.wide,
            degrees=self.graph.degree.dtype.name,
            ids=self.graph.original.dtype.name,
            fused=fused,
            linked=self.graph.links is not None,
            pulls=self.pulls,
            pulling=traversal == "pull",
            record=self.options.record,
            sweep=self.options.sweeps,
            emit_next_edges=traversal == "emit",
            cull=self.options.cull,
            local=self.local_rounds,
            persistent_bfs=self.options.persistent_bfs_blocks(self.graph.extent),
            kcore_peel=self.kcore_peel,
            union_find=self.union_find,
            knobs=tuple(constants({name: self.options[name] for name in row.options}).items()) if row else (),
            by_id=self.pulls and self.traced.smallest and (self.traced.program.first_hit or self.graph.by_id),
        )
        if (variant, schedule) not in self._known:
            self._known[variant, schedule] = module_text.module(self.traced, variant, schedule)
        return self._known[variant, schedule], f"{self._program}_{name.replace(':', '_')}"
