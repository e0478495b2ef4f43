"""Answers of every schedule on a GPU, for checks that pytest is too slow for: compute-sanitizer, and thousands of runs.

    python tests/support/device_checks.py answers            # every schedule × five algorithms, against oracles
    compute-sanitizer --tool memcheck python tests/support/device_checks.py answers
    python tests/support/device_checks.py grids --runs 100   # equal integers on five grids, in every run

``--algorithms levels,…`` and ``--schedules twc,…`` select some of them; ``--algorithms variants`` selects those of bfs.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import oracles
from devices import device_of, local_graph

from dgraph.algorithms.bfs_programs import Levels
from dgraph.algorithms.bfs_variants import VARIANTS, traversal
from dgraph.algorithms.cc import Labels
from dgraph.algorithms.delta_stepping import Distances
from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.program import trace

SOURCE = 5
WAYS = {f"levels {name}": traversal(name, None) for name in VARIANTS}
PROGRAMS = {
    "levels": (Levels(source=SOURCE), "level"),
    "distances": (Distances(source=SOURCE, delta=9.0).retype(dist="int32"), "dist"),
    "labels": (Labels(), "label"),
    "pagerank": (PageRank(tol=0.0, max_iter=5), "rank"),
    "peel": (Peel(), "core"),
}
OPTIONS = [{"schedule": name} for name in (*SCHEDULES, "persistent", "auto")] + [
    {"schedule": "alb", "alb_threshold": 20, "alb_distribution": "blocked"},
    {"schedule": "edge", "edge_chunk": "off"},
    {"schedule": "edge", "edge_emit": "fused"},
    {"schedule": "edge", "edge_emit": "fused", "edge_chunk": "off"},
    {"schedule": "hierarchical", "mdt": 2},
    {"schedule": "split", "mdt": 3},
    {"schedule": "split", "mdt": 3, "split_by": "scan"},
    {"schedule": "twc", "twc_small": "scan"},
    {"schedule": "warp_search", "search_memory": "registers"},
    {"schedule": "dynamic_parallelism", "grid_threshold": 20},
    {"schedule": "expand_hybrid", "expand_factor": 1},
]
GRIDS = (1, 7, 132, 264, 1000)


def graph(n: int, m: int):
    """Return n, sources, targets, weights of random edges, denser at small ids, with a hub; both arcs of every edge."""
    rng = np.random.default_rng(12)
    src, dst = (rng.integers(0, n, m) ** 2 // n for _ in range(2))
    hub = np.arange(6, n - n // 10)
    src, dst = np.concatenate([src, np.full(hub.size, SOURCE)]), np.concatenate([dst, hub])
    key = np.unique(np.minimum(src, dst) * n + np.maximum(src, dst))
    src, dst = key // n, key % n
    src, dst = src[src != dst], dst[src != dst]
    return n, *oracles.symmetric(src, dst, rng.integers(1, 60, src.size).astype(np.int32))


def answers(n, src, dst, weights) -> dict[str, np.ndarray]:
    """Return the answers of oracles, which share no code with any backend."""
    most = 2**31 - 1
    levels = oracles.bfs(n, src, dst, SOURCE)
    distances = oracles.sssp(n, src, dst, weights, SOURCE)
    return {
        "levels": np.where(levels < 0, most, levels),
        "distances": np.array([most if d is None else d for d in distances]),
        "labels": oracles.components(n, src, dst),
        "pagerank": oracles.pagerank(n, src, dst, rounds=5),
        "peel": oracles.core_numbers(n, src, dst),
    }


def solved(device_graph, name, options) -> np.ndarray:
    program, field = PROGRAMS[name.partition(" ")[0]]
    traced = trace(program, device_graph.local.out.weights.dtype)
    direction = "auto"
    if name in WAYS:
        direction, options = WAYS[name].direction, options.under(WAYS[name])
    machine = GpuMachine(traced, device_graph, device_graph.device, direction, options)
    machine.start({})
    machine.apply_totals(*machine.totals(), True)
    while not machine.done:
        machine.fused(1 << 20)
    return np.asarray(machine.state[field])


def check(size: tuple[int, int], algorithms, chosen, grids, runs: int) -> int:
    """Return the number of wrong answers, and print each."""
    n, src, dst, weights = graph(*size)
    device = device_of("gpu")
    device_graph = DeviceGraph(local_graph(n, src, dst, weights, directed=False), device)
    right, wrong, count = answers(n, src, dst, weights), 0, 0
    for name in algorithms:
        for options in chosen:
            print(name, *options.values(), flush=True)
            for blocks in grids:
                for run in range(runs):
                    ours = solved(device_graph, name, GpuPlan(blocks=blocks, **options))
                    wanted = right[name.partition(" ")[0]]
                    count += 1
                    if not (np.allclose(ours, wanted, rtol=1e-12) if name == "pagerank" else (ours == wanted).all()):
                        wrong += 1
                        print(f"wrong: {name} {options} on {blocks} blocks, run {run}", flush=True)
    print(f"{count} answers of {len(algorithms)} algorithms × {len(chosen)} schedules, {n} vertices: {wrong} wrong")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("answers", "grids"))
    parser.add_argument("--algorithms", default=",".join(PROGRAMS))
    parser.add_argument("--schedules", default="")
    parser.add_argument("--runs", type=int, default=1)
    asked = parser.parse_args()
    names = asked.schedules.split(",")
    chosen = [options for options in OPTIONS if not asked.schedules or options["schedule"] in names]
    if asked.algorithms == "variants":
        asked.algorithms, chosen = ",".join(WAYS), [{"schedule": "auto"}]
    size, grids = ((200, 900), (None,)) if asked.what == "answers" else ((1000, 6000), GRIDS)
    return int(check(size, asked.algorithms.split(","), chosen, grids, asked.runs) > 0)


if __name__ == "__main__":
    sys.exit(main())
