"""Process that compiles an algorithm's rounds and kernels while its command still loads a large graph.

Numba takes 2 to 8 s for them and compiles one function of a process at a time. The process runs the algorithm on a tiny
graph of the same generator, or of the first lines of the same file, so that types and programs agree; its machine code
comes to the command through the cache folder. The command waits for code that the process compiles, and compiles
itself what the process lacks: a process that fails, or compiles something else, costs the command nothing but a core.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from dgraph._support.affinity import mask, share
from dgraph._support.cache import folder, publish
from dgraph._support.compiled_later import begun
from dgraph._support.version import __version__
from dgraph.algorithms import ALGORITHMS
from dgraph.backend import has_gpu
from dgraph.backend.cpu.threads import launch
from dgraph.comm import SerialComm
from dgraph.engine.run_options import Options
from dgraph.errors import DgraphError, OutputError
from dgraph.graph.devices import Auto, Cpu, Device, described
from dgraph.graph.generate import GENERATORS, is_generator, recipe_of
from dgraph.graph.generators.spec import parse

LARGE = 1 << 22
"""Edges of a graph up to which NumPy answers first runs of most programs (``array_rounds.py``)."""

EDGE = 12
"""Bytes of an edge's line of text, about."""

HEAD = 1 << 15
"""Bytes of a file that the process reads."""

LINES = (".el", ".wel", ".txt", ".csv", ".tsv")
"""Suffixes of files whose first lines are a file of the same format."""

SMALL = 6
"""Size of the tiny generated graph: a scale, vertices, or rows and columns."""

NICE = 5
"""Added to the process' niceness: the command's own threads go first, since NumPy may answer before all is compiled."""


@contextmanager
def compiling_beside(work: type, spec: str, device: Device, words: dict[str, Any], **more: Any) -> Iterator[None]:
    """Compile beside the body of the ``with`` what a run of one rank needs.

    A process does so where the graph is large, CPUs run the rounds, and no earlier process has compiled the same. It
    ends with the block. Several ranks run other programs than the tiny graph's one.

    Args:
        work: class of the algorithm; nothing is compiled for one that is not in the register.
        spec: generator or file.
        device: of the run.
        words: parameters of the algorithm; vertices are left out.
        more: fields of :class:`~dgraph.graph.load_options.LoadOptions` as ``load``, and ``weight`` and ``direction``.
    """
    process = None
    with suppress(OSError, DgraphError):  # the command itself says what is wrong, if anything is
        task = _task(work, spec, device, words, more)
        if task is not None and share([mask()], mask()) > 1 and not _mark(task).exists():
            process = begun(task)
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def _task(work: Any, spec: str, device: Device, words: dict[str, Any], more: dict[str, Any]) -> str | None:
    """Return the process' argument, as JSON; None for a run that it does not serve."""
    name = work.name
    if ALGORITHMS.get(name) is not work or os.environ.get("DGRAPH_COMPILE") or not _is_large(spec):
        return None
    kind = described(device)
    if not isinstance(kind, Cpu) and not (isinstance(kind, Auto) and not has_gpu()):
        return None
    parameters = {name: value for name, value in words.items() if _is_plain(value)}
    with suppress(TypeError):  # a value that JSON does not have
        return json.dumps([name, spec, parameters, more], sort_keys=True)
    return None


def _is_plain(value: Any) -> bool:
    """Return True for a parameter that means the same on any graph: a vertex does not."""
    return value is None or isinstance(value, (bool, float, str, int))


def _is_large(spec: str) -> bool:
    """Return True for a generator or a file of lines with many edges."""
    if is_generator(spec):
        return recipe_of(spec)[0].items > LARGE
    path = Path(spec)
    return path.suffix in LINES and path.is_file() and path.stat().st_size > EDGE * LARGE


def _mark(task: str) -> Path:
    """Return the file of the cache folder that says that a task was done: tasks differ by all but the graph's size."""
    algorithm, spec, *more = json.loads(task)
    kind = _small(spec) if is_generator(spec) else Path(spec).suffix
    name = hashlib.sha256(json.dumps([algorithm, kind, more, __version__]).encode()).hexdigest()[:16]
    return folder() / f"beside-{name}.compiled"


def _small(spec: str) -> str:
    """Return the spec of a tiny graph of the same generator and options."""
    generator, size, options = parse(spec, GENERATORS)
    if isinstance(size, tuple):
        return generator.spell((min(size[0], SMALL), min(size[1], SMALL)), options)
    return generator.spell(min(size, SMALL), options)


def _head(spec: str, place: str) -> str:
    """Return a file in ``place`` of the first lines of another."""
    with Path(spec).open("rb") as file:
        lines = file.read(HEAD)
    path = Path(place, Path(spec).name)
    path.write_bytes(lines[: lines.rfind(b"\n") + 1])
    return str(path)


def main(task: str) -> None:
    """Run the algorithm of a task on its tiny graph; publish its mark.

    A task of a graph in memory has, in place of a name, if it is directed, and the dtype of its weights or None.
    """
    from dgraph.graph.stored_graph import Graph
    from dgraph.run import run

    os.nice(NICE)
    algorithm, spec, parameters, more = json.loads(task)
    in_memory = isinstance(spec, list)
    with tempfile.TemporaryDirectory(prefix="dgraph-") as place:
        if in_memory:
            weights = None if spec[1] is None else np.array([1, 2, 3], spec[1])
            graph = Graph.from_edges([0, 1, 2], [1, 2, 3], weights, directed=spec[0], device="cpu", comm=SerialComm())
        else:
            tiny = _small(spec) if is_generator(spec) else _head(spec, place)
            graph = Graph.load(tiny, comm=SerialComm(), device="cpu", **more["load"])
    os.environ["DGRAPH_COMPILE"] = "always"  # not before: the command itself compiles what loads a graph
    start = {"source": graph.hub()} if ALGORITHMS[algorithm].needs_source else {}
    run(algorithm, graph, weight=more["weight"], options=Options(direction=more["direction"]), **start | parameters)
    launch.compile_serve()  # the tiny graph took one thread
    if not in_memory:
        with suppress(OutputError):
            publish(_mark(task), b"")
