"""``python -m dgraph warmup``: compile ahead what runs will need, so that no job waits for a compiler.

Tiny graphs go through the whole pipeline, of every type of weights that programs are compiled for. One rank a node
works, with children where there are cores for them; then all ranks run each algorithm together once, which compiles
the exchange between ranks.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.algorithms import ALGORITHMS
from dgraph.backend import BACKENDS
from dgraph.backend.affinity import cores
from dgraph.cli.arguments import flag
from dgraph.cli.commands import Task, command_parser
from dgraph.cli.terminal_progress import progress_for
from dgraph.comm import Comm, SerialComm
from dgraph.errors import unknown
from dgraph.graph.stored_graph import Graph
from dgraph.report import Progress
from dgraph.run import run

ALL = "all"
WEIGHTS: dict[str, np.ndarray | None] = {
    "no weights": None,
    "int32 weights": np.array([0, 3, 4], np.int32),
    "int32 weights, long paths": np.array([0, 3, 2**31 - 1], np.int32),
    "int64 weights": np.array([0, 3, 4]),
    "int64 weights, long paths": np.array([0, 3, 2**40]),
    "float32 weights": np.array([0.0, 0.5, 1.5], np.float32),
    "float64 weights": np.array([0.0, 0.5, 1.5]),
}
"""Of a path of three edges. The weight 0 needs what finds parents among equal distances; long paths wider distances."""

LONG, SUMMED = "long paths", ("sssp",)
"""Which weights only matter to these algorithms, whose answers are sums of weights."""

VARIANTS: dict[str, Sequence[Mapping[str, Any]]] = {
    "sssp": ({}, {"cutoff": 100.0}),
    "pagerank": ({}, {"personalization": [0]}),
}
"""Parameters that choose another program; else an algorithm runs with its defaults."""

Job = tuple[str, str, str, Mapping[str, Any]]
"""Backend, algorithm, kind of weights, parameters."""

EACH = 3
"""Tiny runs for which a process of their own pays. It has two cores, and compiles side by side."""

FILE = ("graph.wel", "0 1 2\n1 2 3\n")


def task(words: Sequence[str]) -> Task:
    """Read the command's words."""
    parser = command_parser("warmup")
    parser.add_argument("algorithms", nargs="*", metavar="ALGORITHM", help="default: all of them")
    parser.add_argument(
        "--backend", choices=(*BACKENDS, ALL), help="whose programs (default auto: the one that runs here would take)"
    )
    parser.add_argument("-q", "--quiet", **flag(), help="print nothing but errors")
    given = parser.parsed(words)
    named = given.get("algorithms") or list(ALGORITHMS)
    for name in named:
        if name not in ALGORITHMS:
            raise unknown("algorithm", name, ALGORITHMS)
    asked = given.get("backend", "auto")
    backends = BACKENDS[1:] if asked == ALL else (asked,)
    return Task(lambda comm: warmup(named, backends, "quiet" in given, comm))


def warmup(names: Sequence[str], backends: Sequence[str], quiet: bool, comm: Comm) -> int:
    """Compile the programs of the algorithms named for these backends; collective. The exit code 0."""
    began = time.perf_counter()
    hosts = comm.allgather_json(socket.gethostname())
    leads = hosts.index(hosts[comm.rank]) == comm.rank
    with progress_for(comm.rank, quiet, began) as progress:
        with comm.together():
            if leads:
                _alone(names, backends, progress)
        if comm.size > 1:
            for backend, name in product(backends, names):
                progress.phase("compile", f"{name} on {comm.size} ranks")
                _between(name, backend, comm)
        progress.line(f"warm after {time.perf_counter() - began:.1f} s")
    return 0


def _alone(names: Sequence[str], backends: Sequence[str], progress: Progress) -> None:
    comm = SerialComm()
    with tempfile.TemporaryDirectory(prefix="dgraph-") as place:
        path = Path(place, FILE[0])
        path.write_text(FILE[1])
        Graph.load(str(path), comm=comm)
    first, *others = [(backend, *job) for backend, job in product(backends, jobs(names))]
    whole = len(others) + 1
    progress.phase("compile", f"{_told(first, backends)} (1 of {whole})")
    _work(first)  # what all need is compiled before children look for it
    children = min(cores() // 2, len(others) // EACH)
    if children < 2:
        for number, job in enumerate(others, 2):
            progress.phase("compile", f"{_told(job, backends)} ({number} of {whole})")
            _work(job)
        return
    with ProcessPoolExecutor(children, get_context("spawn")) as pool:
        waiting = {pool.submit(_work, job): job for job in others}
        for number, done in enumerate(as_completed(waiting), 2):
            done.result()
            progress.phase("compile", f"{_told(waiting[done], backends)} ({number} of {whole})")


def _work(job: Job) -> None:
    """Run one tiny graph."""
    backend, name, kind, parameters = job
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], WEIGHTS[kind], comm=SerialComm())
    given = {"backend": backend, "validate": True, **_start(name)}
    if parameters:
        run(name, graph, **given, **parameters)
    else:
        _ways(name, graph, 1, given)


def _between(name: str, backend: str, comm: Comm) -> None:
    """Run one tiny graph on all ranks."""
    given = {"comm": comm, "backend": backend, "allow_gpu_sharing": True, "validate": True, **_start(name)}
    _ways(name, "rmat:4", comm.size, given)


def _ways(name: str, graph: Graph | str, ranks: int, given: Mapping[str, Any]) -> None:
    """Run with parameters left out, and on GPUs once more by what these may come to there."""
    choices = run(name, graph, **given).report["choices"]
    more = ALGORITHMS[name].on_gpus(ranks)
    if more and any(choice["what"] == "backend" and choice["taken"] == "cuda" for choice in choices):
        run(name, graph, **given, **more)


def _told(job: Job, backends: Sequence[str]) -> str:
    backend, name, kind, parameters = job
    words = [name, *([kind] if ALGORITHMS[name].weighted else []), *parameters, *([backend] if backends[1:] else [])]
    return ", ".join(words)


def jobs(names: Sequence[str]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Algorithm, kind of weights and parameters of every tiny run."""
    for name in names:
        for kind in _kinds(name):
            for parameters in VARIANTS.get(name, ({},)):
                yield name, kind, parameters


def _kinds(name: str) -> list[str]:
    """The weights for which an algorithm has programs of their own."""
    if not ALGORITHMS[name].weighted:
        return list(WEIGHTS)[:1]
    return [kind for kind in WEIGHTS if name in SUMMED or LONG not in kind]


def _start(name: str) -> dict[str, Any]:
    return {"source": 0} if ALGORITHMS[name].needs_source else {}
