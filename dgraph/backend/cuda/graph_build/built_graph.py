"""Handle of a graph that was generated on the ranks' GPUs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dgraph.backend.cuda.graph_build.build_kernels import BuildKernels, gid_dtype
from dgraph.backend.cuda.graph_build.build_memory import building, renumbering
from dgraph.backend.cuda.graph_build.build_plan import BuildPlan, draft
from dgraph.backend.cuda.graph_build.build_rows import BuiltCsr, rows
from dgraph.backend.cuda.graph_build.built_local import BuiltLocal
from dgraph.backend.cuda.graph_build.certificate import EdgeCertificate
from dgraph.backend.cuda.graph_build.degrees import busiest, degrees, largest_group, order
from dgraph.backend.cuda.graph_build.ownership import place, places
from dgraph.backend.cuda.graph_build.vertices import BuiltVertices, spread, whole
from dgraph.comm import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.graph.bases.shared_attribute import SharedAttribute
from dgraph.graph.block import EdgeBlock, GraphFacts, gid_type
from dgraph.graph.build.fingerprint import digest
from dgraph.graph.build.simplify import SYMMETRISED, simple_facts, simplified, symmetrised
from dgraph.graph.handle import Graph, Partitioned
from dgraph.graph.ids import ConsecutiveIds
from dgraph.graph.load import load
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.local import LocalGraph
from partitioning.policies.edge_cut import Blocks


class BuiltGraph(Graph):
    """Graph that was generated on GPUs.

    Rows by gid are made on the host when something needs them: copied where ranks hold blocks of vertices, else
    generated there.

    Attributes:
        built_on: this rank's GPU.
        draft: the plan that was built.
    """

    stored = True
    draws = True
    """True if ``evidence`` draws the edges again."""
    _of_lists: ClassVar[Any]
    """The class of graphs of listed edges, which derives from this one."""

    def __init_subclass__(cls) -> None:
        BuiltGraph._of_lists = cls

    _host = SharedAttribute()
    _copy = SharedAttribute()
    """Handle of :meth:`on_host`."""

    def __init__(
        self, plan: BuildPlan, comm: Comm, device, policy: str, options: LoadOptions, renumber: bool | None = None
    ):
        self.comm, self.built_on, self.policy = comm, device, policy
        self.draft, self._options, self._policy, self._renumber = plan, options, policy, renumber
        self._afterwards: tuple[Callable[[EdgeBlock, Comm], EdgeBlock], ...] = ()
        self._bounds: np.ndarray | None = None
        ids, facts = ConsecutiveIds(plan.n), replace(plan.facts, notes=list(plan.facts.notes))
        self._begin(GraphFacts(plan.n, 0, 0, plan.directed, plan.weight_type, ids, facts), None)
        self.partitions[policy] = self._built(policy)

    @classmethod
    def from_spec(cls, spec: str, comm: Comm, device, policy: str, options: LoadOptions, renumber: bool | None = None):
        """Build the graph ``NAME:SIZE…`` on these ranks' GPUs; collective.

        Raises:
            UsageError: not a generator, options or a policy that need the edges on the host, or too little memory.
        """
        with comm.together():
            device.use()
            plan = draft(spec, options)
        return cls(plan, comm, device, policy, options, renumber)

    def opened(self, policy: str) -> Partitioned | None:
        """Build this rank's part under a policy; None if the policy must see the edges first; collective."""
        return self._built(policy) if self.comm.size == 1 or places(policy) else None

    def _built(self, policy: str) -> Partitioned:
        plan, comm = self.draft, self.comm
        with comm.together():
            self.built_on.use()
            kernels = self._kernels()
        placement = place(policy, plan, kernels, comm)
        if isinstance(placement.owner, Blocks):
            self._bounds = placement.owner.bounds
        if comm.size > 1:
            vertices = spread(plan, placement, kernels, comm)
            order(plan, vertices, placement, kernels, comm, self._renumber)
        else:
            vertices = self._whole(kernels)
        built = rows(plan, vertices, kernels, comm)
        degree = degrees(built, vertices, placement.cut == "outgoing", comm, self.built_on)
        self._set_facts(built, vertices, degree)
        planned = building(
            plan.n, vertices.size, built.neighbours.size + built.spare // 4, comm.size,
            ids=vertices.original.itemsize,
            weight=0 if built.weights is None else built.weights.itemsize,
            longest=built.longest,
            renumbered=vertices.place is not None,
            group=largest_group(vertices),
        )  # fmt: skip
        local = BuiltLocal(self._known, built, vertices, degree, self.built_on, planned)  # type: ignore[arg-type]
        return Partitioned(placement.policy, placement.reason, placement.warning, local)

    def _kernels(self) -> BuildKernels:
        """Return the kernels of the plan."""
        return BuildKernels(self.draft, self.built_on, self.comm.rank, self.comm.size)

    def _whole(self, kernels: BuildKernels) -> BuiltVertices:
        """Assign lids to all vertices on one rank; by degree if that is wanted and fits."""
        plan, renumber = self.draft, self._renumber
        if renumber is None:
            weight = 0 if plan.weight_type is None else plan.weight_type.itemsize
            need = renumbering(plan.n, plan.n, plan.arcs, 1, weight=weight, ids=gid_dtype(plan.n)[0].itemsize)
            renumber = None if need <= self.built_on.free(need) else False
        return whole(plan, kernels, renumber)

    def _set_facts(self, built: BuiltCsr, vertices: BuiltVertices, degree) -> None:
        """Set the facts that are known after building, equal under every policy; collective."""
        graph, facts, both = self._known, self._known.facts, self.draft.both
        here = np.array([built.neighbours.size, built.equal, built.equal_loops, built.kept_loops], np.int64)
        arcs, equal, equal_loops, loops = (int(count) for count in self.comm.allreduce(here))
        graph.arcs, graph.m = arcs, arcs if graph.directed else (arcs - loops) // 2 + loops
        facts.loops, facts.isolated = built.loops, built.isolated
        facts.duplicates = (equal - equal_loops) // (2 if both or not graph.directed else 1) + equal_loops
        most, hub = busiest(degree, vertices, self.built_on)
        candidates = self.comm.allgather(np.array([most, -hub], np.int64))
        most, hub = max(candidates.tolist())
        facts.largest_degree, self._hub = max(most, 0), -hub
        self._fingerprint = digest(graph.n, graph.directed, built.hashed, self.comm)

    def hub(self) -> int:
        """Return the smallest gid among vertices of the largest degree."""
        return self._hub

    @property
    def block(self) -> EdgeBlock:
        """Rows by gid on the host; collective on first use."""
        if self._host is None:
            local = self._blocks()
            if local is not None:
                with self.built_on.using():
                    self._host = self._rows_by_gid(local)
            else:
                rows = load(self.draft.facts.name, self.comm, self._options)
                for change in self._afterwards:
                    rows = change(rows, self.comm)
                self._host = rows
        return self._host

    def on_host(self) -> Graph:
        """Return a handle of this graph whose partition is in the host's memory, for runs without a GPU; collective."""
        if self._copy is None:
            self._copy = Graph(self.block, self.comm)
            self._copy.version = self.version
        return self._copy.on(self.policy, self.device)

    def _blocks(self) -> LocalGraph | None:
        """Return a built partition whose ranks hold consecutive rows, or None."""
        able = (part.local for part in self.partitions.values() if self.comm.size == 1 or part.policy == "oec")
        return next(able, None)

    def _rows_by_gid(self, local: LocalGraph) -> EdgeBlock:
        """Copy the rows of a partition to the host."""
        alone, graph, threads = self.comm.size == 1, self._known, rank_threads(self.comm)
        with self.comm.together():
            gids = None if alone else local.gids.astype(gid_type(self.n))
            offsets, targets, weights = local.out.rows_by_gid(gids, local.masters, threads)  # type: ignore[attr-defined]
        first = self.comm.before(local.masters)
        return EdgeBlock(
            self.n, graph.m, graph.arcs, first, offsets, targets, weights, self.directed, self.ids, self.facts
        )

    @property
    def evidence(self) -> EdgeCertificate:
        """The edges for certificates: drawn again, independent of the rows that runs use.

        A rank checks the vertices that it owns where ranks own blocks, else an equal share of them.
        """
        if self._bounds is None:
            ends = [self.n * rank // self.comm.size for rank in range(self.comm.size + 1)]
        else:
            ends = self._bounds.tolist()
        first, stop = ends[self.comm.rank : self.comm.rank + 2]
        return EdgeCertificate(self, first, stop - first)

    def _symmetrised(self, rule: str) -> Graph:
        apart = self.draws and self.weight_type is not None  # both arcs of an edge have weights of their own
        local = self._blocks() if apart else None
        if rule not in ("min", "") or (apart and (local is None or self.comm.size > 1)):
            return super()._symmetrised(rule)
        facts = replace(self.draft.facts, notes=[*self.facts.notes, SYMMETRISED])
        plan = replace(self.draft, directed=False, both=True, keep_parallel=not rule, facts=facts)
        change = partial(symmetrised, keep_parallel=not rule)
        if local is None:
            both = self._built_anew(plan, change)
        else:
            both = self._of_lists.of_rows(self, local, replace(plan, rule=None), change)
        both._known.facts = replace(
            self.facts,
            largest_degree=both.facts.largest_degree,
            duplicates=self.facts.duplicates if rule else both.facts.duplicates,
            duplicates_kept=not rule,
            notes=facts.notes,
        )
        return both

    def _simplified(self, loops: bool, parallel: bool) -> Graph:
        draft, facts = self.draft, simple_facts(self.facts, loops, parallel)
        plan = replace(
            draft, keep_loops=facts.loops_kept, keep_parallel=draft.keep_parallel and not parallel, facts=facts
        )
        simple = self._built_anew(plan, partial(simplified, loops=loops, parallel=parallel))
        simple._known.facts = replace(simple.facts, loops=self.facts.loops, duplicates=self.facts.duplicates)
        return simple

    def _built_anew(self, plan: BuildPlan, change: Callable[[EdgeBlock, Comm], EdgeBlock]) -> Graph:
        """Return the graph of another plan and drop this one's partitions.

        Args:
            plan: of the new graph.
            change: makes the new graph's rows from this one's, on the host.
        """
        self.partitions.clear()  # frees the memory; a run generates it again
        graph = BuiltGraph(plan, self.comm, self.built_on, self._policy, self._options, self._renumber)
        graph._afterwards = (*self._afterwards, change)
        return graph

    def _release(self) -> None:
        copied = self._shared.pop("_copy", None)
        if copied is not None:
            copied.close()
        self._shared.pop("_host", None)
