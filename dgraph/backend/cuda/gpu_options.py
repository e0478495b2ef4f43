"""What a user, and an algorithm's variant, may choose about the GPU backend."""

from __future__ import annotations

from copy import copy

from dgraph.backend.cuda.codegen import control_block as at
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.schedule_options import checked
from dgraph.errors import UsageError, unknown
from dgraph.program import Traced
from dgraph.program.analysis import in_any_order, sums_sources
from dgraph.program.traversal import Traversal

SMALL, SMALL_ACROSS = 1 << 21, 1 << 20
"""Vertices and edges of a round that one kernel of many rounds walks, on one GPU and for each of several. The first is
within 4 % of the best limit on every graph of ``python -m benchmarks tuning``."""

REACH = 4
"""Blocks a multiprocessor of a kernel that runs a whole search."""

ROUNDS_AHEAD = 8
"""Rounds of a program over all vertices that are started before the host looks at one."""

TILED = 2**32
"""Edges of a rank from which on they do not lie by tiles of targets: a tile's are counted in 32 bits."""

DENSE = 8
"""Edges a vertex from which on they do where no degree stands out: roads and grids, whose neighbours lie near each
other, have fewer."""

CULLING = {"warp": at.CULL_WARP, "hash": at.CULL_HASH}

RECORDS = {"load": "record", "time": "timed", "ranges": "ranges"}
"""What ``--record`` names → the field that it sets."""


class Options:
    """Choices of one run.

    Args:
        schedule: "auto", "persistent", or a key of ``SCHEDULES``.
        small: frontier vertices and edges up to which rounds stay in the persistent kernel; None: as measured.
        record: count the edges that each thread visits, round by round.
        timed: put events around every launch, for seconds by kernel.
        ranges: name rounds and phases for a profiler.
        renumber: number vertices by falling degree; None: where degrees are skewed.
        blocks: blocks of every launch whose number a choice is of; None: as many as run at once.
        local_rounds: a rank runs rounds of its own until it has nothing left to do, before it exchanges.
        host_rounds: hosts agree on the ends of broad rounds, even where GPUs could.
        overlap: what mirrors are proposed to in a broad round travels while edges into masters are walked.
        across_limit: ``small`` of each of several ranks; None: as ``small``.
        reach: a search of which only who is reached travels (bfs) runs in one kernel of all GPUs, its broad rounds too,
            of so many blocks a multiprocessor; 0: it does not; None: as :meth:`reaching` has it.
        given: options of the schedule, see ``dgraph.backend.schedule_options``; ``options[name]`` is what holds.

    Attributes:
        sweeps, pours, features: as of :class:`~dgraph.program.traversal.Way`.
        cull: how proposals are thinned out: sum of CULL_WARP and CULL_HASH.
        alone, small: ``small`` on one rank, and on each of several.
        one_block: whether small rounds run in one block.
        sieve: whether edges may be copied, some into rows of their own, or all by tiles.

    Raises:
        UsageError: a name or value that is not known, an option of another schedule.
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
        local_rounds: bool = False,
        host_rounds: bool = False,
        overlap: bool = False,
        across_limit: int | None = None,
        reach: int | None = None,
        **given: object,
    ):
        known = ("auto", "persistent", *SCHEDULES)
        if schedule not in known:
            raise unknown("schedule", schedule, known)
        self.schedule, self.record, self.renumber, self.blocks = schedule, record, renumber, blocks
        self.alone, self.small = (SMALL, SMALL_ACROSS) if small is None else (small, small)
        if across_limit is not None:
            if across_limit < 0:
                raise UsageError(f"--across-limit {across_limit} is no number of edges; give 0 or more")
            self.small = across_limit
        self.timed, self.ranges, self.local_rounds, self.sieve = timed, ranges, local_rounds, True
        if host_rounds and overlap:
            raise UsageError(
                "--overlap is about rounds that GPUs agree on, --host-rounds leaves that to hosts; give one"
            )
        self.host_rounds, self.overlap, self.reach = host_rounds, overlap, reach
        self.values = checked(schedule, given)
        self.sweeps, self.pours, self.cull, self.one_block = False, 0, 0, False
        self.features: tuple[str, ...] = ()

    def reaching(self, extent: GraphSize) -> int:
        """``reach`` of a graph; it is the same on all its ranks. Searches of few broad rounds gain."""
        if self.host_rounds:
            return 0
        return self.reach if self.reach is not None else REACH * extent.renumbered

    def parting(self, traced: Traced, extent: GraphSize) -> bool:
        """Whether rounds of a program may be pushed in two parts by a rank, see ``push_overlap.py``."""
        plain = self.schedule == "auto" and not (self.sweeps or extent.wide or traced.all)
        return self.overlap and plain and extent.entered > 0 and in_any_order(traced)

    def sifting(self, traced: Traced, extent: GraphSize, pulls: bool) -> bool:
        """Whether rounds of a program may walk those edges alone that ever propose anything, see ``edge_filter.py``."""
        plain = not (pulls or traced.weighted or self.parting(traced, extent))
        return self.sieve and traced.program.sparse and plain

    def lightening(self, traced: Traced, pulls: bool) -> bool:
        """Whether rounds of a program may walk rows of light edges alone, see ``light_edges.py``."""
        plain = not pulls and self.schedule == "auto" and not (self.overlap or self.sweeps or self.pours)
        return self.sieve and plain and traced.weighted and traced.program.heaviest is not None

    def tiling(self, traced: Traced, extent: GraphSize, pulls: bool) -> bool:
        """Return True if a program pulls along edges that are binned by target, see ``propagation_blocking.py``."""
        plain = pulls and self.schedule not in SCHEDULES and not self.record
        pays = extent.renumbered or extent.edges >= DENSE * extent.size
        return self.sieve and plain and pays and extent.edges < TILED and sums_sources(traced)

    def unsifted(self) -> Options:
        """The same, where edges are walked as they lie: so no room is needed for a copy of them."""
        chosen = copy(self)
        chosen.sieve = False
        return chosen

    def uncut(self) -> Options:
        """The same, without rounds in two parts."""
        chosen = copy(self)
        chosen.overlap = False
        return chosen

    def __getitem__(self, name: str) -> str | int:
        return self.values[name]

    def under(self, traversal: Traversal) -> Options:
        """The same, where an algorithm's variant says how to walk; a schedule that was asked for stays."""
        chosen = copy(self)
        chosen.values = dict(self.values)
        if self.schedule == "auto" and traversal.schedule != "auto":
            chosen.schedule = traversal.schedule
            chosen.values |= traversal.options  # type: ignore[arg-type]
        chosen.sweeps, chosen.pours, chosen.features = traversal.sweeps, traversal.pours, traversal.features
        chosen.cull = sum(CULLING[name] for name in traversal.culling)
        if chosen.schedule == "bfs-4k":
            chosen.one_block = "single-block" in traversal.features
            chosen.alone = chosen.small = at.BLOCK if chosen.one_block else -1
        return chosen


def recording(words: str | None) -> dict[str, bool]:
    """The fields that ``--record`` sets: "load", "time" and "ranges", with commas between them.

    Raises:
        UsageError: a word is none of these.
    """
    asked = [word.strip() for word in (words or "").split(",") if word.strip()]
    for word in asked:
        if word not in RECORDS:
            raise unknown("thing to record", word, RECORDS)
    return {RECORDS[word]: True for word in asked}
