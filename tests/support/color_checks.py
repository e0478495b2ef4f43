"""Colours of ``color --variant greedy`` against NetworkX's largest-first order, on the test graphs and real ones.

    python tests/support/color_checks.py [--data FOLDER]

A graph fails above 1.1 times NetworkX's number plus 1.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
from battery import CASES
from data_checks import SUFFIXES

import dgraph
from dgraph.comm import SerialComm

GENERATED = ("rmat:10", "rmat:12", "rmat:14", "uniform:12", "grid:64x64", "grid:300x300", "road:64x64", "roadnet:64x64")


def graphs(data: Path | None) -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    """Yield name, vertices, and ends of all arcs of undirected graphs."""
    for name, case in CASES.items():
        n, src, dst, _ = case.arcs(directed=False)
        yield name, n, np.asarray(src), np.asarray(dst)
    files = sorted(file for file in data.iterdir() if file.suffix in SUFFIXES) if data else []
    for name in [*map(str, files), *GENERATED]:
        graph = dgraph.Graph.load(name, comm=SerialComm())
        block = (graph.undirected() if graph.directed else graph).block
        yield name, graph.n, block.sources().astype(np.int64), block.targets.astype(np.int64)


def counts(n: int, src: np.ndarray, dst: np.ndarray) -> tuple[int, int]:
    """Return dgraph's number of colours, and NetworkX's."""
    nx_graph = nx.empty_graph(n)
    nx_graph.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist(), strict=True) if u != v)
    graph = dgraph.Graph.from_edges(src, dst, n=n, directed=False, comm=SerialComm())
    ours = dgraph.run("color", graph, variant="greedy", validate=True).summary["colors"]
    return ours, max(nx.greedy_color(nx_graph, "largest_first").values(), default=-1) + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of graph files")
    failed = 0
    for name, *graph in graphs(parser.parse_args().data):
        ours, theirs = counts(*graph)
        good = ours <= 1.1 * theirs + 1
        failed += not good
        print(f"{'' if good else 'too many: '}{name}: {ours} colours, NetworkX {theirs}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
