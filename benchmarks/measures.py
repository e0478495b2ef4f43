"""Measures, trusses, searches, similarities and walks on one CPU rank with two threads, against peers in one run.

Every library has its graph before the clock starts and calls alternate. Answers are compared, but for those that differ
by convention. Rows are written when they are measured; a run of the same commit goes on after the last one. What a peer
lacks it has no cell for: no peer has top similarities of all vertices, overlap, or trusses at this size. bfs to a
target gives all vertices that are no farther; igraph and NetworkX give one path, in the row of that name.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dgraph
from benchmarks import measure_peers, peers, record
from benchmarks.measured_graphs import ENDS, SOURCES, STEPS, Measured, Task, arcs_of
from dgraph.networkx_backend import from_networkx

GRAPHS = ("rmat:16", "rmat:18")
LIBRARIES = ("networkit", "igraph", "networkx")


def measure(graphs: list[str], rows: list[str] | None, scale: int | None, repeat: int, folder: Path) -> None:
    """Write ``measures.json`` and ``.md``; rows that the file has of this commit are left out unless they are named."""
    peers.install(LIBRARIES)
    where = record.circumstances(LIBRARIES)
    kept = [] if rows else record.rows_at(folder, "measures", where["commit"])
    done = {(row["graph"], row["row"]) for row in kept}
    measured: list[dict] = []
    for graph in [f"rmat:{scale}"] if scale else graphs:
        drawn = Measured.load(int(graph.removeprefix("rmat:")))
        sides = {"dgraph": ours(drawn)} | measure_peers.sides(drawn)
        for name in rows or list(sides["dgraph"]):
            if name not in sides["dgraph"]:
                raise dgraph.UsageError(f"--rows {name}: rows are {', '.join(sides['dgraph'])}")
            if (graph, name) in done:
                continue
            calls = {library: tasks[name] for library, tasks in sides.items() if name in tasks}
            answers, seconds = peers.alternating(calls, repeat)
            _compare(name, answers)
            measured.append({"graph": graph, "row": name, "seconds": seconds})
            print(_line(measured[-1]), flush=True)
            about = f"{__doc__}\nMedians, in parentheses the least and the largest; the ratio is of medians."
            record.add(folder, "measures", [{"circumstances": where, "rows": measured}], ("graph", "row"), about, table)


LOOSE = {"eigenvector": 1e-4, "hits": 1e-4, "pagerank, personalised": 1e-5, f"pagerank, {SOURCES} at a time": 1e-5}
"""Row → relative difference of answers whose iterations end by different rules; of scores that are not tiny."""

OWN = ("random walks", "topological order")
"""Rows whose answers differ between libraries."""


def _compare(name: str, answers: Mapping[str, Any]) -> None:
    """Compare the peers' answers with ours; a peer's None has another convention."""
    for library, values in answers.items():
        if values is not None and name not in OWN:
            right = np.asarray(answers["dgraph"], float)
            slack = LOOSE.get(name, 1e-6)
            np.testing.assert_allclose(
                values, right, slack, slack * np.abs(right).max(initial=0), err_msg=f"{name}: {library}"
            )


def ours(drawn: Measured) -> dict[str, Task]:
    """Return row → call of dgraph, with the answer."""
    import networkx as nx

    plain, weighted, directed = drawn.plain, drawn.weighted, drawn.directed
    first, second = (drawn.pairs[:, end].tolist() for end in (0, 1))
    sources, ends = drawn.sources[:ENDS].tolist(), drawn.sources[ENDS:].tolist()
    source, target = drawn.reset[:2]
    shapes = {"plain": drawn.edges, "directed": np.column_stack(arcs_of(directed)), "acyclic": drawn.edges}
    core = max(int(dgraph.run("kcore", plain).columns["core_number"].max()) // 2, 2)

    @cache
    def converted(shape: str) -> Any:
        """Return a graph of the NetworkX backend, for the functions that dgraph has there alone."""
        graph = nx.Graph() if shape == "plain" else nx.DiGraph()
        graph.add_nodes_from(range(drawn.n))
        graph.add_edges_from(shapes[shape].tolist())
        return from_networkx(graph, weight=None)

    def run(name: str, column: str, graph: dgraph.Graph = plain, **parameters: Any) -> np.ndarray:
        return dgraph.run(name, graph, **parameters).columns[column]

    def similar(measure: str, **pairs: Any) -> np.ndarray:
        return dgraph.run("similarity", plain, measure=measure, **pairs).edges.values

    def at_a_time() -> np.ndarray:
        columns = dgraph.run("multi_source_pagerank", plain, sources=drawn.reset, tol=1e-10).columns
        return np.stack([columns[f"pagerank_{vertex}"] for vertex in drawn.reset])

    between = {"sources": sources, "targets": ends, "normalized": False}
    ends_of_pairs = {"first": first, "second": second}
    return {
        "degrees": lambda: run("degrees", "degree"),
        "weighted degrees": lambda: run("degrees", "weighted_degree", weighted),
        "eigenvector": lambda: run("eigenvector", "eigenvector", tol=1e-6),
        "katz": lambda: run("katz", "katz", alpha=drawn.katz_alpha, tol=1e-8),
        "hits": lambda: run("hits", "authorities", directed),
        "pagerank, personalised": lambda: run("pagerank", "pagerank", personalization=[source], tol=1e-10),
        f"pagerank, {SOURCES} at a time": at_a_time,
        "clustering": lambda: run("lcc", "lcc"),
        "clustering, directed": lambda: run("clustering", "clustering", directed),
        "clustering, weighted": lambda: run("clustering", "clustering", weighted, weighted=True),
        "transitivity": lambda: nx.transitivity(converted("plain"), backend="dgraph"),
        "neighbour degree": lambda: run("neighbor_degree", "neighbor_degree"),
        "reciprocity": lambda: nx.overall_reciprocity(converted("directed"), backend="dgraph"),
        "triangles": lambda: run("triangles", "triangles"),
        "k-truss": lambda: len(dgraph.run("ktruss", plain, k=core).edges.values),
        "core numbers": lambda: run("kcore", "core_number"),
        "k-core": lambda: plain.k_core(core).m,
        "ego graph": lambda: plain.ego(drawn.center, radius=1).m,
        "bridges": lambda: sum(1 for _ in nx.bridges(converted("plain"), backend="dgraph")),
        "articulation points": lambda: sum(1 for _ in nx.articulation_points(converted("plain"), backend="dgraph")),
        "topological order": lambda: list(nx.topological_sort(converted("acyclic"), backend="dgraph")),
        "nearest of 16 sources": lambda: _hops(run("multi_source_bfs", "distance", sources=drawn.reset, min_only=True)),
        "Jaccard of pairs": lambda: similar("jaccard", **ends_of_pairs),
        "overlap of pairs": lambda: similar("overlap", **ends_of_pairs),
        "Adamic-Adar of pairs": lambda: similar("adamic_adar", **ends_of_pairs),
        "Jaccard, top 10": lambda: similar("jaccard", k=10),
        "random walks": lambda: dgraph.run("random_walks", plain, length=STEPS).walks.here,
        "betweenness of subsets": lambda: run("bc", "bc", **between),
        "bfs": lambda: _hops(run("bfs", "distance", source=source, return_predecessors=False)),
        "bfs to a target": lambda: run("bfs", "distance", source=source, target=target)[target],
        "distance of a pair": lambda: plain.shortest_path_length(source, target),
        "path of a pair": lambda: len(plain.shortest_path(source, target)) - 1,
    }


def _hops(distance: np.ndarray) -> np.ndarray:
    return np.where(distance == np.iinfo(np.int64).max, -1, distance)


def table(rows: list[dict]) -> str:
    """Return the rows as Markdown."""
    head = [
        "| graph | row | dgraph ms | NetworKit ms | igraph ms | NetworkX ms | dgraph ÷ quickest peer |",
        "|-" * 7 + "|",
    ]
    return "\n".join([*head, *map(_line, rows)]) + "\n"


def _line(row: dict) -> str:
    medians = {library: statistics.median(seconds) for library, seconds in row["seconds"].items()}
    quickest = min((seconds for library, seconds in medians.items() if library != "dgraph"), default=None)
    ratio = "" if quickest is None else f"{medians['dgraph'] / quickest:.2f}"
    cells = " | ".join(_cells(row["seconds"]))
    return f"| {row['graph']} | {row['row']} | {cells} | {ratio} |"


def _cells(seconds: Mapping[str, list[float]]) -> Iterator[str]:
    for library in ("dgraph", *LIBRARIES):
        values = seconds.get(library)
        if not values:
            yield ""
        elif len(values) == 1:
            yield f"{1e3 * values[0]:,.1f}"
        else:
            median, least, most = (1e3 * statistic(values) for statistic in (statistics.median, min, max))
            yield f"{median:,.1f} ({least:,.1f}–{most:,.1f})"
