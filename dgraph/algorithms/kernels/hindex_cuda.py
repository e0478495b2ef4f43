"""K-core by H-index estimates, on one GPU or between several.

[Montresor, De Pellegrini & Miorandi, TPDS 2013] Takes tens of rounds where peeling level by level takes thousands. The
machine replaces the rounds of a program whose ``kernel`` is "estimates". The program has a field ``core`` (first
degrees, finally core numbers), a field ``lost`` of 64 bits, and parameters ``first`` and ``single``, which limit
estimates to ``first`` + 1. Masters have all their edges here, mirrors none. Ranks exchange the lowered estimates of
masters.
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
"""Advice in error messages."""


class HindexMachine(Machine):
    """Rounds of H-index estimates. A rank runs alone while it has little to do, then all ranks exchange."""

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
        return [("hindex", self.alone)] + [("round_kernels", False)] * (not self.alone)

    def exchange(self, comm: Comm, plans: Mapping[str, Any], record) -> DeviceExchange | None:
        """Return the exchange between GPUs, None on one rank; collective."""
        if self.graph.links is not None:
            self.device_exchange = HindexExchange(self, comm, self.graph.links, plans, record)
        return self.device_exchange

    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """Set every estimate to the degree, limited by m ≥ k · (k + 1) ÷ 2 edges of a k-core."""
        parameters, arrays = self.traced.program.parameters, self.arrays
        most = isqrt(self.local.arcs)
        if parameters["single"]:
            most = min(most, parameters["first"] + 1)
        arrays.words[at.TICK] = 1  # selects the counters that unpacking adds to
        self._launch("begin_estimates", most)
        if not self.alone:
            self._group_mirror_edges()
        self.read()
        self._local_totals = self.local.masters, self.graph.edges

    def _group_mirror_edges(self) -> None:
        """Group edges into mirrors by mirror."""
        offsets = self.arrays.back_offsets
        self._launch("turn_edges", 0)
        offsets[...] = self.device.xp.cumsum(offsets, dtype=offsets.dtype)
        self._launch("turn_edges", 1)

    def edge(self) -> None:
        """Apply lowered mirrors, then run rounds of this rank."""
        self._launch("estimate", at.RING)
        self._notes.append(RoundStats("estimates"))

    def vertex(self) -> None:
        """Read the results of the rounds; lowered masters with mirrors are :meth:`frontier`."""
        self._read_totals()
        if self.device_exchange is not None:
            self.device_exchange.check()

    def fused(self, limit: int) -> int:
        """Run up to ``limit`` rounds of the whole graph; return their number."""
        first = self.round
        self._launch("estimate", min(limit, at.RING))
        self.read()
        self.round = int(self.words[at.ROUND])
        self.total_active, self.total_edges = int(self.words[at.QUEUED]), int(self.words[at.EDGES])
        self.done = self.total_active == 0
        self._notes.append(RoundStats("estimates", rounds=self.round - first))
        return self.round - first

    def run_device_rounds(self, limit: int) -> None:
        """Run rounds of all ranks' GPUs until no estimate falls or round ``limit`` is next."""
        first = self.round
        turns = min(limit - first, at.RING)
        self._launch("estimate_across", first + (turns << hindex_arrays.MOST_TURNS))
        self._read_totals()
        self.round = int(self.words[hindex_arrays.TURN])
        self.note("estimates", self.round - first + 1)

    def _read_totals(self) -> None:
        self.read()
        self._local_totals = int(self.words[at.ACTIVE] + self.words[at.QUEUED]), int(self.words[at.EDGES])

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the vertices that fell and their edges."""
        return np.array(self._local_totals, np.int64), np.empty(0)

    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Apply the totals of all ranks; done when no estimate falls."""
        self.total_active, self.total_edges = (int(x) for x in integers[:2])
        if not starting:
            self.round += 1
            self.done = self.total_active == 0

    def globals(self) -> dict[str, int | float]:
        """Return no globals."""
        return {}

    def end_join(self) -> None:
        """Do nothing: lowered mirrors stay in the queue behind the masters, for the next rounds."""

    def snapshot(self) -> Snapshot | None:  # type: ignore[override]
        """Return None: rounds are few, and the program's own rounds could not resume from estimates."""
        return None

    def restore(self, kept: Snapshot) -> None:
        """Do nothing: rounds begin again, from degrees."""

    def _launch(self, kernel: str, argument: int) -> None:
        self.kernels.launch("hindex", kernel, argument, fused=self.alone)


def whole_rows(graph: DeviceGraph) -> bool:
    """Return True if every edge that leaves a master is here, and none that leaves a mirror."""
    masters = graph.local.masters
    return int(graph.degree[:masters].sum(dtype=np.int64)) == int(graph.out.offsets[masters]) == graph.edges


class HindexExchange(Exchange):
    """Exchange of estimates: no reduce, and a broadcast of lowered masters to all their mirrors."""

    def run_device_rounds(self, limit: int, sync: Exchanges) -> bool:
        """Run rounds without the host; return False, on all ranks, where the host must run them."""
        if not self.direct or self.machine.options.host_rounds:
            return False
        self.machine.run_device_rounds(limit)
        self.check()
        return True

    def _write_post(self, push: Any) -> None:
        super()._write_post(push)
        self.machine.arrays.post[message_layout.POST_BROADCAST] = self._exchange_word(("core",), "any", joins=True)

    def reduce(self, fields: tuple[str, ...], role: str, dense: bool, failed: bool) -> None:
        """Do nothing: support is counted at the masters."""

    def broadcast(
        self, fields: tuple[str, ...], role: str, dense: bool, marked: bool, joins: bool, failed: bool
    ) -> None:
        """Send estimates of lowered masters; before the first round mirrors know their degrees."""
        if self.machine.round:
            self._exchange(self._exchange_word(("core",), "any", joins=True, failed=failed))
