"""Vertex colouring in parallel [Jones & Plassmann 1993; Che et al., "Graph Coloring on the GPU" (003)].

Vertices have a total priority order. In the variant ``greedy`` a vertex takes the smallest free colour once all
neighbours of higher priority have theirs: the colours are those of the sequential greedy algorithm in that order. Small
graphs with few colours are then searched for components that two suffice for (``color_parts/two_colors.py``). The other
variants are those of paper 003 (``color_parts/priorities.py``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm, limited
from dgraph.algorithms.color_parts.colored_rounds import describe_rounds
from dgraph.algorithms.color_parts.priorities import BY_DEGREE, BY_KEY, EACH, KEY_PHASE, ONCE, degree_phase
from dgraph.algorithms.color_parts.two_colors import FEWEST, MOST, VERTICES, two_colored
from dgraph.algorithms.edge_rule import STRIPPED
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import State, as_int64
from dgraph.errors import UsageError
from dgraph.program import INF, MEX, Field, Program, mixed, where
from dgraph.program.traversal import Traversal


class Greedy(Program):
    """Take the smallest free colour once all neighbours of higher priority have theirs: larger degree, then key.

    Attributes:
        random_state: seed of the keys.
        color: colour of the vertex; -1 without one.
        free: smallest colour that no neighbour of higher priority has.
    """

    random_state: int = 1
    directions = ("pull",)
    kernel = "greedy"
    monotone = True

    color = Field("int32")
    free = Field("int64", reduce=MEX)
    key = Field("int64")

    def init(self, v, g):
        """Colour isolated vertices; activate all, so that each looks for neighbours of higher priority."""
        return {"color": where(v.out_degree == 0, 0, -1), "key": mixed(v.id, self.random_state), "active": True}

    def cond(self, v):
        """Skip coloured vertices."""
        return v.color < 0

    def edge(self, u, e, v):
        """Give the colour of a neighbour of higher priority; while it has none, -1, for which ``v`` waits."""
        ahead = (u.out_degree > v.out_degree) | ((u.out_degree == v.out_degree) & (u.key > v.key))
        return {"free": where(ahead, u.color, INF)}

    def apply(self, v, g):
        """Take the smallest free colour."""
        return {"color": v.free, "active": True}


VARIANTS = {
    "greedy": Traversal("variant greedy of color", on_cpu=True),
    "jones-plassmann": Traversal("variant jones-plassmann of color", on_cpu=True),
    "degree": Traversal("variant degree of color", on_cpu=True),
    "hybrid": Traversal("variant hybrid of color", on_cpu=True),
    "steal": Traversal("variant steal of color", "push", "steal"),
}
"""Variant → traversal strategy.

greedy: smallest free colours, by degree. jones-plassmann: random priorities. degree: degrees, ties broken at random.
hybrid: the two phases of paper 003, by degrees first, then by random priorities. steal: jones-plassmann with work
stealing between thread blocks.
"""


@algorithm(
    "color",
    Parameter("variant", str, "greedy", "method; steal runs on GPUs", choices=tuple(VARIANTS)),
    Parameter(
        "scan",
        str,
        ONCE,
        "once: a row counts its neighbours once; each: every uncoloured row is scanned in each round, as in paper 003",
        choices=(ONCE, EACH),
    ),
    Parameter(
        "switch_round",
        int,
        None,
        "hybrid: rounds by degree (default: while they colour 1 vertex in 1024; scan each: any vertex)",
        least=0,
        function=True,
    ),
    Parameter("random_state", int, 1, "seed of the random priorities"),
    columns={"color": ResultColumn("colour, from 0")},
    aliases=("greedy_color",),
)
class Color(Algorithm):
    """Vertex colouring: neighbours have different colours, numbered from 0.

    Column: ``color`` (int64). ``scan`` changes the work of all variants but ``greedy``, and the colours only of
    ``hybrid`` without ``switch_round``. ``switch_round`` may also be a function of ``g`` that returns the condition
    that ends the first phase. It reads ``g.round``, and the number of vertices that the last round coloured:
    ``g.colored`` with ``scan="each"``, else ``g.active``.
    """

    variant: str
    scan: str
    switch_round: int | Callable | None
    random_state: int
    undirected = True
    edge_rule = STRIPPED

    @property
    def needs_rows(self):
        """Rows of ``greedy``, which folds the colours of all neighbours."""
        return "own" if self.variant == "greedy" else None

    @property
    def one_gpu(self):
        """Kernel for one GPU: each vertex waits for its neighbours of higher priority, in chains of thousands."""
        return "greedy" if self.variant == "greedy" else None

    @property
    def traversal(self):
        """Traversal strategy of the variant."""
        return VARIANTS[self.variant]

    def check(self):
        """Refuse ``switch_round`` without hybrid, and ``scan`` with greedy."""
        if self.scan == EACH and self.variant == "greedy":
            others = ", ".join(name for name in VARIANTS if name != "greedy")
            raise UsageError(f"scan = each is for the variants {others}, and this one is greedy; give one of them")
        if self.switch_round is not None and self.variant != "hybrid":
            raise UsageError(f"switch_round is for the variant hybrid, and this one is {self.variant}; leave it out")

    def run(self, ctx: Context) -> Answer:
        """Colour the graph by the variant; collective."""
        if self.variant == "hybrid" and self.switch_round != 0:
            return self._two_phases(ctx)
        kind = {"greedy": Greedy, "degree": BY_DEGREE[self.scan]}.get(self.variant, BY_KEY[self.scan])
        state = ctx.run(kind(random_state=self.random_state).with_traversal(self.traversal))
        self._describe(ctx, (state, 0))
        answer = self._answer(ctx, state)
        few = FEWEST <= answer.summary["colors"] <= MOST and ctx.local.n <= VERTICES
        if self.variant != "greedy" or not few or not state.finished:
            return answer
        colors, finished = two_colored(ctx, state["color"].astype(np.int64))
        summary = {"colors": ctx.largest(int(colors.max(initial=-1))) + 1}
        return Answer({"color": colors}, summary, finished, limited(finished, ctx.rounds))

    def _two_phases(self, ctx: Context) -> Answer:
        partial = ctx.run(degree_phase(ctx.local.n, self.switch_round, self.scan).with_traversal(self.traversal))
        if not partial.finished or partial.globals.get("colored_in_all") == ctx.local.n:
            self._describe(ctx, (partial, 0))
            return self._answer(ctx, partial)
        first = self._largest(ctx, partial) + 1
        rest = KEY_PHASE[self.scan](first=first, random_state=self.random_state)
        state = ctx.run(rest.with_traversal(self.traversal), {"color": partial.raw("color")})
        self._describe(ctx, (partial, 0), (state, first))
        return self._answer(ctx, state)

    def _describe(self, ctx: Context, *phases: tuple[State, int]) -> None:
        """Add the paper's figures by round to the report of a run that scans rows in each round."""
        if self.scan == EACH:
            describe_rounds(ctx, phases)

    def _answer(self, ctx: Context, state: State) -> Answer:
        limit = limited(state.finished, ctx.rounds)
        summary = {"colors": self._largest(ctx, state) + 1}
        return Answer({"color": state.column("color", as_int64)}, summary, state.finished, limit)

    @staticmethod
    def _largest(ctx: Context, state: State) -> int:
        """Return the largest colour over all ranks, -1 if no vertex has one; collective."""
        most, many = state.largest("color")
        return ctx.largest(most if many else -1)
