"""Memory plan for a finished run, from its report, to compare with what the run used."""

from __future__ import annotations

from dataclasses import replace

from dgraph.algorithms import ALGORITHMS
from dgraph.errors import UsageError
from dgraph.graph.generate import is_generator
from dgraph.tools.estimate.plan import RunPlan, estimate
from dgraph.tools.estimate.shape import Shape, shape_of

WEIGHT = 4
"""Assumed bytes per weight: a report only records that there are weights."""


def against(report: dict) -> RunPlan:
    """Make the plan for the algorithm, graph, ranks and policy of a report.

    Raises:
        UsageError: the algorithm is not in the register.
    """
    name, graph = report["algorithm"].get("name"), report["graph"]
    if name not in ALGORITHMS:
        raise UsageError(f"there is no memory plan for {name}: it is not in the register (python -m dgraph list)")
    weight = WEIGHT if graph.get("weighted") and ALGORITHMS[name].weighted else 0
    shape = replace(_loaded(graph, weight), weight=weight)
    policy = next((choice["taken"] for choice in report["choices"] if choice["what"] == "policy"), "auto")
    requested = report["algorithm"].get("parameters", {})
    parameters = {"source": 0} if ALGORITHMS[name].needs_source else {}
    shaping = ("k", "variant", "return_predecessors")
    kept = {key: requested[key] for key in shaping if requested.get(key) is not None}
    return estimate(
        name, shape, len(report["ranks"]), policy, parameters=parameters | kept, undirected=ALGORITHMS[name].undirected
    )


def _loaded(graph: dict, weight: int) -> Shape:
    """Return the shape of the input: from a generator's spec, or for a file the graph as it was solved."""
    if is_generator(graph["name"]):
        asked = {note.partition(":")[0] for note in graph["notes"]}
        return shape_of(graph["name"], directed="directed" in asked if asked & {"directed", "undirected"} else None)
    return Shape(graph["n"], graph["m"], graph["directed"], listed_weight=weight)
