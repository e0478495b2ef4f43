"""One wrong value in each column of an answer, on each rank: all ranks must refuse it by one rule and one vertex.

As a program, on GPUs where there are some:

    mpirun -n 2 python tests/support/wrong_values.py --graph rmat:24,symmetric --device cuda
"""

from __future__ import annotations

import argparse
import re
import time
from typing import Any

import numpy as np

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.comm import Comm
from dgraph.result.result import UNREACHED
from dgraph.validate import validate

PARAMETERS: dict[str, dict] = {
    "bfs": {}, "sssp": {}, "cc": {}, "pagerank": {"tol": 0.0, "max_iter": 20}, "kcore": {}, "color": {}, "mis": {},
    "mst": {}, "scc": {},
}  # fmt: skip
WEIGHTED = ("sssp", "mst")


def changed(columns: dict[str, np.ndarray], name: str, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], str]:
    """Return the columns with one value that is certainly wrong, and what was changed.

    "circle": an edge of a forest in place of another one.
    """
    if name == "circle":
        row, other = rng.choice(np.flatnonzero(columns["source"] >= 0), 2, replace=False)
        rows = {key: columns[key].copy() for key in ("source", "target", "weight")}
        for values in rows.values():
            values[row] = values[other]
        return columns | rows, f"edge of {columns['vertex'][row]}: that of {columns['vertex'][other]}"
    values = columns[name].copy()
    usual = np.flatnonzero((values >= 0) & (values < UNREACHED) & np.isfinite(values.astype(np.float64)))
    row = int(rng.choice(usual))
    before = values[row]
    if name == "in_set":
        values[row] = 1 - before
    elif name == "predecessor":
        values[row] = columns["vertex"][row]  # itself: not an edge
    elif name in ("source", "target"):
        values[row] = columns["target" if name == "source" else "source"][row]
    elif name == "pagerank":  # the sum stays 1, which is another rule
        values[row] += 1e-6
        values[rng.choice(usual[usual != row])] -= 1e-6
    elif name == "color":  # of the first fit: a neighbour has each lower colour
        row = int(rng.choice(usual[values[usual] > 0]))
        before, values[row] = values[row], values[row] - 1
    else:
        values[row] = before + 1
    return columns | {name: values}, f"{name} of {columns['vertex'][row]}: {before} -> {values[row]}"


def tried(algorithm: str, graph: dgraph.Graph, comm: Comm, seed: int) -> list[tuple[str, int, bool, str, float]]:
    """Return (change, rank, refused alike on all ranks, message, seconds) of each change; collective."""
    parameters = dict(PARAMETERS[algorithm])
    if algorithm in ("bfs", "sssp"):
        parameters["source"] = graph.hub()
    result = dgraph.run(algorithm, graph, **parameters)
    local, settings = graph.partition().local, ALGORITHMS[algorithm](**parameters).settings()
    engine = graph.kept_backend
    evidence = graph.evidence if engine is None else engine.evidence(graph, local, algorithm)
    columns = {name: np.asarray(result.columns[name]) for name in result.columns}
    rounds = result.summary.get("iterations", result.rounds)

    def judged(rows: dict[str, np.ndarray]) -> Any:
        return validate(algorithm, evidence, rows, comm, parameters=settings, rounds=rounds, converged=result.converged)

    right = judged(columns)
    rows = [("nothing", -1, bool(right.passed), str(right), right.seconds)]
    for name in (*columns, *(["circle"] if algorithm == "mst" else [])):
        for rank in range(comm.size) if name != "vertex" else ():
            rng = np.random.default_rng([seed, rank])
            wrong, text = changed(columns, name, rng) if comm.rank == rank else (columns, "")
            verdict = judged(wrong)
            failures = comm.allgather_json(verdict.failure if verdict.passed is False else "")
            names = re.search(r"rule '.+': .*\d", failures[0]) is not None
            good = len(set(failures)) == 1 and names
            rows.append((comm.allgather_json(text)[rank], rank, good, failures[0] or "ACCEPTED", verdict.seconds))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", default="rmat:10,symmetric")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--share", action="store_true", help="ranks may share a GPU, whose kernels write to peers")
    parser.add_argument("--algorithms", default=",".join(PARAMETERS))
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    comm, names = dgraph.communicator(), words.algorithms.split(",")
    missed = 0
    for weights in (None, "1..255"):
        chosen = [name for name in names if (name in WEIGHTED) == (weights is not None)]
        if not chosen:
            continue
        if words.device == "cuda":
            device = dgraph.Cuda(share=True, transport="p2p") if words.share else "cuda"
            graph = dgraph.build_on_gpus(words.graph, comm=comm, policy="oec", weights=weights, device=device)
        else:
            graph = dgraph.Graph.load(words.graph, comm=comm, policy="oec", weights=weights, device="cpu")
        for name in chosen:
            began = time.perf_counter()
            rows = tried(name, graph, comm, words.seed)
            missed += sum(not good for _, _, good, *_ in rows)
            if comm.rank == 0:
                for change, rank, good, message, seconds in rows:
                    verdict = "ok" if good else "MISSED"
                    print(f"{verdict} {name}, rank {rank}, {change}: {message[:170]} ({seconds:.2f} s)")
                print(f"{name}: {time.perf_counter() - began:.1f} s", flush=True)
        graph.close()
    if comm.rank == 0:
        print(f"{words.graph}, {comm.size} ranks on {words.device}, seed {words.seed}: {missed} missed")
    raise SystemExit(missed > 0)


if __name__ == "__main__":
    main()
