"""``python -m dgraph warmup``: compile the kernels of later runs, so that no job waits for a compiler.

Tiny graphs of every weight type run through the whole pipeline. One rank per node works, with child processes where
cores are free; then all ranks run each algorithm once together, which compiles the exchange between ranks.
"""

from __future__ import annotations

import hashlib
import os
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

from dgraph._support.affinity import cores
from dgraph._support.cache import folder, publish
from dgraph._support.version import __version__
from dgraph.algorithms import ALGORITHMS
from dgraph.backend import has_gpu
from dgraph.backend.cuda.device import nvrtc
from dgraph.backend.cuda.device.prebuilt import TEXTS
from dgraph.cli.arguments import flag
from dgraph.cli.commands import Task, command_parser
from dgraph.cli.terminal.terminal_progress import progress_for
from dgraph.comm import Comm, SerialComm
from dgraph.engine.rounds.context import RARELY_SHARED
from dgraph.errors import unknown
from dgraph.graph.devices import DEVICES, Auto, Cpu, Cuda
from dgraph.graph.stored_graph import Graph
from dgraph.report import Progress
from dgraph.run import run
from dgraph.tools import kernel_wheel

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
"""Weights of a path of three edges. Weight 0 selects the parent search at equal distance; long paths, wider types."""

DRAWN = {"no weights": None, "int32 weights": "1..255"}
"""Kinds of weights for which GPUs also run graphs that they build, whose ids and rows have other types; their rule."""

TINY, GRAPHS, ROAD = "rmat:4", ("rmat:4", "rmat:17,symmetric", "rmat:17"), "road:1000x1000"
"""Graphs that ranks and GPUs generate. Some kernels are for large graphs, directed ones, or long paths alone."""

FEW, QUADRATIC = 64, ("apsp",)
"""Sources on large graphs of algorithms that draw sources, and algorithms that large graphs are too large for."""

LONG, SUMMED = "long paths", ("sssp",)
"""Kinds of weights with long paths, and the algorithms that they matter to: results are sums of weights."""

VARIANTS: dict[str, Sequence[Mapping[str, Any]]] = {
    "bfs": ({}, {"target": 3}),
    "sssp": ({}, {"cutoff": 100.0}, {"target": 3}),
    "pagerank": ({}, {"personalization": [0]}),
}
"""Parameter sets that select other programs; other algorithms run with their defaults."""

ON_ROADS = ("bfs", "sssp")
"""Algorithms that several ranks run as other programs on graphs like roads."""

Job = tuple[str, str, str, Mapping[str, Any]]
"""Backend, algorithm, kind of weights, parameters."""

EACH = 3
"""Tiny runs for which a child process pays. A child has two cores, and compiles beside the others."""

SHARED, SECONDS, LOADED = 15, 4, 0.3
"""Seconds of the first tiny run and of one of the others on two cores, and of one whose code an earlier warmup left."""

FILE = ("graph.wel", "0 1 2\n1 2 3\n")


def task(words: Sequence[str]) -> Task:
    """Parse the words behind ``warmup``."""
    parser = command_parser("warmup")
    parser.add_argument("algorithms", nargs="*", metavar="ALGORITHM", help="default: all of them")
    parser.add_argument(
        "--backend",
        choices=(*DEVICES, ALL),
        help="device to compile for (default auto: the one that runs here would use)",
    )
    parser.add_argument(
        "--wheel",
        metavar="FOLDER",
        help="also write the GPU kernels as a wheel there, which other machines install in place of compiling",
    )
    parser.add_argument(
        "--architectures",
        metavar="LIST",
        help=f"architectures of the wheel (default {','.join(kernel_wheel.ARCHITECTURES)})",
    )
    parser.add_argument("-q", "--quiet", **flag(), help="print nothing but warnings and errors")
    args = parser.parsed(words)
    named = args.get("algorithms") or list(ALGORITHMS)
    for name in named:
        if name not in ALGORITHMS:
            raise unknown("algorithm", name, ALGORITHMS)
    asked = args.get("backend", "auto")
    backends = tuple(DEVICES)[1:] if asked == ALL else (asked,)
    if "wheel" not in args:
        return Task(lambda comm: warmup(named, backends, "quiet" in args, comm))
    targets = args.get("architectures", ",".join(kernel_wheel.ARCHITECTURES)).split(",")
    for target in targets:
        if target not in nvrtc.architectures():
            raise unknown("architecture", target, nvrtc.architectures())
    return Task(lambda comm: make_wheel(named, Path(args["wheel"]), targets, "quiet" in args, comm))


def make_wheel(names: Sequence[str], place: Path, architectures: Sequence[str], quiet: bool, comm: Comm) -> int:
    """Compile the GPU programs of algorithms, and write their kernels as a wheel; return exit code 0; collective."""
    with tempfile.TemporaryDirectory(prefix="dgraph-") as texts:
        os.environ[TEXTS] = texts  # also of child processes
        warmup(names, ("cuda",), quiet, comm)
        with comm.together():
            if comm.rank == 0:
                print(kernel_wheel.build(Path(texts), place, architectures))
    return 0


def warmup(names: Sequence[str], backends: Sequence[str], quiet: bool, comm: Comm) -> int:
    """Compile the programs of algorithms for backends, and return exit code 0; collective."""
    began = time.perf_counter()
    os.environ["DGRAPH_COMPILE"] = "always"  # also in child processes
    hosts = comm.allgather_json(socket.gethostname())
    leads = hosts.index(hosts[comm.rank]) == comm.rank
    with progress_for(comm.rank, quiet, began) as progress:
        with comm.together():
            if leads:
                _compile_on_one_rank(names, backends, progress)
        if comm.size > 1:
            for backend, name in product(backends, names):
                progress.phase("compile", f"{name} on {comm.size} ranks")
                _compile_on_all_ranks(name, backend, comm)
        progress.line(f"warm after {time.perf_counter() - began:.1f} s")
    return 0


def _compile_on_one_rank(names: Sequence[str], backends: Sequence[str], progress: Progress) -> None:
    comm = SerialComm()
    with tempfile.TemporaryDirectory(prefix="dgraph-") as place:
        path = Path(place, FILE[0])
        path.write_text(FILE[1])
        Graph.load(str(path), comm=comm)
    first, *others = [(backend, *job) for backend, job in product(backends, jobs(names))]
    whole = len(others) + 1
    children = min(cores() // 2, len(others) // EACH)
    progress.line(_forecast([first, *others], max(children, 1)))
    progress.phase("compile", f"{_label(first, backends)} (1 of {whole})")
    _run_job(first)  # compiles what all jobs share before children need it
    if children < 2:
        for number, job in enumerate(others, 2):
            progress.phase("compile", f"{_label(job, backends)} ({number} of {whole})")
            _run_job(job)
        return
    with ProcessPoolExecutor(children, get_context("spawn")) as pool:
        waiting = {pool.submit(_run_job, job): job for job in others}
        for number, done in enumerate(as_completed(waiting), 2):
            done.result()
            progress.phase("compile", f"{_label(waiting[done], backends)} ({number} of {whole})")


def _forecast(every: Sequence[Job], children: int) -> str:
    """Return a line that says how many tiny runs find their code in the cache folder, and how long all take."""
    missing = sum(not _mark(job).exists() for job in every)
    seconds = SHARED * bool(missing) + (missing * SECONDS + (len(every) - missing) * LOADED) / children
    there = f", {len(every) - missing} of them compiled by an earlier warmup" if missing < len(every) else ""
    return f"tiny runs: {len(every)}{there}; about {max(seconds, 1):.0f} s"


def _mark(job: Job) -> Path:
    """Return the file of the cache folder that says that a job's code is there."""
    name = hashlib.sha256(repr((job, __version__, np.__version__)).encode()).hexdigest()[:16]
    return folder() / f"warmup-{name}.compiled"


def _run_job(job: Job) -> None:
    """Run a job, and mark it as compiled."""
    backend, name, kind, parameters = job
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], WEIGHTS[kind], device=backend, comm=SerialComm())
    _run_variants(name, graph, parameters)
    if kind in DRAWN and _uses_gpus(backend):
        _run_drawn(name, DRAWN[kind], parameters, {"device": backend, "comm": SerialComm()})
    publish(_mark(job), b"")


def _uses_gpus(backend: str) -> bool:
    return backend == "cuda" or (backend == "auto" and has_gpu())


def _run_drawn(name: str, weights: str | None, parameters: Mapping[str, Any], place: dict[str, Any]) -> None:
    """Run an algorithm on graphs that GPUs build; ``place``: device and ranks."""
    few = {"k": FEW} if {"k", "random_state"} <= set(ALGORITHMS[name].parameters) else {}
    for spec in (*GRAPHS[: 1 if name in QUADRATIC else None], *([ROAD] if name in ON_ROADS else [])):
        graph = Graph.load(spec, weights=weights, build="device", **place)
        _run_variants(name, graph, parameters if spec == TINY else {**few, **parameters})


def _compile_on_all_ranks(name: str, backend: str, comm: Comm) -> None:
    """Run an algorithm on tiny graphs on all ranks."""
    device = {"auto": Auto(share=True), "cpu": Cpu(), "cuda": Cuda(share=True)}[backend]
    for kind in DRAWN if ALGORITHMS[name].weighted else list(DRAWN)[:1]:
        _run_variants(name, Graph.load(TINY, weights=DRAWN[kind], device=device, comm=comm), {})
        if _uses_gpus(backend):
            _run_drawn(name, DRAWN[kind], {}, {"device": device, "comm": comm})
    if name in ON_ROADS:
        road = Graph.load(f"path:{2 * RARELY_SHARED * comm.size}", weights="1..255", device=device, comm=comm)
        run(name, road, **_start(name, road))


def _run_variants(name: str, graph: Graph, parameters: Mapping[str, Any]) -> None:
    """Run with parameters; with the default ones on a GPU also with those that the algorithm may choose there."""
    arguments = {"validate": True, **_start(name, graph), **parameters}
    choices = run(name, graph, **arguments).report["choices"]
    more = {} if set(parameters) - {"k"} else ALGORITHMS[name].on_gpus(graph.comm.size)
    if more and any(choice["what"] == "backend" and choice["taken"] == "cuda" for choice in choices):
        run(name, graph, **arguments, **more)


def _label(job: Job, backends: Sequence[str]) -> str:
    backend, name, kind, parameters = job
    words = [name, *([kind] if ALGORITHMS[name].weighted else []), *parameters, *([backend] if backends[1:] else [])]
    return ", ".join(words)


def jobs(names: Sequence[str]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield algorithm, kind of weights and parameters of every tiny run."""
    for name in names:
        for kind in _kinds(name):
            for parameters in VARIANTS.get(name, ({},)):
                yield name, kind, parameters


def _kinds(name: str) -> list[str]:
    """Return the kinds of weights for which an algorithm has separate programs."""
    if not ALGORITHMS[name].weighted:
        return list(WEIGHTS)[:1]
    return [kind for kind in WEIGHTS if name in SUMMED or LONG not in kind]


def _start(name: str, graph: Graph) -> dict[str, Any]:
    return {"source": graph.hub()} if ALGORITHMS[name].needs_source else {}
