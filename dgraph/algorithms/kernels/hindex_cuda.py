"""Core numbers as estimates that fall, on one GPU or between several: in tens of rounds, where dropping vertices level
by level takes thousands.   [Montresor, De Pellegrini & Miorandi, TPDS 2013]

It stands for the rounds of a program whose ``kernel`` is "estimates": it has a field ``core``, a vertex's degree at
first and in the end its core number, and a field ``lost`` of 64 bits; parameters ``first`` and ``single``, to look at
no number above ``first`` + 1. Every edge of a master must be here, and none of a mirror. What ranks tell each other are
estimates of masters that fell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Any

import numpy as np

from dgraph.algorithms.kernels import hindex_arrays
from dgraph.backend.cuda.codegen import control_block as at
from dgraph.backend.cuda.codegen import message_layout
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.exchange.exchange import Exchange, Exchanges
from dgraph.backend.cuda.gpu_options import Options
from dgraph.backend.cuda.round_kernels.machine import DeviceExchange, Machine
from dgraph.backend.cuda.round_kernels.module_set import Name
from dgraph.backend.round_stats import RoundStats
from dgraph.backend.snapshot import Snapshot
from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.program import Traced

INSTEAD = "use --variant peeling"


class HindexMachine(Machine):
    """Rounds of estimates. A rank goes on alone while it has little to do, then all exchange."""

    walks_by_schedule = False
    direction, waiting, round, done = "push", 0, 0, False
    total_active = total_edges = 0

    def __init__(self, traced: Traced, graph: DeviceGraph, device, options: Options):
        if graph.links is not None and not whole_rows(graph):
            raise UsageError(
                "estimates of core numbers need all edges of a vertex on one rank, and this partition cuts vertices or "
                f"keeps edges at their targets; use --policy oec or metis, or {INSTEAD}"
            )
        if graph.wide:
            raise UsageError(
                f"estimates of core numbers count up to 2³¹ edges a GPU, and this one has {graph.edges:,}; "
                f"use more GPUs, or {INSTEAD}"
            )
        super().__init__(traced, graph, device, "push", options)
        self.alone, self.minima = graph.links is None, 0

    @property
    def _names(self) -> Sequence[Name]:
        return [("estimates", self.alone)] + [("phases", False)] * (not self.alone)

    def exchange(self, comm: Comm, plans: Mapping[str, Any], record) -> DeviceExchange | None:
        """Messages from GPU to GPU. Collective."""
        if self.graph.links is not None:
            self.device_exchange = HindexExchange(self, comm, self.graph.links, plans, record)
        return self.device_exchange

    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """Every vertex is estimated by its degree. No core number k needs fewer than k · (k + 1) edges."""
        parameters, arrays = self.traced.program.parameters, self.arrays
        most = isqrt(self.local.arcs)
        if parameters["single"]:
            most = min(most, parameters["first"] + 1)
        arrays.words[at.TICK] = 1  # of the counters that unpacking adds to
        self._launch("begin_estimates", most)
        if not self.alone:
            self._turn_edges()
        self.read()
        self._here = self.local.masters, self.graph.edges

    def _turn_edges(self) -> None:
        """Edges into mirrors, by mirror."""
        offsets = self.arrays.back_offsets
        self._launch("turn_edges", 0)
        offsets[...] = self.device.xp.cumsum(offsets, dtype=offsets.dtype)
        self._launch("turn_edges", 1)

    def edge(self) -> None:
        """Mirrors that fell, then rounds of this rank."""
        self._launch("estimate", at.RING)
        self._notes.append(RoundStats("estimates"))

    def vertex(self) -> None:
        """What the rounds came to: masters that others must hear of are :meth:`frontier`."""
        self._look()
        if self.device_exchange is not None:
            self.device_exchange.check()

    def fused(self, limit: int) -> int:
        """Up to ``limit`` rounds of the whole graph; how many."""
        first = self.round
        self._launch("estimate", min(limit, at.RING))
        self.read()
        self.round = int(self.words[at.ROUND])
        self.total_active, self.total_edges = int(self.words[at.QUEUED]), int(self.words[at.EDGES])
        self.done = self.total_active == 0
        self._notes.append(RoundStats("estimates", rounds=self.round - first))
        return self.round - first

    def across(self, limit: int) -> None:
        """Rounds of all ranks' GPUs, up to the agreement on the last one or before round ``limit``."""
        first = self.round
        turns = min(limit - first, at.RING)
        self._launch("estimate_across", first + (turns << hindex_arrays.MOST_TURNS))
        self._look()
        self.round = int(self.words[hindex_arrays.TURN])
        self.note("estimates", self.round - first + 1)

    def _look(self) -> None:
        self.read()
        self._here = int(self.words[at.ACTIVE] + self.words[at.QUEUED]), int(self.words[at.EDGES])

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices that fell, and their edges."""
        return np.array(self._here, np.int64), np.empty(0)

    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Take in the totals of all ranks: where nothing falls any more, estimates are core numbers."""
        self.total_active, self.total_edges = (int(x) for x in integers[:2])
        if not starting:
            self.round += 1
            self.done = self.total_active == 0

    def globals(self) -> dict[str, int | float]:
        """None that anybody asks for."""
        return {}

    def settle_joined(self) -> None:
        """Mirrors that were heard of stand behind the masters; the next rounds find them there."""

    def portable(self) -> Snapshot | None:  # type: ignore[override]
        """Nothing: what the program's own rounds hold between levels is not known here, and rounds are few."""
        return None

    def restore(self, kept: Snapshot) -> None:
        """Nothing: rounds begin again, from degrees."""

    def _launch(self, kernel: str, argument: int) -> None:
        self.kernels.launch("estimates", kernel, argument, fused=self.alone)


def whole_rows(graph: DeviceGraph) -> bool:
    """Whether every edge that leaves a master is here, and none that leaves a mirror."""
    masters = graph.local.masters
    return int(graph.degree[:masters].sum(dtype=np.int64)) == int(graph.out.offsets[masters]) == graph.edges


class HindexExchange(Exchange):
    """What estimates ask of an exchange: nothing is reduced, and masters that fell are told to all their mirrors."""

    def across(self, limit: int, sync: Exchanges) -> bool:
        """Rounds without the host, up to the agreement on the last one; whether there were any, on all ranks alike."""
        if not self.direct or self.machine.options.host_rounds:
            return False
        self.machine.across(limit)
        self.check()
        return True

    def _write_post(self, push: Any) -> None:
        super()._write_post(push)
        self.machine.arrays.post[message_layout.POST_TELL] = self._exchange_word(("core",), "any", joins=True)

    def reduce(self, fields: tuple[str, ...], role: str, dense: bool, failed: bool) -> None:
        """Nothing: support is counted where the vertex is."""

    def broadcast(
        self, fields: tuple[str, ...], role: str, dense: bool, marked: bool, joins: bool, failed: bool
    ) -> None:
        """Estimates of masters that fell. Before the first round mirrors know their degrees."""
        if self.machine.round:
            self._exchange(self._exchange_word(("core",), "any", joins=True, failed=failed))
