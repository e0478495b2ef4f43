"""Benchmark graphs as arrays: CSR with both arcs of every edge; and their size, which ``--scale`` changes."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

import dgraph

GRAPHS = {
    "rmat20": ("rmat:20,symmetric,seed=42", "1..255"),
    "grid": ("road:2048x2048,seed=7", None),
    "uniform": ("uniform:20,symmetric,seed=3", "1..255"),
}
"""Name → generator and weights (None: the generator's). R-MAT: hubs; grid: 3,000 levels; uniform: neither."""

SCALE = "DGRAPH_BENCHMARK_SCALE"
"""Environment variable: ``--scale`` of the benchmark, for its child processes."""


def sized(spec: str, scale: int) -> str:
    """Return a generator with about 2^scale vertices, of the same shape."""
    generator, _, size = spec.partition(":")
    number, *options = size.split(",")
    side = f"{1 << scale // 2}x{1 << scale - scale // 2}"
    whole = str(1 << scale if generator == "smallworld" else scale)
    return ",".join([f"{generator}:{side if 'x' in number else whole}", *options])


if SCALE in os.environ:
    GRAPHS = {name: (sized(spec, int(os.environ[SCALE])), weights) for name, (spec, weights) in GRAPHS.items()}


@dataclass(frozen=True)
class Arrays:
    """One graph: int64 offsets, uint32 targets, int32 weights, and sources in its largest component.

    Attributes:
        unweighted: the graph without weights, for pagerank, whose peers ignore weights.
    """

    name: str
    graph: dgraph.Graph
    unweighted: dgraph.Graph
    sources: list[int]

    @property
    def n(self) -> int:
        return self.graph.n

    @property
    def offsets(self) -> np.ndarray:
        return self.graph.block.offsets

    @property
    def targets(self) -> np.ndarray:
        return self.graph.block.targets

    @property
    def weights(self) -> np.ndarray:
        return self.graph.block.weights


def load(name: str, sources: int = 4) -> Arrays:
    """Generate one of ``GRAPHS`` in this process alone."""
    spec, weights = GRAPHS[name]
    graph = dgraph.Graph.load(spec, weights=weights)
    labels = dgraph.run("cc", graph).columns["labels"]
    largest = np.flatnonzero(labels == np.bincount(labels).argmax())
    unweighted = dgraph.Graph.load(spec, weights="unit")
    return Arrays(name, graph, unweighted, np.random.default_rng(27).choice(largest, sources, replace=False).tolist())
