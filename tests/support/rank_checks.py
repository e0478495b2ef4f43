"""Answers of several ranks with a GPU each, against oracles: the requested policies, options and transports.

    mpirun -n 4 python tests/support/rank_checks.py --policies oec,iec,cvc,hvc,metis
    mpirun -n 2 compute-sanitizer --tool racecheck python tests/support/rank_checks.py --ways plain,local
    mpirun -n 4 python tests/support/rank_checks.py --backend cpu        # without a GPU
    mpirun -n 2 python tests/support/rank_checks.py --allow-gpu-sharing  # with one GPU
    mpirun -n 3 python tests/support/rank_checks.py --backend cpu --data FOLDER --done FILE  # data_checks.py

The graphs are small enough for sanitizers; they have a hub, isolated vertices and several components.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import data_checks
import numpy as np
import oracles
from colored import by_hand
from flat_run import flat_run

import dgraph
from dgraph.backend import backend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import Comm, world
from partitioning import POLICIES

WAYS: dict[str, dict] = {
    "plain": {},
    "host": {"host_rounds": True},
    "broad": {"across_limit": 0},
    "local": {"local_rounds": True},
    "each": {"local_rounds": False},
    "reach": {"reach": 4},
    "noreach": {"reach": 0},
}
"""Name → options of the GPU backend: which kernels run a round, and which side ends it."""

SOURCE = 5
ALGORITHMS = ("bfs", "sssp", "sssp gather", "pagerank", "pagerank unit", "cc", "kcore", "kcore shells", "color")
"""Names, some with a variant; ``unit``: on the graph without weights."""
SETTINGS: dict[str, dict] = {
    "bfs": {"source": SOURCE},
    "sssp": {"source": SOURCE},
    "pagerank": {"tol": 0.0, "max_iter": 10},
    "color": {"variant": "hybrid"},
}
FEWEST, MOST = 60, 2500
"""Vertices of the smaller and the larger graph. Some ranks of the smaller one have few mirrors."""


def edges(n: int, directed: bool) -> tuple:
    """Return sources, targets, weights: random edges among the lower nine tenths, denser at small ids, and a hub."""
    rng = np.random.default_rng(n)
    live = n - n // 10
    src, dst = (rng.integers(0, live, 6 * n) ** 2 // live for _ in range(2))
    hub = np.arange(SOURCE + 1, live, 2)
    src, dst = np.concatenate([src, np.full(hub.size, SOURCE)]), np.concatenate([dst, hub])
    src, dst, weights = oracles.simple(src, dst, rng.integers(1, 60, src.size).astype(np.int32))
    if directed:
        return src, dst, weights
    once = src < dst
    return oracles.symmetric(src[once], dst[once], weights[once])


def right(name: str, n: int, src, dst, weights) -> list[np.ndarray]:
    """Return the right columns by vertex; -1: unreachable."""
    if name in ("bfs", "sssp", "sssp gather"):
        weights = np.ones_like(weights) if name == "bfs" else weights
        distances = oracles.sssp(n, src, dst, weights, SOURCE)
        tree = oracles.predecessors(n, src, dst, weights, distances, SOURCE)
        return [np.array([-1 if d is None else d for d in distances]), tree]
    if name in ("pagerank", "pagerank unit"):
        weights = None if name.endswith("unit") else weights
        return [oracles.pagerank(n, src, dst, weights=weights, rounds=SETTINGS["pagerank"]["max_iter"])]
    if name == "color":
        return [by_hand(n, src, dst, "hybrid", np.arange(n))]
    return [oracles.components(n, src, dst) if name == "cc" else oracles.core_numbers(n, src, dst)]


def is_right(result, wanted: list[np.ndarray]) -> bool:
    """Return True if every column of this rank's vertices is right."""
    vertex, *columns = map(np.asarray, result.columns.values())
    return len(columns) == len(wanted) and all(
        np.allclose(values, sought[vertex], rtol=1e-11)
        if values.dtype.kind == "f"
        else np.array_equal(np.where(values == np.iinfo(values.dtype).max, -1, values), sought[vertex])
        for values, sought in zip(columns, wanted, strict=True)
    )


def runs(asked, engine, comm: Comm) -> Iterator[tuple[str, bool]]:
    """Yield for each run its description, and True if the answers of all ranks are right."""
    for n, directed in itertools.product((FEWEST, MOST), (False, True)):
        src, dst, weights = edges(n, directed)
        mine = slice(comm.rank, None, comm.size)
        once = slice(None) if directed else src < dst
        columns = (src[once][mine], dst[once][mine], weights[once][mine])
        weighted = dgraph.Graph.from_edges(*columns, n=n, directed=directed, comm=comm)
        unit = dgraph.Graph.from_edges(*columns[:2], n=n, directed=directed, comm=comm)
        for name in asked.algorithms:
            algorithm, _, variant = name.partition(" ")
            graph, variant = (unit, "") if variant == "unit" else (weighted, variant)
            if directed and algorithm in ("cc", "kcore", "color"):
                continue
            wanted = right(name, n, src, dst, weights)
            for policy, traversal, transport in itertools.product(asked.policies, asked.ways, asked.transports):
                how = SETTINGS.get(algorithm, {}) | {"policy": policy, "backend": "cpu"}
                how |= {"variant": variant} if variant else {}
                if engine is not None:
                    how |= {"backend": engine.choosing(GpuPlan(**WAYS[traversal])), "transport": transport}
                    how |= {"allow_gpu_sharing": asked.allow_gpu_sharing}
                result = flat_run(algorithm, graph, **how)
                kind = "directed" if directed else "undirected"
                told = f"{name}, {n} vertices, {kind}, {policy}, {traversal}, {transport}"
                yield told, comm.total(not is_right(result, wanted)) == 0


def main() -> int:
    def words(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--policies", type=words)
    parser.add_argument("--ways", type=words, default=list(WAYS))
    parser.add_argument("--transports", type=words, default=["auto"])
    parser.add_argument("--algorithms", type=words)
    parser.add_argument("--data", type=Path, help="folder of graphs to run the algorithms of data_checks.py on")
    parser.add_argument(
        "--done", type=Path, default=Path("done.txt"), help="of --data: file of the runs that were right"
    )
    parser.add_argument("--times", type=int, default=1, help="of --data: runs that follow each other")
    parser.add_argument("--allow-gpu-sharing", action="store_true")
    asked, comm = parser.parse_args(), world()
    asked.policies = asked.policies or (sorted(POLICIES) if asked.data else ["oec", "cvc"])
    asked.algorithms = asked.algorithms or list(data_checks.ALGORITHMS if asked.data else ALGORITHMS)
    on_gpus = asked.backend == "cuda" and not asked.data
    engine = backend("cuda", comm.size, comm.rank, comm.size == 1) if on_gpus else None
    count = wrong = 0
    for told, good in data_checks.runs(asked, comm) if asked.data else runs(asked, engine, comm):
        count, wrong = count + 1, wrong + (not good)
        if comm.rank == 0 and not good:
            print(f"wrong: {told}", flush=True)
    if comm.rank == 0:
        print(f"{count} runs on {comm.size} ranks: {wrong} wrong", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
