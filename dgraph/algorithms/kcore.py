"""Core numbers by peeling [Batagelj & Zaversnik 2003; Dhulipala et al., SPAA 2017: one k at a time].

The programs are in ``kcore_parts/``: :class:`Peel` is the method, :class:`Shells` and :class:`Estimates` are variants.
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm, limited
from dgraph.algorithms.edge_rule import STRIPPED
from dgraph.algorithms.kcore_parts.estimates import Estimates
from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.algorithms.kcore_parts.shells import STEP, Shells, by_shells
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import State, as_int64
from dgraph.errors import UsageError
from dgraph.program import Program
from dgraph.program.traversal import Traversal

PEELED = Traversal("variant peeling of kcore", on_cpu=True)
"""Traversal of peeling."""

VARIANTS = {
    "auto": PEELED,
    "peeling": PEELED,
    "shells": Traversal("variant shells of kcore", on_cpu=True),
    "estimates": Traversal("variant estimates of kcore", on_cpu=True),
}
"""Variant → traversal strategy.

peeling: :class:`Peel`. shells: :class:`Shells`, then :class:`ShellLevels`. estimates: :class:`Estimates`. auto: shells
on several GPUs if degrees allow many levels, else peeling.
"""

HUB, MEAN = 64 * STEP, STEP
"""Largest degree and mean degree from which ``auto`` expects many steps."""


@algorithm(
    "kcore",
    Parameter("k", int, None, "find only the members of the k-core (default: every core number)"),
    Parameter(
        "variant", str, "auto", "method; shells is for several GPUs",
        choices=tuple(VARIANTS),
    ),
    Parameter(
        "count", str, "edges", "what counts in a directed graph: edges, or arcs, as in NetworkX",
        choices=("edges", "arcs"),
    ),
    columns={
        "core_number": ResultColumn("largest k of a k-core with the vertex"),
        "in_core": ResultColumn("with k: 1 for members of the k-core, 0 for others"),
    },
    aliases=("core_number", "k_core"),
)  # fmt: skip
class KCore(Algorithm):
    """Core numbers of an undirected graph, or the members of one k-core.

    A directed graph is symmetrised first: an edge in both directions counts once, or twice with ``count="arcs"``, as in
    ``networkx.core_number``.

    Columns: ``core_number``, or ``in_core`` (0 or 1) if ``k`` is given; int64.
    """

    variant: str
    k: int | None
    undirected = True
    edge_rule = STRIPPED

    @classmethod
    def on_gpus(cls, ranks):
        """Return the variant that "auto" may choose on ``ranks`` GPUs."""
        return {"variant": "shells"} if ranks > 1 else {}

    @property
    def needs_rows(self):
        """Rows of ``estimates``, which fold those of all neighbours."""
        return "own" if self.variant == "estimates" else None

    @property
    def traversal(self):
        """Traversal strategy of the variant."""
        return VARIANTS[self.variant]

    def check(self):
        """Refuse a negative k."""
        if self.k is not None and self.k < 0:
            raise UsageError(f"k = {self.k} is not a core number; give k ≥ 0, or leave k out for every core number")

    def run(self, ctx: Context) -> Answer:
        """Find the core numbers by the chosen variant; collective."""
        largest = ctx.largest_degree
        dtype = "int64" if largest >= 2**31 else "int32"
        if self.k is None and self._chosen(ctx, largest) == "shells":
            return self._all(ctx, by_shells(ctx, dtype, self.traversal))
        if self.variant == "estimates":
            program: Program = Estimates() if self.k is None else Estimates(most=min(self.k, largest + 1))
        else:
            program = Peel(first=max(min(self.k or 0, largest + 1) - 1, 0), single=self.k is not None)
        state = ctx.run(program.retype(core=dtype).with_traversal(self.traversal))
        if self.k is None:
            return self._all(ctx, state)
        core = state["core"].astype(np.int64)
        inside = (core >= self.k) if self.k > 0 else np.ones(len(core), bool)
        summary = {"k": self.k, "members": ctx.total(int(inside.sum()))}
        limit = limited(state.finished, state.rounds)
        return Answer({"in_core": inside.astype(np.int64)}, summary, state.finished, limit)

    def _chosen(self, ctx: Context, largest: int) -> str:
        """Return the variant that "auto" stands for.

        ``shells`` visits edges twice but takes fewer rounds, which are what costs between GPUs.
        """
        if self.variant != "auto":
            return self.variant
        if ctx.began:
            return "shells" if ctx.began == Shells.__name__ else "peeling"
        many = largest >= HUB and ctx.local.arcs >= MEAN * ctx.local.n
        if not (many and ctx.comm.size > 1 and ctx.few_rounds):
            return "peeling"
        ctx.record.choose("variant", "shells", "several GPUs, and degrees that allow for many levels")
        return "shells"

    @staticmethod
    def _all(ctx: Context, state: State) -> Answer:
        cores = ctx.comm.allgather(np.array(state.largest("core"), np.int64))
        most = int(cores[:, 0].max())
        summary = {"largest_core": most, "largest_core_size": int(cores[cores[:, 0] == most, 1].sum())}
        limit = limited(state.finished, state.rounds)
        return Answer({"core_number": state.column("core", as_int64)}, summary, state.finished, limit)
