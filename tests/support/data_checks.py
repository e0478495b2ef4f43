"""New algorithms on real graphs, on the ranks of this job and under every policy, against one rank and certificates.

    mpirun -n 3 python tests/support/rank_checks.py --backend cpu --data FOLDER --done FILE
    mpirun -n 4 python tests/support/rank_checks.py --data FOLDER --algorithms bfs,mst  # with a GPU each

The one rank runs on a CPU. ``FILE`` lists the runs that were right; a job that is started again leaves them out. Ranks
1 to 4 are four jobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import dgraph
from dgraph.comm import Comm, SerialComm
from dgraph.errors import ValidationFailed

ALGORITHMS = ("triangles", "lcc", "ktruss", "cdlp", "mst", "scc", "mis", "color", "hits")
SETTINGS: dict[str, dict] = {
    "bc": {"k": 3},
    "closeness": {"k": 20},
    "multi_source_bfs": {"k": 70},
    "multi_source_sssp": {"k": 3},
    "pagerank": {"tol": 0.0, "max_iter": 10},
}
"""Parameters of other algorithms that can be asked for."""

SUFFIXES = (".txt", ".cedge", ".mtx", ".col", ".gr", ".e")
DIRECTED = (
    "scc", "hits", "cdlp", "bfs", "sssp", "pagerank", "bc", "closeness", "multi_source_bfs", "multi_source_sssp",
)  # fmt: skip
"""Algorithms that follow directions; others run on undirected graphs."""


def runs(asked, comm: Comm) -> Iterator[tuple[str, bool]]:
    """Yield for each run that is left its description, and True if it is right; note those that are."""
    done = set(asked.done.read_text().splitlines()) if asked.done.exists() else set()
    comm.barrier()
    for file in sorted(path for path in asked.data.iterdir() if path.suffix in SUFFIXES):
        graphs: dict[bool, dict] = {}
        for algorithm in asked.algorithms:
            left = [policy for policy in asked.policies if f"{comm.size} {policy} {algorithm} {file.name}" not in done]
            if not left:
                continue
            follows = algorithm in DIRECTED
            if follows not in graphs:
                graphs[follows] = _loaded(file, comm, follows, asked)
            graph, alone = graphs[follows]["ranks"], graphs[follows]["alone"]
            settings = dict(SETTINGS.get(algorithm, {}))
            if algorithm in ("bfs", "sssp"):
                settings["source"] = alone.hub()
            wanted = _columns(dgraph.run(algorithm, alone, **settings)) if comm.rank == 0 else {}
            for policy in left:
                told = f"{comm.size} {policy} {algorithm} {file.name}"
                placed = graph.on(policy=policy)
                good = all(_is_right(algorithm, settings, placed, wanted, comm) for _ in range(asked.times))
                if good and comm.rank == 0:
                    with asked.done.open("a") as noted:
                        noted.write(f"{told}\n")
                yield told, good


def _loaded(file: Path, comm: Comm, follows: bool, asked) -> dict[str, dgraph.Graph]:
    """Return the graph on all ranks, and on a CPU of this one alone."""
    device = dgraph.Cuda(share=asked.allow_gpu_sharing) if asked.backend == "cuda" else "cpu"
    graphs_by_name = {
        "ranks": dgraph.Graph.load(str(file), comm=comm, device=device),
        "alone": dgraph.Graph.load(str(file), comm=SerialComm(), device="cpu"),
    }
    return {name: g if follows or not g.directed else g.undirected() for name, g in graphs_by_name.items()}


def _is_right(algorithm: str, settings: dict, graph: dgraph.Graph, wanted: dict[str, np.ndarray], comm: Comm) -> bool:
    """Return True if the certificate holds and the columns are those of one rank: integers bit by bit; collective."""
    try:
        columns = _columns(dgraph.run(algorithm, graph, validate=True, **settings))
    except ValidationFailed as wrong:
        print(f"rank {comm.rank}: {wrong}", flush=True)
        return False
    equal = columns.keys() == wanted.keys() and all(
        np.allclose(columns[name], values, rtol=1e-9, atol=1e-9)
        if values.dtype.kind == "f"
        else np.array_equal(columns[name], values)
        for name, values in wanted.items()
    )
    return comm.total(int(comm.rank == 0 and not equal)) == 0


def _columns(result: dgraph.Result) -> dict[str, np.ndarray]:
    """Return the columns of all ranks on rank 0, by vertex; {} on others."""
    columns = result.gather() or {}
    order = np.argsort(np.asarray(columns["vertex"]), kind="stable") if columns else None
    return {name: np.asarray(values)[order] for name, values in columns.items()}
