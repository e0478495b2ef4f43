"""What an algorithm is: parameters, what it needs of a graph, and ``run``, which drives programs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dgraph.comm import Comm
from dgraph.engine.rounds.driver import Context
from dgraph.errors import UsageError, unknown
from dgraph.graph.load_options import NAMES as LOAD_OPTIONS
from dgraph.graph.names import Names
from dgraph.program import Program
from dgraph.program.traversal import Traversal
from dgraph.result.columns import UNREACHED, Column


@dataclass(frozen=True)
class Parameter:
    """One parameter of an algorithm: a keyword of :func:`dgraph.run`, an option of the command line.

    Attributes:
        type: int, float, bool, str, or "vertices": original ids, or a dict of id → number.
        least: the smallest number that makes sense.
    """

    name: str
    type: Any
    default: Any
    help: str
    choices: tuple | None = None
    aliases: tuple[str, ...] = ()
    least: int | None = None

    def check(self, value: Any, of: str) -> None:
        """Raise a :class:`UsageError` for a number or a switch that makes no sense; ``of``: the algorithm's name."""
        right, wanted = KINDS.get(self.type, (object, "anything"))
        wrong = not isinstance(value, right) or (isinstance(value, (bool, np.bool_)) and self.type is not bool)
        if wrong or (self.type is float and math.isnan(value)) or (self.least is not None and value < self.least):
            more = "" if self.least is None else f", {self.least} or more"
            raise UsageError(f"{self.name} = {value!r} will not do for {of}: give {wanted}{more}, or leave it out")


KINDS: dict[Any, tuple[Any, str]] = {
    int: ((int, np.integer), "an integer"),
    float: ((int, float, np.integer, np.floating), "a number"),
    bool: ((bool, np.bool_), "True or False"),
}
"""Of a parameter's type: the types of Python that will do, and what they are called."""


@dataclass(frozen=True)
class Answer:
    """This rank's part of an answer.

    Attributes:
        columns: name → array, shape (masters,), in the order of masters; or a function that makes it, which is called
            when somebody asks for the column.
        summary: figures of the whole answer.
        finished: False if a limit ended the run; ``limit`` says which.
        arcs: of a search: edges that leave the vertices reached, on all ranks.
        vertices: those of ``columns`` that hold vertices, if they are there.
    """

    columns: Mapping[str, Column]
    summary: dict[str, Any] = field(default_factory=dict)
    finished: bool = True
    limit: str | None = None
    arcs: int | None = None
    vertices: tuple[str, ...] = ("predecessor", "labels")


class Algorithm(ABC):
    """Base of every algorithm: construct it with its parameters, then ``run(ctx) -> Answer`` on every rank.

    Class attributes:
        name: on the command line.
        parameters: name → Parameter.
        needs_source: takes ``source``, an original id.
        weighted: uses edge weights where the graph has some: exactly where NetworkX's function of that name does.
        wants_weights: tells little without weights: the command line gives a default graph some, and warns where a
            named graph has none.
        undirected: needs an undirected graph; a directed one is made so.
    """

    name: ClassVar[str] = ""
    parameters: ClassVar[dict[str, Parameter]] = {}
    needs_source: ClassVar[bool] = False
    weighted: ClassVar[bool] = False
    wants_weights: ClassVar[bool] = False
    undirected: ClassVar[bool] = False

    def __init__(self, **values: Any):
        for name, parameter in self.parameters.items():
            value = values.pop(name, parameter.default)
            if parameter.choices and value not in parameter.choices:
                raise unknown(f"{name} of {self.name}", value, parameter.choices)
            if name != "source" and value is not parameter.default and not callable(value):
                parameter.check(value, self.name)
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
    def traversal(self) -> Traversal | None:
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
        return Answer(columns, dict(state.globals), state.finished, limit, vertices=())

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
