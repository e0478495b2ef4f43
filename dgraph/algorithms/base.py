"""What an algorithm is: parameters, what it needs of a graph, and ``run``, which drives programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dgraph.algorithms.columns import Column
from dgraph.algorithms.distances import UNREACHED
from dgraph.comm import Comm
from dgraph.engine import Context
from dgraph.errors import UsageError, unknown
from dgraph.graph.names import Names
from dgraph.graph.options import NAMES as LOAD_OPTIONS
from dgraph.program import Program
from dgraph.program.way import Way


@dataclass(frozen=True)
class Parameter:
    """One parameter of an algorithm: a keyword of :func:`dgraph.run`, an option of the command line.

    Attributes:
        type: int, float, bool, or "vertices": original ids, or a dict of id → number.
    """

    name: str
    type: Any
    default: Any
    help: str
    choices: tuple | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """This rank's part of an answer.

    Attributes:
        columns: name → array, shape (masters,), in the order of masters; or a function that makes it, which is called
            when somebody asks for the column.
        summary: figures of the whole answer.
        finished: False if a limit ended the run; ``limit`` says which.
        arcs: of a search: edges that leave the vertices reached, on all ranks.
    """

    columns: Mapping[str, Column]
    summary: dict[str, Any] = field(default_factory=dict)
    finished: bool = True
    limit: str | None = None
    arcs: int | None = None


class Algorithm(ABC):
    """Base of every algorithm: construct it with its parameters, then ``run(ctx) -> Answer`` on every rank.

    Class attributes:
        name: on the command line.
        parameters: name → Parameter.
        needs_source: takes ``source``, an original id.
        weighted: uses edge weights.
        undirected: needs an undirected graph; a directed one is made so.
    """

    name: ClassVar[str] = ""
    parameters: ClassVar[dict[str, Parameter]] = {}
    needs_source: ClassVar[bool] = False
    weighted: ClassVar[bool] = False
    undirected: ClassVar[bool] = False

    def __init__(self, **values: Any):
        for name, parameter in self.parameters.items():
            value = values.pop(name, parameter.default)
            if parameter.choices and value not in parameter.choices:
                raise unknown(f"{name} of {self.name}", value, parameter.choices)
            setattr(self, name, value)
        if values:
            raise unknown(f"parameter of {self.name}", next(iter(values)), self.parameters)
        self.check()

    def check(self) -> None:  # noqa: B027 - most parameters need no check
        """Raise a :class:`UsageError` for parameters that are wrong on every graph."""

    @classmethod
    def on_gpus(cls, ranks: int) -> Mapping[str, Any]:
        """Parameters that those left out may come to on so many GPUs where there are hubs: ``estimate`` and ``warmup``
        reckon with them."""
        return {}

    def numbered(self, names: Names, comm: Comm) -> Algorithm:
        """The same, where parameters call vertices by words, with their numbers; collective.

        Raises:
            UsageError: a word that is no vertex's name.
        """
        out = copy(self)
        for name, parameter in self.parameters.items():
            if name == "source" or parameter.type == "vertices":
                setattr(out, name, _numbers(getattr(self, name), names, comm))
        return out

    @property
    def way(self) -> Way | None:
        """How its rounds want to be walked; None: as the run likes."""
        return None

    @abstractmethod
    def run(self, ctx: Context) -> Answer:
        """Solve on every rank; this rank's part of the answer."""

    def settings(self) -> dict[str, Any]:
        """Parameters as they were given."""
        return {name: getattr(self, name) for name in self.parameters}


ALGORITHMS: dict[str, type[Algorithm]] = {}


def algorithm(name: str, *parameters: Parameter):
    """Decorator: register a subclass of :class:`Algorithm` under its name on the command line."""

    def register(cls: type[Algorithm]) -> type[Algorithm]:
        if name in ALGORITHMS:
            raise UsageError(f"two algorithms are named {name!r}; rename one")
        for parameter in parameters:
            if parameter.name in LOAD_OPTIONS:
                raise UsageError(f"{name}: {parameter.name} is an option of loading; rename it")
        cls.name, cls.parameters = name, {p.name: p for p in parameters}
        ALGORITHMS[name] = cls
        return cls

    return register


class ProgramAlgorithm(Algorithm):
    """A user's own program as an algorithm: its fields are the columns."""

    def __init__(self, program: Program):
        self.program, self.name = program, type(program).__name__.lower()  # type: ignore[misc]

    def run(self, ctx: Context) -> Answer:
        state = ctx.run(self.program)
        limit = None if state.finished else f"{state.rounds} rounds"
        columns = {name: partial(state.__getitem__, name) for name in state.fields}
        return Answer(columns, dict(state.globals), state.finished, limit)

    def settings(self) -> dict[str, Any]:
        return dict(self.program.parameters)


class OnePass(Program):
    """A program of one round: every active vertex is asked once."""

    def step(self, g):
        return {"done": True}


def _numbers(vertices: Any, names: Names, comm: Comm) -> Any:
    """A vertex, several, or a number by vertex: numbers in place of words."""
    if isinstance(vertices, str):
        return names.find([vertices], comm)[0]
    words = [word for word in vertices if isinstance(word, str)] if isinstance(vertices, (dict, list, tuple)) else []
    if not words:
        return vertices
    known = dict(zip(words, names.find(words, comm), strict=True))
    if isinstance(vertices, dict):
        return {known.get(vertex, vertex): value for vertex, value in vertices.items()}
    return [known.get(vertex, vertex) for vertex in vertices]


SOURCE = Parameter("source", int, None, "vertex to start from, by its original id")


def check_source(ctx: Context, source: int | None, name: str) -> int:
    """The source, if it is a vertex; refused on all ranks if not."""
    if source is None:
        raise UsageError(f"{name} starts from a vertex and none was given; pass source=, one of the graph's ids")
    if isinstance(source, bool) or not isinstance(source, (int, np.integer)):
        raise UsageError(
            f"source {source!r} is no integer, and vertices of this graph are called by integers; pass one of them "
            "(names of vertices are words where the graph was loaded with ids='string')"
        )
    if not ctx.total(ctx.local.owns(source)):
        original = ctx.local.original[: ctx.local.masters]
        low = int(ctx.comm.allreduce(np.array([original.min(initial=UNREACHED)]), "min")[0])
        high = ctx.largest(int(original.max(initial=-1)))
        raise UsageError(
            f"source {source} is no vertex of the graph: its {ctx.local.n} ids lie between {low} and {high}; pick one"
        )
    return int(source)


def limited(finished: bool, rounds: int) -> str | None:
    """What a run that did not finish says of its limit."""
    return None if finished else f"{rounds} rounds"
