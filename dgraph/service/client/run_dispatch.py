"""``dgraph.run`` and the functions of algorithms, such as ``dgraph.sssp``: in this process, or on a service's graph.

A graph of a service has ``run_remotely``; its runs import neither the pipeline (``run.py``) nor MPI, Numba or a GPU
library.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

from dgraph.algorithms import ALGORITHMS, Algorithm
from dgraph.algorithms.signatures import docstring, signature
from dgraph.errors import shown, unknown
from dgraph.program import Program

if TYPE_CHECKING:
    from dgraph.engine.checkpoint import Checkpoint
    from dgraph.engine.rounds.progress import Progress
    from dgraph.engine.rounds.record import Record
    from dgraph.engine.run_options import Options
    from dgraph.result.result import Result


def run(
    algorithm: str | Algorithm | Program,
    graph: Any,
    *,
    weight: str | None = None,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | PathLike | None = None,
    previous: Result | None = None,
    record: Record | None = None,
    progress: Progress | Callable | bool | None = None,
    **parameters: Any,
) -> Result:
    """Run an algorithm on a graph, on every rank of the graph's communicator, or where a service keeps the graph.

    Calls of several threads run one after the other; on several ranks they are refused if they overlap
    (``docs/guide/mpi-and-slurm.md``). After a ``KeyboardInterrupt`` on one rank the next call is right. On a service's
    graph, calls of several threads are jobs of its queue, and a ``KeyboardInterrupt`` cancels the job.

    Args:
        algorithm: a name (``python -m dgraph list``), an :class:`Algorithm`, or a :class:`Program` of your own.
        graph: a :class:`Graph`, a graph of a service (:func:`dgraph.connect`), or what
            :func:`~dgraph.graph.graph_like.as_graph` makes one of with defaults: a file or a generator ``NAME:SIZE``, a
            data frame or Arrow table, a NetworkX graph, a sparse matrix.
        weight: a kept attribute of the edges (``keep=`` of the load) that is their weight in this run; the graph with
            these weights is made once and kept. None: the graph's own weights. (Measures of labels, such as
            :func:`dgraph.modularity`, default to them as "weight", and count edges for None, as NetworkX does.)
        options: how the rounds go; None: defaults.
        validate: True checks the answer by a certificate that shares no code with the run.
        checkpoint: folder and times of checkpoints; a folder alone: SIGUSR1 ends the run with a checkpoint there.
        previous: a result of the same call on this graph, or on one that this graph was made from by ``with_edges``.
            bfs, cc and sssp start from it if edges were only added since, pagerank always; ``summary["started"]`` says
            "previous answer" or "from scratch". Answers are those of a run from scratch (pagerank: within ``tol``).
        record: receiver of timings.
        progress: True prints phases and rounds on stderr while they happen, rounds once a second; or a function of a
            dict, which every rank calls: ``phase`` and ``detail``; ``round``, ``vertices``, ``edges`` and
            ``direction``; or ``line``.
        parameters: the algorithm's, by cuGraph's and NetworkX's names.

    Warns:
        ConvergenceWarning: on rank 0, if a limit ended the run early.

    Raises:
        UsageError, DataError, OutputError, ValidationFailed, Checkpointed: on every rank alike.
    """
    settings = {
        "weight": weight, "options": options, "validate": validate, "checkpoint": checkpoint, "previous": previous,
        "record": record, "progress": progress,
    }  # fmt: skip
    if _is_remote(type(graph)):  # type: ignore[arg-type]
        return graph.run_remotely(algorithm, **settings, **parameters)
    return _pipeline()(algorithm, graph, **settings, **parameters)


@cache
def _is_remote(kind: type) -> bool:
    """Return True for the graphs of a service; where a class lacks the attribute, its error's text takes 3 µs."""
    return hasattr(kind, "run_remotely")


@cache
def _pipeline() -> Callable[..., Result]:
    return import_module("dgraph.run").run


def function_of(name: str) -> Callable[..., Result]:
    """Return the function of an algorithm in the register, such as ``dgraph.sssp``: :func:`run` with its name."""
    algorithm = ALGORITHMS[name]
    described = signature(algorithm)
    places = [row.name for row in described.parameters.values() if row.kind is row.POSITIONAL_OR_KEYWORD]
    named = [f"{name}=" for name in described.parameters if name not in places]

    def call(*values: Any, **parameters: Any) -> Result:
        if len(values) > len(places):
            raise TypeError(
                f"{name}() got {shown(values[len(places)])} without a name, and only {' and '.join(places)} may stand "
                f"without one; name it: {', '.join(named)}"
            )
        if "algorithm" in parameters:  # a parameter of run, and of NetworkX's functions
            raise unknown(f"parameter of {name}", "algorithm", algorithm.parameters)
        return run(name, **dict(zip(places, values, strict=False)), **parameters)

    call.__name__ = call.__qualname__ = name
    call.__module__, call.__doc__ = "dgraph", docstring(algorithm)
    call.__signature__ = described  # type: ignore[attr-defined]
    return call
