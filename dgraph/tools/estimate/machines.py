"""Host memory of an algorithm's programs, measured: machines are made on graphs of a few sizes and their arrays summed.

So the numbers follow the code that runs, and no formula repeats it. Bytes are linear in masters and mirrors, and in
arcs if a transposed graph is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dgraph.algorithms import ALGORITHMS, Algorithm
from dgraph.backend import backend, wire
from dgraph.backend.backend_base import Backend
from dgraph.backend.cpu.round.interpreted import InterpretedMachine
from dgraph.backend.cpu.round.machine import may_pull
from dgraph.backend.cpu.threads.team import Team, team_of
from dgraph.backend.interface import Machine
from dgraph.backend.kernel_register import SOLVERS, Solver, kernel_of
from dgraph.backend.row_solver import RowSolver
from dgraph.comm import SerialComm
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.progress import Progress
from dgraph.engine.rounds.record import Record
from dgraph.errors import UsageError
from dgraph.graph.build.local_graph import build
from dgraph.graph.local import Csr, LocalGraph
from dgraph.graph.stored_graph import Graph
from dgraph.program import Traced, trace
from dgraph.result.columns import Columns
from dgraph.tools.estimate.shape import Shape
from partitioning import plan

VERTICES = 3
"""Vertices of the graph on which an algorithm is run, and most sources that it may draw there (``k``)."""

UNIT = 1 << 12
"""Vertices of the graphs on which machines are made."""


@dataclass(frozen=True)
class Needs:
    """Bytes of one program on one rank.

    Attributes:
        fixed: independent of the graph.
        master: per master.
        mirror: per mirror.
        fields: of all fields, per vertex.
        widths: bytes of each field of a message, the active mark included.
        pulls: True if the program may pull.
    """

    fixed: float
    master: float
    mirror: float
    fields: int
    widths: tuple[int, ...]
    pulls: bool

    def machine(self, masters: float, mirrors: float) -> float:
        """Return the bytes of the machine's arrays."""
        return self.fixed + self.master * masters + self.mirror * mirrors

    def kept(self, masters: float, mirrors: float) -> float:
        """Return the bytes that stay after the program has ended: its fields."""
        return self.fields * (masters + mirrors)

    def messages(self, masters: float, mirrors: float, peers: int) -> float:
        """Return the bytes of message buffers, for this rank's mirrors and as many mirrors of its masters."""
        if not peers:
            return 0.0
        return 2 * peers * wire.CPU.bound(int(mirrors / peers) + 1, self.widths) + masters


class _Solved(Exception):
    """A solver gives the rest of the answer, and its ``bytes`` the rest of the memory."""


class _Recording(Backend):
    """Backend that records the programs it is given and interprets them, so nothing is compiled.

    It records solvers of rows, too, and ends a run at the first that has a class for CPUs.
    """

    def __init__(self, engine: Backend):
        self.engine, self.name = engine, engine.name
        self.programs: list[tuple[Traced, str]] = []
        self.rows: list[Solver] = []

    def solvers(self, name: str) -> Iterator[RowSolver]:
        self.rows.append(SOLVERS[name])
        if SOLVERS[name].cpu:
            raise _Solved
        return iter(())

    def machine(self, traced: Traced, local: LocalGraph, direction: str) -> Machine:
        self.programs.append((traced, direction))
        return InterpretedMachine(_on_host(traced), local, Team(1), direction)


def _on_host(traced: Traced) -> Traced:
    """Replace a traversal that only GPUs have by the program's own rounds."""
    program = traced.program
    if program.traversal and not program.traversal.on_cpu:
        program = program.with_traversal(None)
        program.__dict__["kernel"] = None
    return replace(traced, program=program)


@dataclass(frozen=True)
class Work:
    """Programs of an algorithm and their memory.

    Attributes:
        needs: bytes of each program, in the order of execution.
        programs: the programs with their directions.
        result: bytes of the result per vertex; 0 where a solver counts them.
        rows: solvers of rows that it asks for.
    """

    needs: list[Needs]
    programs: list[tuple[Traced, str]]
    result: int
    rows: list[Solver]


_measured_before: dict[tuple, Work] = {}
"""Work by what it depends on: a service asks for the same one before each of many runs."""

MOST_KEPT = 256


def needs(name: str, shape: Shape, parameters: dict[str, Any], direction: str) -> Work:
    """Measure an algorithm's programs, found by running it on a graph of three vertices without compiling.

    Args:
        name: the algorithm.
        shape: the graph to plan for.
        parameters: the algorithm's.
        direction: "auto", "push" or "pull".

    Raises:
        UsageError: weights of an unsupported size.
    """
    key = ALGORITHMS[name], shape.weight, shape.directed, repr(sorted(parameters.items())), direction
    if key not in _measured_before:
        if len(_measured_before) >= MOST_KEPT:
            _measured_before.clear()
        k = parameters.get("k")
        bounded = {"k": min(k, VERTICES)} if isinstance(k, int) else {}
        _measured_before[key] = _measure(ALGORITHMS[name](**parameters | bounded), shape, direction)
    return _measured_before[key]


def _measure(work: Algorithm, shape: Shape, direction: str) -> Work:
    dtype = {0: None, 4: np.int32, 8: np.int64}.get(shape.weight)
    if shape.weight and dtype is None:
        raise UsageError(f"weights of {shape.weight} bytes are not supported; they have 4 or 8")
    weights = None if dtype is None else np.array([1, 2], dtype)
    graph = Graph.from_edges([0, 1], [1, 2], weights, n=VERTICES, directed=shape.directed, comm=SerialComm())
    comm = graph.comm
    local = build(graph.block, plan("oec", graph.block, 1, comm), comm)
    recording = _Recording(backend("cpu"))
    result = 0
    with suppress(_Solved):
        answer = work.run(Context(local, comm, recording, Record(comm, []), Progress(), direction))
        result = sum(values.itemsize for values in Columns(answer.columns).values())
    solvers = [solver.load("cpu") for solver in recording.rows if solver.cpu]
    weight = None if dtype is None else np.dtype(dtype)
    recording.programs += [(trace(program, weight), direction) for solver in solvers for program in solver.programs]
    measured = [_measured(recording.engine, traced, traversal, shape) for traced, traversal in recording.programs]
    return Work(measured, recording.programs, result, recording.rows)


def _measured(engine: Backend, traced: Traced, direction: str, shape: Shape) -> Needs:
    def size(masters: int, mirrors: int) -> int:
        local = _empty_graph(masters, mirrors, shape)
        shared = {id(array) for array in _arrays(vars(local))}
        machine = _machine(engine, _on_host(traced), local, direction)
        return sum({id(array): array.nbytes for array in _arrays(vars(machine)) if id(array) not in shared}.values())

    none, some, more = size(UNIT, 1), size(2 * UNIT, 1), size(UNIT, UNIT + 1)
    master, mirror = (some - none) / UNIT, (more - none) / UNIT
    fields = [np.dtype(np.uint8 if field.dtype == "bool" else field.dtype) for field in traced.fields.values()]
    return Needs(
        fixed=max(none - UNIT * master - mirror, 0.0),
        master=master,
        mirror=mirror,
        fields=sum(field.itemsize for field in fields),
        widths=(*(field.itemsize for field in fields), 1),
        pulls=may_pull(traced, direction),
    )


def _machine(engine: Backend, traced: Traced, local: LocalGraph, direction: str) -> Machine:
    """Return the machine of a graph too large for array rounds, which never pull."""
    if kernel_of(traced.program.kernel).load("cpu") is not None:
        return engine.machine(traced, local, direction)
    return InterpretedMachine(traced, local, team_of(engine.threads), direction)


def _empty_graph(masters: int, mirrors: int, shape: Shape) -> LocalGraph:
    size = masters + mirrors
    ids = np.arange(size, dtype=np.int64)
    weights = {0: None, 4: np.empty(0, np.int32), 8: np.empty(0, np.int64)}.get(shape.weight)
    rows = Csr(np.zeros(size + 1, np.int64), np.empty(0, np.uint32), weights)
    local = LocalGraph(size, 0, 0, masters, ids, ids.copy(), np.zeros(size, np.int64), rows, shape.directed)
    local.__dict__["incoming"] = rows  # the transposed graph is counted in plan.py
    return local


def _arrays(value: Any, depth: int = 4) -> Iterator[np.ndarray]:
    """Yield every array that owns its memory and is reachable through containers."""
    if isinstance(value, np.ndarray):
        if value.base is None:
            yield value
    elif isinstance(value, dict):
        for element in value.values():
            yield from _arrays(element, depth)
    elif isinstance(value, (tuple, list)):
        for element in value:
            yield from _arrays(element, depth)
    elif isinstance(value, Csr):
        yield from _arrays(vars(value), depth)
