"""``--scale`` of benchmarks whose graphs have names: the graphs of a benchmark, and their size."""

from __future__ import annotations

import os

from benchmarks import (
    across,
    anchors,
    centrality,
    changes,
    estimates,
    labels,
    strong,
    structure,
    tuning,
    weighted_centrality,
)
from benchmarks.graphs import GRAPHS, SCALE, sized

SIZED: dict[str, tuple[dict, ...]] = {
    **dict.fromkeys(("cpu", "calls", "ranks", "contention"), (GRAPHS,)),
    **dict.fromkeys(("gpu", "schedules", "default", "turns"), (anchors.RECIPES,)),
    "tuning": (tuning.GRAPHS,),
    "centrality": (centrality.GRAPHS, centrality.LARGE, weighted_centrality.GRAPHS),
    "strong": (strong.GRAPHS,),
    "labels": (labels.GRAPHS,),
    "estimates": (estimates.GRAPHS,),
    "changes": (changes.GRAPHS,),
    "across": (across.GRAPHS, anchors.RECIPES),
    "structure": (structure.GRAPHS,),
}
"""Benchmark → graphs that ``--scale`` resizes; others have a ``scale`` of their own, or sizes under another name."""


def resize(what: str, scale: int) -> None:
    """Give all graphs of a benchmark 2^scale vertices; their names stay."""
    os.environ[SCALE] = str(scale)
    for graphs in SIZED[what]:
        for name, recipe in graphs.items():
            match recipe:
                case str():
                    graphs[name] = recipe and sized(recipe, scale)
                case (str(), weights):
                    graphs[name] = sized(recipe[0], scale), weights
                case anchors.Recipe():
                    graphs[name] = anchors.sized(recipe, scale)
                case _:
                    raise TypeError(f"{name}: {recipe!r}")
