"""Rules of the certificate of bfs and sssp: names and messages."""

from __future__ import annotations

from dgraph.validate.rule import Rule


def tree_rules(cutoff: float | None) -> dict[str, Rule]:
    """Make all rules, untested, by short name."""
    return {
        "source": Rule("the source is at 0", "the source {v} has distance {d}"),
        "negative": Rule("distances are not negative", "vertex {v} has distance {d}"),
        "beyond": Rule("the cutoff holds", f"vertex {{v}} has distance {{d}}, above {cutoff}"),
        "root": Rule("the source has no predecessor", "the source {v} has predecessor {p}"),
        "out": Rule("the unreached have no predecessor", "vertex {v} is unreached, but has predecessor {p}"),
        "none": Rule(
            "the reached have a predecessor", "vertex {v} has distance {d}, but predecessor {p} is not a vertex"
        ),
        "lost": Rule("predecessors are reached", "vertex {v} has distance {d}, but its predecessor {p} is unreached"),
        "short": Rule(
            "no arc is a short cut",
            "arc {u} → {v} of weight {w}: {u} has distance {du}, so {v} is at most {most} away, but has {dv}",
        ),
        "arc": Rule("tree arcs are arcs", "vertex {v} has predecessor {p}, but there is no arc {p} → {v}"),
        "tight": Rule(
            "tree arcs are tight",
            "vertex {v} has distance {dv} and predecessor {p}, which has {dp}, but no arc {p} → {v} weighs the rest",
        ),
        "circle": Rule("no circle", "predecessors of vertex {v}, at distance {d}, run in a circle; first comes {p}"),
        "alone": Rule("distances are reached", "vertex {v} has distance {d}, but no path from the source is that long"),
    }  # fmt: skip
