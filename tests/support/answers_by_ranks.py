"""Digests of answers on small graphs: equal ones on any number of ranks, over any path between them.

On one rank it writes the digests to a file; on several it compares with them, and says which path the reports name.
Floats are rounded to 6 digits, since their sums differ in their last bits. As a program, with ranks that share a GPU:

    python tests/support/answers_by_ranks.py --device cuda --file DIGESTS
    DGRAPH_FAKE_HOSTS=2 mpirun -n 4 python tests/support/answers_by_ranks.py --device cuda --file DIGESTS
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import dgraph

GRAPHS = ("rmat:9,symmetric", "grid:24x20", "rmat:8")
WORKS: dict[str, dict] = {
    "bfs": {"source": 3}, "cc": {}, "sssp": {"source": 3}, "pagerank": {"tol": 0.0, "max_iter": 10}, "scc": {},
    "kcore": {}, "mis": {}, "color": {}, "mst": {}, "triangles": {}, "cdlp": {}, "hits": {}, "closeness": {"k": 4},
    "bc": {"k": 4},
}  # fmt: skip


def digest(values: np.ndarray) -> str:
    """Return a digest of a column."""
    if values.dtype.kind == "f":
        values = np.array([f"{value:.6g}" for value in values.tolist()])
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


def answers(device: dgraph.Cpu | dgraph.Cuda, seconds: float) -> Iterator[tuple[str, dict[str, str], str, float]]:
    """Yield algorithm and graph, column → digest, the path between ranks, and seconds, until the time is over."""
    comm, began = dgraph.communicator(), time.perf_counter()
    graphs = {name: dgraph.Graph.load(name, weights="1..9", comm=comm, device=device) for name in GRAPHS}
    for work, parameters in WORKS.items():
        for name, graph in graphs.items():
            if comm.largest(int(time.perf_counter() - began)) > seconds:
                return
            start = time.perf_counter()
            try:
                result = dgraph.run(work, graph, **parameters)
            except (dgraph.UsageError, dgraph.DataError):  # an algorithm for undirected graphs
                continue
            columns = result.gather()
            path = [choice for choice in result.report["choices"] if choice["what"] == "transport"]
            digests = {column: digest(np.asarray(values)) for column, values in (columns or {}).items()}
            yield f"{work} {name}", digests, " ".join(path[0].values()) if path else "", time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--transport", default="auto")
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=600)
    words = parser.parse_args()
    comm = dgraph.communicator()
    gpus = dgraph.Cuda(share=True, transport=words.transport)
    device = gpus if words.device == "cuda" else dgraph.Cpu(threads=1)
    paths: dict[str, int] = {}
    expected = json.loads(words.file.read_text()) if comm.size > 1 else {}
    digests, differ = {}, []
    for work, columns, path, seconds in answers(device, words.seconds):
        digests[work] = columns
        if comm.size == 1:
            words.file.write_text(json.dumps(digests))
        paths[path] = paths.get(path, 0) + 1
        if comm.rank == 0 and seconds > 5:
            print(f"  {work}: {seconds:.1f} s", flush=True)
        differ += [f"{work}: {name}" for name in columns if expected.get(work, columns).get(name) != columns[name]]
    if comm.rank == 0:
        compared = len(digests.keys() & expected.keys())
        print(f"{comm.size} ranks on {words.device}: {len(digests)} answers, {compared} compared, {len(differ)} differ")
        print(f"paths: {paths}", *differ, sep="\n", flush=True)
    raise SystemExit(bool(differ))


if __name__ == "__main__":
    main()
