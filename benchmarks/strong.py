"""Strongly connected components: calls on a CPU against NetworKit, igraph and SciPy; on a GPU rounds and calls."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import numpy as np

import dgraph
from benchmarks import peers, record

GRAPHS = {
    **{f"rmat{scale}": f"rmat:{scale}" for scale in (16, 17, 18, 20, 25)},
    "road1M": "road:1024x1024", "road24M": "road:4900x4900",
}  # fmt: skip
"""Name → generator; of roads every fifth arc, drawn at random, is dropped."""

SMALL = ("rmat16", "rmat17", "rmat18", "rmat20", "road1M")
"""Graphs of the comparison on a CPU."""


def measure(graphs: list[str] | None, repeat: int, folder: Path) -> None:
    """Write ``strong-cpu.json`` and ``.md``; with a GPU, ``strong-gpu``."""
    rows, gpu = [], None
    for name in graphs or SMALL:
        graph = loaded(name)
        result = dgraph.run("scc", graph, validate=True)
        gpu = result.report["ranks"][0].get("gpu")
        tasks = {"dgraph": lambda graph=graph: dgraph.run("scc", graph)}
        if not gpu:
            peers.install()
            tasks |= _peers(graph)
        counts = {library: _components(task()) for library, task in tasks.items()}
        if set(counts.values()) != {result.summary["components"]}:
            raise SystemExit(f"{name}: the libraries count {counts} components; nothing was measured")
        rows.append({"graph": name, "summary": dict(result.summary)} | _timed(tasks, repeat))
        print(_line(rows[-1]), flush=True)
    where = record.circumstances(peers.LIBRARIES) | ({"gpu": gpu["name"]} if gpu else {})
    record.write(folder, f"strong-{'gpu' if gpu else 'cpu'}", {"circumstances": where, "rows": rows}, _table(rows))


def loaded(name: str) -> dgraph.Graph:
    """Make one of ``GRAPHS``, R-MAT on the GPU if there is one."""
    if not name.startswith("road"):
        try:
            return dgraph.build_on_gpus(GRAPHS[name])
        except dgraph.UsageError:
            return dgraph.Graph.load(GRAPHS[name])
    graph = dgraph.Graph.load(GRAPHS[name], weights="unit")
    block = graph.block
    kept = np.random.default_rng(5).random(block.targets.size) >= 0.2
    src, dst = (ends[kept].astype(np.int64) for ends in (block.sources(), block.targets))
    return dgraph.Graph.from_edges(src, dst, n=graph.n, directed=True)


def _peers(graph: dgraph.Graph) -> dict:
    import igraph
    import networkit
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    networkit.setNumberOfThreads(2)
    block, n = graph.block, graph.n
    ends = block.sources().astype(np.int64), block.targets.astype(np.int64)
    ones = np.ones(block.targets.size)
    matrix = csr_matrix((ones, block.targets.astype(np.int32), block.offsets.astype(np.int32)), shape=(n, n))
    theirs = networkit.GraphFromCoo((ones, ends), n=n, directed=True)
    peer = igraph.Graph(n=n, edges=np.column_stack(ends), directed=True)

    def components():  # without its cached answer
        getattr(peer, "__invalidate_cache")()
        return len(peer.connected_components(mode="strong"))

    return {
        "networkit": lambda: networkit.components.StronglyConnectedComponents(theirs).run().numberOfComponents(),
        "igraph": components,
        "scipy": lambda: connected_components(matrix, connection="strong")[0],
    }


def _components(answer) -> int:
    return answer.summary["components"] if isinstance(answer, dgraph.Result) else int(answer)


def _timed(tasks: dict, repeat: int) -> dict:
    """Run every library once per round, each in turn first; return seconds of calls, and of dgraph's rounds."""
    names, seconds, rounds = list(tasks), {name: [] for name in tasks}, []
    for turn in range(repeat):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            began = time.perf_counter()
            answer = tasks[name]()
            seconds[name].append(time.perf_counter() - began)
            if name == "dgraph":
                rounds.append(answer.report["ranks"][0]["seconds"]["compute"])
    return {"seconds": seconds, "compute": rounds}


def _table(rows: list[dict]) -> str:
    names = ["dgraph", *peers.PEERS]
    head = f"| graph | components | rounds ms | {' | '.join(f'{name} ms' for name in names)} | against the fastest |"
    return "\n".join([head, "|-|-|-|" + "-|" * (len(names) + 1), *map(_line, rows)]) + "\n"


def _line(row: dict) -> str:
    median = {name: 1e3 * statistics.median(values) for name, values in row["seconds"].items()}
    others = {name: value for name, value in median.items() if name != "dgraph"}
    cells = [f"{median[name]:,.1f}" if name in median else "–" for name in ("dgraph", *peers.PEERS)]
    fastest = min(others, key=others.__getitem__) if others else None
    ratio = f"**{others[fastest] / median['dgraph']:.1f}×** {fastest}" if fastest else "–"
    rounds = 1e3 * statistics.median(row["compute"])
    return f"| {row['graph']} | {row['summary']['components']:,} | {rounds:,.1f} | {' | '.join(cells)} | {ratio} |"
