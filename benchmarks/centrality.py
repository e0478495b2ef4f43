"""Searches from many sources on one rank: closeness, betweenness and 64 breadth-first searches, against peers.

Every library has its graph before the clock starts, and answers are compared. Calls alternate; NetworkX and igraph take
part where a call takes less than a minute.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import dgraph
from benchmarks import peers, record, weighted_centrality

GRAPHS = {f"rmat{scale}": f"rmat:{scale},symmetric" for scale in (12, 14, 16)} | {"grid": "grid:128x128"}
EXACT = ("rmat12", "grid")
"""Graphs on which betweenness starts from all vertices; on the others from ``DRAWN``."""

LARGE = {"rmat22": "rmat:22,symmetric", "rmat24": "rmat:24,symmetric"}
"""Graphs for a GPU, without peers; only where ``--graphs`` names them."""

DRAWN, SEARCHES = 256, 64
BATCHES = (1, 4)
"""Sources of betweenness on large graphs."""

CLOSENESS = 1024
"""Sources of closeness there."""

Task = Callable[[], np.ndarray | None]


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Write ``centrality.json`` and ``.md``, and ``weighted_centrality`` for graphs with weights."""
    if set(graphs) - set(LARGE):
        peers.install(("networkit", "igraph"))
    for file, graphs_of_file in (("centrality", GRAPHS | LARGE), ("weighted_centrality", weighted_centrality.GRAPHS)):
        rows = _measure_graphs([name for name in graphs if name in graphs_of_file], repeat)
        if rows:
            where = record.circumstances(("networkit", "igraph", "networkx"))
            record.write(folder, file, {"circumstances": where, "rows": rows}, _table(rows))


def _measure_graphs(graphs: list[str], repeat: int) -> list[dict]:
    """Measure the tasks of each graph."""
    rows = []
    for name in graphs:
        weighted = weighted_centrality.GRAPHS.get(name)
        if weighted:
            graph = dgraph.Graph.load(weighted, weights=weighted_centrality.WEIGHTS)
        else:
            graph = dgraph.Graph.load((GRAPHS | LARGE)[name])
        graph = graph.undirected() if graph.directed else graph
        for task, library, seconds in _alone(graph, repeat) if name in LARGE else _timed(name, graph, repeat):
            rows.append({"graph": name, "task": task, "library": library, "seconds": seconds})
            print(_line(rows[-1]), flush=True)
    return rows


def _timed(name: str, graph: dgraph.Graph, repeat: int) -> Iterator[tuple[str, str, list[float]]]:
    """Yield task, library and seconds of each call; calls of one task alternate."""
    weighted = name in weighted_centrality.GRAPHS
    for task, sides in (weighted_centrality.tasks if weighted else _tasks)(name, graph).items():
        answers, seconds = peers.alternating(sides, repeat)
        right = answers["dgraph"]
        for library, values in answers.items():
            if values is not None:
                np.testing.assert_allclose(values, right, 1e-9, 1e-12, err_msg=f"{task} of {name}: {library}")
        yield from ((task, library, seconds[library]) for library in sides)


def _alone(graph: dgraph.Graph, repeat: int) -> Iterator[tuple[str, str, list[float]]]:
    """Yield the seconds of dgraph's calls on a large graph; the first call, which compiles, is validated."""
    calls: dict[str, tuple[str, dict]] = {
        **{f"betweenness, {k} sources": ("bc", {"k": k}) for k in BATCHES},
        f"{SEARCHES} bfs": ("multi_source_bfs", {"k": SEARCHES}),
        f"closeness, {CLOSENESS} sources": ("closeness", {"k": CLOSENESS}),
    }
    for task, (name, settings) in calls.items():
        gpu = dgraph.run(name, graph, validate=True, **settings).report["ranks"][0].get("gpu")
        seconds = []
        for _ in range(repeat):
            began = time.perf_counter()
            dgraph.run(name, graph, **settings)
            seconds.append(time.perf_counter() - began)
        yield task, f"dgraph on {gpu['name'] if gpu else 'CPUs'}", seconds


def _tasks(name: str, graph: dgraph.Graph) -> dict[str, dict[str, Task]]:
    """Return task → library → call; a call returns the scores by vertex, or None where libraries draw differently."""
    import igraph
    import networkit as nk
    import networkx as nx

    nk.setNumberOfThreads(2)
    block = graph.block
    rows, targets = np.repeat(np.arange(block.rows), np.diff(block.offsets)), np.asarray(block.targets).astype(np.int64)
    once = rows < targets
    kit = nk.GraphFromCoo((rows[once], targets[once]), n=graph.n)
    ig = igraph.Graph(n=graph.n, edges=np.stack([rows[once], targets[once]], axis=1))
    small, exact = name in ("rmat12", "grid"), name in EXACT

    def kit_run(algorithm, column=True):
        algorithm.run()
        return np.array(algorithm.scores()) if column else None

    def searches():
        result = dgraph.run("multi_source_bfs", graph, sources=list(range(SEARCHES)))
        return result.columns[f"distance_{SEARCHES - 1}"]

    def one_by_one():
        for source in range(SEARCHES):
            column = dgraph.run("bfs", graph, source=source, return_predecessors=False).columns["distance"]
        return column

    general = nk.centrality.ClosenessVariant.GENERALIZED
    closeness: dict[str, Task] = {
        "dgraph": lambda: dgraph.run("closeness", graph).columns["closeness"],
        "networkit": lambda: kit_run(nk.centrality.Closeness(kit, True, general)),
    }
    between: dict[str, Task] = {
        "dgraph": lambda: dgraph.run("bc", graph, **({} if exact else {"k": DRAWN})).columns["bc"],
        "networkit": lambda: (
            kit_run(nk.centrality.Betweenness(kit, True))
            if exact
            else kit_run(nk.centrality.EstimateBetweenness(kit, DRAWN, True, True), False)
        ),
    }

    def ig_closeness():
        ig.closeness()  # by another convention for graphs in parts

    if small:
        pairs = (graph.n - 1) * (graph.n - 2) / 2
        between["igraph"] = lambda: np.array(ig.betweenness()) / pairs
        closeness["igraph"] = ig_closeness
    if name == "rmat12":
        other = nx.Graph(zip(rows[once].tolist(), targets[once].tolist(), strict=True))
        other.add_nodes_from(range(graph.n))

        def networkx_closeness():
            scores = nx.closeness_centrality(other)
            return np.array([scores[v] for v in range(graph.n)])

        closeness["networkx"] = networkx_closeness
    tasks: dict[str, dict[str, Task]] = {
        "closeness, all sources": closeness,
        f"betweenness, {'all' if exact else DRAWN} sources": between,
        f"{SEARCHES} bfs": {"dgraph": searches, "dgraph bfs, one by one": one_by_one},
    }
    if name == "rmat16":
        del tasks["closeness, all sources"]["networkit"]
    return tasks


def _table(rows: list[dict]) -> str:
    return "\n".join(["| graph | task | library | s (least–most) |", "|-|-|-|-|", *map(_line, rows)]) + "\n"


def _line(row: dict) -> str:
    median, least, most = (statistic(row["seconds"]) for statistic in (statistics.median, min, max))
    return f"| {row['graph']} | {row['task']} | {row['library']} | {median:.3f} ({least:.3f}–{most:.3f}) |"
