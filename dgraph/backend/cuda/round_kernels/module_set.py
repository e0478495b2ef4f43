"""What a program's modules on one GPU are compiled from, and which of them its runs call. Nothing here takes memory of
the GPU, so that programs that come later can be compiled ahead."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from dgraph.backend.cuda.codegen import module_text
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import Options
from dgraph.backend.cuda.round_kernels.auto_schedule import ahead
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.program import Traced
from dgraph.program.analysis import proposes_source

Name = tuple[str, bool]
"""A module: "phases", "rounds", "across", "reach", "estimates", "sieve" or ``schedule:direction``; and whether no
vertex has mirrors."""


class ModuleSet:
    """The texts of one program on one graph.

    Args:
        pulls: the program may walk edges backwards.
        walks: its rounds walk edges by a schedule.
        trees: labels spread by trees.
        filters_edges: edges are marked and copied into rows of their own.
    """

    def __init__(
        self, traced: Traced, graph: DeviceGraph, device, options: Options, pulls: bool,
        walks: bool = True, trees: bool = False, filters_edges: bool = False,
    ):  # fmt: skip
        self.traced, self.graph, self.device, self.options = traced, graph, device, options
        self.pulls, self.walks, self.trees, self.filters_edges = pulls, walks, trees, filters_edges
        self._program = type(traced.program).__name__.lower()
        self._known = device.texts.setdefault(traced.wording, {})
        self._texts: dict[Name, tuple[str, str]] = {}

    @cached_property
    def runs_across(self) -> bool:
        """Whether rounds of this program may run on all GPUs without the host."""
        links, traced, options = self.graph.links, self.traced, self.options
        asked = options.schedule not in ("auto", "persistent")
        strict = asked or options.record or options.sweeps or options.pours > 0 or options.cull > 0
        able = (self.walks or self.trees) and not (traced.all or traced.float_sums or strict)
        return able and links is not None and links.direct

    @cached_property
    def reaches(self) -> bool:
        """Whether GPUs may run it as a whole in one kernel."""
        return self.runs_across and self.options.reaching(self.graph.extent) > 0 and proposes_source(self.traced)

    @cached_property
    def names(self) -> list[Name]:
        """Modules that every run calls."""
        fused = self.graph.local.mirrors == 0
        names = [("phases", False)] + [("across", False)] * self.runs_across + [("reach", False)] * self.reaches
        if fused:
            names += [("phases", True), ("rounds", True)]
        names += [(name, fused) for name in self._walkers(fused)]
        return names + [("sieve", fused)] * self.filters_edges

    def compiled(self, names: Sequence[Name]) -> bool:
        """Whether the machine code of modules lies in the cache folder, or here."""
        return all(self.device.compiled(*self.text(*name)) for name in names)

    def compile(self, names: Sequence[Name]) -> None:
        """Compile those that are not in the cache folder, side by side."""
        self.device.prepare(self.text(*name) for name in names)

    def text(self, name: str, fused: bool) -> tuple[str, str]:
        """What a module is compiled from, and its name."""
        if (name, fused) not in self._texts:
            self._texts[name, fused] = self._made(name, fused)
        return self._texts[name, fused]

    def _walkers(self, fused: bool) -> list[str]:
        """Modules that a run's rounds are likely to be walked by."""
        chosen = self.options.schedule
        if chosen not in SCHEDULES:
            return [] if self.traced.all else [f"{name}:push" for name in ahead(self.options, self.graph.wide)]
        ways = ["push"] * ("push" in self.traced.program.directions) + ["pull"] * self.pulls
        poured = ["pour"] * bool(fused and self.options.pours)
        plain = [f"{SCHEDULES[chosen].plain}:push"] * bool(SCHEDULES[chosen].plain and "push" in ways)
        return [f"{chosen}:{traversal}" for traversal in ways + poured] + plain

    def _made(self, name: str, fused: bool) -> tuple[str, str]:
        """All runs of a program on this GPU share its texts."""
        schedule, _, traversal = name.partition(":")
        variant = module_text.Variant(
            wide=self.graph.wide,
            degrees=self.graph.degree.dtype.name,
            ids=self.graph.original.dtype.name,
            fused=fused,
            pulling=traversal == "pull",
            record=self.options.record,
            blocked=self.options["alb_distribution"] == "blocked",
            sweep=self.options.sweeps,
            pour=traversal == "pour",
            cull=self.options.cull,
            local=self.options.local_rounds,
            reach=self.options.reaching(self.graph.extent),
            peels=self.traced.program.kernel in module_text.PEELED and not self.pulls,
            trees=self.trees,
            by_id=self.pulls and self.traced.smallest and self.graph.by_id,
        )
        if (variant, schedule) not in self._known:
            self._known[variant, schedule] = module_text.module(self.traced, variant, schedule)
        return self._known[variant, schedule], f"{self._program}_{name.replace(':', '_')}"
