"""``GpuPlan``: options of a GPU run, resolved: those of the user, and those that an algorithm's variant adds."""

from __future__ import annotations

from copy import copy

from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.schedule_options import checked
from dgraph.errors import UsageError, option, unknown
from dgraph.program import Traced
from dgraph.program.analysis import sums_source_floats
from dgraph.program.traversal import EVERY, Traversal

SMALL, SMALL_MULTI_GPU = 1 << 21, 1 << 20
"""Largest frontier, in vertices and in edges, that the persistent kernel runs: on one GPU, and a rank of several GPUs.

The first is within 4 % of the best limit on every graph of ``python -m benchmarks tuning``.
"""

SMALL_GRAPH = 1 << 20
"""Edges of a graph up to which searches of one GPU only push, and no edges are copied in another order.

The persistent kernel then runs the whole search: a pull would cost two launches and a read more than it saves. Rows fit
the cache, and copies of them would take kernels that a first call has to compile.
"""

PERSISTENT_BFS_BLOCKS = 4
"""Blocks a multiprocessor of the kernel that runs a whole search."""

ROUNDS_AHEAD = 8
"""Rounds that are launched before the host reads the round state, where all have the same launches.

Programs over all vertices have them, and row reducers whose rows keep support, from the second round on.
"""

MAX_BINNED_EDGES = 2**32
"""Edges of a rank from which on they are not binned by target: 32-bit counters address a bin's edges."""

MIN_BINNED_DEGREE = 8
"""Mean degree from which on edges are binned by target on a graph without skew.

Roads and grids have fewer edges a vertex, and their neighbours lie near each other in memory.
"""

CULLING = {"warp": control.CULL_WARP, "hash": control.CULL_HASH}
"""Name of a culling method of a traversal → its bit in ``GpuPlan.cull``."""


class GpuPlan:
    """Resolved options of one run on a GPU; :class:`~dgraph.engine.run_options.Options` are what a user writes.

    Args:
        schedule: "auto", "persistent", or a key of ``SCHEDULES``.
        small: largest frontier, in vertices and in edges, of the persistent kernel; None: the measured limits.
        record: count the edges that each thread visits, by round.
        timed: put events around every launch, for seconds by kernel.
        ranges: name rounds and phases for a profiler.
        renumber: number vertices by descending degree; None: where degrees are skewed.
        blocks: blocks of every launch whose grid is free; None: as many as are resident at once.
        local_rounds: a rank runs several rounds before it exchanges, where values only improve; None: programs
            that ask for it.
        host_rounds: end large rounds by an MPI allreduce even if GPUs are peer-accessible.
        across_limit: ``small`` for each of several ranks; None: as ``small``.
        reach: blocks a multiprocessor of the persistent kernel that runs a whole search (bfs), large rounds
            included, on all GPUs; 0: no such kernel; None: see :meth:`persistent_bfs_blocks`.
        given: options of the schedule, see ``dgraph.backend.schedule_options``; ``options[name]`` is the value.

    Attributes:
        key: hashable; options with equal keys are equal, before a traversal is added.
        sweeps, emit_limit, features: as in :class:`~dgraph.program.traversal.Traversal`.
        cull: culling of duplicate proposals: sum of CULL_WARP and CULL_HASH.
        alone, small: ``small`` on one rank, and on each of several.
        one_block: True if small rounds run in one block.
        copies_edges: True if edges may be copied: some into filtered rows or rows' heads, or all into bins.

    Raises:
        UsageError: an unknown name or value, or an option of another schedule.
    """

    def __init__(
        self,
        schedule: str = "auto",
        *,
        small: int | None = None,
        record: bool = False,
        timed: bool = False,
        ranges: bool = False,
        renumber: bool | None = None,
        blocks: int | None = None,
        local_rounds: bool | None = None,
        host_rounds: bool = False,
        across_limit: int | None = None,
        reach: int | None = None,
        **keywords: object,
    ):
        schedules = ("auto", "persistent", *SCHEDULES)
        if schedule not in schedules:
            raise unknown("schedule", schedule, schedules)
        self.schedule, self.record, self.renumber, self.blocks = schedule, record, renumber, blocks
        self.alone, self.small = (SMALL, SMALL_MULTI_GPU) if small is None else (small, small)
        if across_limit is not None:
            if across_limit < 0:
                raise UsageError(f"{option('across_limit', across_limit)} is not a number of edges; give 0 or more")
            self.small = across_limit
        self.timed, self.ranges, self.local_rounds, self.copies_edges = timed, ranges, local_rounds, True
        self.host_rounds, self.reach = host_rounds, reach
        self.values = checked(schedule, keywords)
        if schedule == "auto":
            self.values["alb_threshold"] = "auto"  # the paper's is the default of the schedule's name alone
        self.key = (
            schedule, small, record, timed, ranges, renumber, blocks, local_rounds, host_rounds, across_limit,
            reach, *sorted(keywords.items()),
        )  # fmt: skip
        self.sweeps, self.cull, self.one_block = self.values["steal_tasks"] == "all", 0, False
        if self.sweeps and renumber is None:
            self.renumber = False
        self.emit_limit = EVERY if self.values["edge_emit"] == "fused" else 0
        self.features: tuple[str, ...] = ()
        self._under: dict[Traversal, GpuPlan] = {}

    def persistent_bfs_blocks(self, extent: GraphSize) -> int:
        """Return ``reach`` for a graph: the given number, else 4 where vertices are renumbered; equal on all ranks.

        Renumbered graphs are skewed, and searches of few large rounds gain.
        """
        if self.host_rounds:
            return 0
        return self.reach if self.reach is not None else PERSISTENT_BFS_BLOCKS * extent.renumbered

    @property
    def grid(self) -> int:
        """Blocks of its schedule's launches that an option names; 0 where none does."""
        row = SCHEDULES.get(self.schedule)
        value = self.values[row.grid] if row and row.grid else 0
        return value if isinstance(value, int) else 0

    @property
    def observed(self) -> bool:
        """True if loads, times or ranges of this run are recorded."""
        return self.record or self.timed or self.ranges

    def direction(self, asked: str, traced: Traced, edges: int) -> str:
        """Return the direction of a program on one GPU: "push" for searches of a small graph, else as was asked."""
        small = edges <= min(SMALL_GRAPH, self.alone) and self.schedule == "auto" and not (self.record or self.sweeps)
        search = traced.once and not (traced.all or traced.program.kernel)
        pushes = small and search and "push" in traced.program.directions
        return "push" if pushes and asked == "auto" else asked

    def filters_edges(self, traced: Traced, extent: GraphSize, pulls: bool) -> bool:
        """Return True if rounds may visit only edges that can propose anything (``edge_filter.py``)."""
        return self.copies_edges and traced.program.sparse and not (pulls or traced.weighted)

    def light_edges_only(self, traced: Traced, pulls: bool) -> bool:
        """Return True if rounds may visit rows of light edges alone (``light_edges.py``)."""
        plain = not pulls and self.schedule == "auto" and not (self.sweeps or self.emit_limit)
        return self.copies_edges and plain and traced.weighted and traced.program.heaviest is not None

    def bins_edges(self, traced: Traced, extent: GraphSize, pulls: bool) -> bool:
        """Return True if a program pulls along edges that are binned by target (``propagation_blocking.py``)."""
        plain = pulls and self.schedule not in SCHEDULES and not self.record
        pays = extent.renumbered or extent.edges >= MIN_BINNED_DEGREE * extent.size
        pays &= extent.edges > SMALL_GRAPH
        return self.copies_edges and plain and pays and extent.edges < MAX_BINNED_EDGES and sums_source_floats(traced)

    def tests_id_heads(self, traced: Traced, extent: GraphSize, pulls: bool) -> bool:
        """Return True if a program that asks for the smallest id tests rows' first neighbours by id first."""
        plain = pulls and traced.all and not (traced.weighted or self.record) and self.schedule not in SCHEDULES
        asks = traced.smallest and not traced.program.first_hit
        pays = extent.renumbered and not extent.mirrored and extent.edges > SMALL_GRAPH
        return self.copies_edges and plain and asks and pays

    def may_copy_edges(self, traced: Traced) -> bool:
        """Return True if some graph gets filtered rows, bins or first neighbours by id for a program."""
        copied = traced.program.sparse or traced.program.heaviest is not None or traced.smallest
        return self.copies_edges and (copied or sums_source_floats(traced))

    def without_edge_copies(self) -> GpuPlan:
        """Return this plan without filtered rows, bins and first neighbours by id: copies of edges."""
        chosen = self._copy()
        chosen.copies_edges = False
        return chosen

    def _copy(self) -> GpuPlan:
        chosen = copy(self)
        chosen._under = {}
        return chosen

    def __getitem__(self, name: str) -> str | int:
        return self.values[name]

    def under(self, traversal: Traversal) -> GpuPlan:
        """Return this plan under a traversal of an algorithm's variant.

        A schedule that the user named takes precedence over the traversal's. Made once for each traversal.
        """
        derived = self._under.get(traversal)
        if derived is None:
            derived = self._under[traversal] = self._made_under(traversal)
        return derived

    def _made_under(self, traversal: Traversal) -> GpuPlan:
        chosen = self._copy()
        chosen.values = dict(self.values)
        if self.schedule == "auto" and traversal.schedule != "auto":
            chosen.schedule = traversal.schedule
            chosen.values |= traversal.options  # type: ignore[arg-type]
        chosen.sweeps, chosen.features = chosen.sweeps or traversal.sweeps, traversal.features
        chosen.emit_limit = max(traversal.emit_limit, self.emit_limit)
        chosen.cull = sum(CULLING[name] for name in traversal.culling)
        if chosen.schedule == "bfs-4k":
            chosen.one_block = "single-block" in traversal.features
            chosen.alone = chosen.small = control.BLOCK if chosen.one_block else -1
        return chosen
