"""Plan of a graph to build: a generator's recipe combined with the options of a load."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dgraph.errors import UsageError, option
from dgraph.graph.block import LoadFacts
from dgraph.graph.build.weights import WeightRule, read_rule
from dgraph.graph.generate import is_generator, recipe_of
from dgraph.graph.generators.recipe import Formula
from dgraph.graph.load_options import LoadOptions

KNOWN = ("directed", "weights", "keep_loops", "keep_parallel", "seed", "verify")
"""Options of a load that apply to a generated graph and do not need its edges on the host."""

MOST = 1 << 32
"""Most vertices of a rank."""


@dataclass(frozen=True)
class BuildPlan:
    """A graph that is not built yet.

    Attributes:
        n: vertices.
        items: items that the generator numbers: edges, before any is dropped.
        formula: computes an edge from its number.
        directed: True if the graph is; ``both``: every drawn edge is stored as two arcs.
        keep_loops, keep_parallel: keep self-loops and parallel arcs.
        rule: rule of the weights; None: no weights, the generator's own (``own_weights``), or ``listed`` ones.
        facts: name and notes; counts are set after building.
        listed: dtype of the weights that are listed with the edges, see ``listed_edges.py``; None: none are.
    """

    n: int
    items: int
    formula: Formula
    directed: bool
    both: bool
    keep_loops: bool
    keep_parallel: bool
    rule: WeightRule | None
    own_weights: bool
    facts: LoadFacts
    listed: np.dtype | None = None

    @property
    def weight_type(self) -> np.dtype | None:
        """Dtype of the weights, or None."""
        if self.own_weights:
            return np.dtype(np.int32)
        return self.listed if self.rule is None else self.rule.dtype

    @property
    def mirrored(self) -> bool:
        """True if both arcs of every edge of an undirected graph are listed."""
        return not (self.directed or self.both)

    @property
    def arcs(self) -> int:
        """Upper bound on the number of arcs."""
        return self.items * (1 + self.both)


def draft(spec: str, options: LoadOptions) -> BuildPlan:
    """Make the plan of ``NAME:SIZE…``.

    Raises:
        UsageError: not a generator, or an option that needs the edges on the host.
    """
    if not is_generator(spec):
        raise UsageError(
            f"{spec}: GPUs build generated graphs, NAME:SIZE; a file is read by the host: {option('build', 'host')}"
        )
    for field in fields(LoadOptions):
        if field.name not in KNOWN and getattr(options, field.name) != field.default:
            asked, host = option(field.name), option("build", "host")
            raise UsageError(f"{asked} needs the edges on the host, and they are drawn on GPUs: give {host}")
    recipe, name = recipe_of(spec)
    directed = recipe.directed if options.directed is None else options.directed
    facts = LoadFacts(name=name, notes=[f"generated {recipe.note}"], loops_kept=options.keep_loops)
    if directed != recipe.directed:
        facts.notes.insert(0, f"{'directed' if directed else 'undirected'}: asked for")
    facts.duplicates_kept = options.keep_parallel or recipe.parallel
    ruled = options.weights is not None
    rule = read_rule(options.weights, options.seed) if ruled and options.weights != "unit" else None  # type: ignore[arg-type]
    return BuildPlan(
        recipe.n, recipe.items, recipe.formula,
        directed=directed,
        both=not (recipe.directed and directed),
        keep_loops=options.keep_loops,
        keep_parallel=facts.duplicates_kept,
        rule=rule,
        own_weights=recipe.formula.weighted and not ruled,
        facts=facts,
    )  # fmt: skip
