"""Algorithm: parameters, requirements on the graph, and ``run``, which drives vertex programs.

Subclass :class:`Algorithm` and decorate it with :func:`algorithm` to register it; :func:`dgraph.run` and the command
line find it by name. A user's bare :class:`~dgraph.program.Program` is wrapped in :class:`ProgramAlgorithm`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn

import numpy as np

from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.algorithms.parameter import Parameter
from dgraph.comm import Comm
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError, unknown
from dgraph.graph.load_options import NAMES as LOAD_OPTIONS
from dgraph.graph.names import Names
from dgraph.graph.stored_graph import Graph
from dgraph.program import MAX, MIN, Program, RowReducer
from dgraph.program.traversal import Traversal
from dgraph.result.columns import UNREACHED, Column
from dgraph.result.edge_values import EdgeValues
from dgraph.result.matrix import DistanceMatrix
from dgraph.result.partitions.label_columns import RowLabels
from dgraph.result.walks import Walks


@dataclass(frozen=True)
class Answer:
    """This rank's part of an algorithm's result.

    Attributes:
        columns: name → array, shape (masters,), in the order of masters; or a function that returns it, called when the
            column is first read.
        summary: global figures by name, equal on every rank.
        finished: False if a limit ended the run.
        limit: the limit that ended the run, in words; None if it finished.
        arcs: for a search, out-edges of the reached vertices over all ranks; None for other algorithms.
        matrix: distances between all pairs; None: the answer has none.
        edges: a value for each edge; None: the answer has none.
        walks: walks through the graph; None: the answer has none.
    """

    columns: Mapping[str, Column]
    summary: dict[str, Any] = field(default_factory=dict)
    finished: bool = True
    limit: str | None = None
    arcs: int | None = None
    matrix: DistanceMatrix | None = None
    edges: EdgeValues | None = None
    walks: Walks | None = None


@dataclass(frozen=True)
class ResultColumn:
    """Description of a column of an algorithm's result.

    Attributes:
        help: meaning of its values.
        kind: "integer", "number", or "vertex": ids of vertices, which are replaced by names where vertices have names.
        nullable: True if ``UNREACHED``, infinite values and, in columns other than ``distance``, negative integers mean
            that there is no value.
    """

    help: str
    kind: str = "integer"
    nullable: bool = False


class Algorithm(ABC):
    """Base class of algorithms: construct it with its parameters, then call ``run(ctx) -> Answer`` on every rank.

    Attributes:
        name: name in the register and on the command line.
        parameters: name → :class:`Parameter`.
        defaults: name → value of a parameter that is left out.
        of_vertices, of_labels: those that hold vertices, and labels of vertices.
        aliases: other names in the register.
        columns: name → :class:`ResultColumn`, for every column that some parameters give; first those of the defaults.
        needs_source: True if it takes ``source``, an original vertex id.
        weighted: True if it uses edge weights where the graph has some, as NetworkX's function of that name does.
        wants_weights: True if it is of little use without weights. The command line then draws weights for generated
            graphs, and warns about a named graph that has none.
        undirected: True if it needs an undirected graph; a directed one is symmetrised.
        edge_rule: what it counts of loops and parallel edges that the graph keeps; by default all, each time.
        needs_rows: "own" if all edges of a vertex must lie on one rank: oec then replaces "auto" and policies that
            spread them. "in" or "out": these edges must; "auto" is then iec or oec, and other policies
            stay. None: they may lie on several.
        resumes: True if it writes checkpoints, from which a stopped run goes on.
        continues: True if a run may start from an earlier answer (``ctx.previous``).
        depends_on_start: True if the answer then may be another one than that of a run from scratch.
        residual: True if rounds have a residual, which ``Options(record="residual")`` records.
        matrix: True if the answer has a matrix, which ``--output`` writes.
        one_gpu: kernel by which one GPU that holds the whole graph is faster than several; None: there is none.

    Raises:
        UsageError: from the constructor, for an unknown parameter or a value that it cannot have.
    """

    name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    parameters: ClassVar[dict[str, Parameter]] = {}
    defaults: ClassVar[dict[str, Any]] = {}
    of_vertices: ClassVar[tuple[Parameter, ...]] = ()
    of_labels: ClassVar[tuple[Parameter, ...]] = ()
    columns: ClassVar[Mapping[str, ResultColumn]] = MappingProxyType({})
    needs_source: ClassVar[bool] = False
    weighted: ClassVar[bool] = False
    wants_weights: ClassVar[bool] = False
    undirected: ClassVar[bool] = False
    edge_rule: ClassVar[EdgeRule] = EdgeRule()
    continues: ClassVar[bool] = False
    depends_on_start: ClassVar[bool] = False
    resumes: ClassVar[bool] = True
    matrix: ClassVar[bool] = False
    residual = False
    needs_rows: str | None = None
    one_gpu: str | None = None

    def __init__(self, **values: Any):
        self.__dict__.update(self.defaults)
        for name, value in values.items():
            if name not in self.parameters:
                raise unknown(f"parameter of {self.name}", name, self.parameters)
            if value is not self.defaults[name]:
                setattr(self, name, self.parameters[name].checked(value, self.name))
        self.check()

    def may_continue(self) -> bool:
        """Return True if a run with these parameters may start from an earlier answer."""
        return self.continues

    def check(self) -> None:  # noqa: B027 - most parameters need no check
        """Raise a :class:`UsageError` for parameters that are wrong on every graph."""

    @classmethod
    def on_gpus(cls, ranks: int) -> Mapping[str, Any]:
        """Return the parameter values that "auto" may choose on ``ranks`` GPUs for a graph with hubs.

        ``estimate`` and ``warmup`` plan memory and compilation for them.
        """
        return {}

    def numbered(self, names: Names | None, comm: Comm) -> Algorithm:
        """Return a copy in which vertex names in parameters are replaced by their numbers; collective.

        Args:
            names: names of the vertices; None: they are integers.
            comm: the ranks.

        Raises:
            UsageError: a name that no vertex has, a name where vertices are integers, or an integer where they have
                names.
        """
        numbered = object.__new__(type(self))  # every call makes one, and copy() takes 10 times as long
        numbered.__dict__.update(self.__dict__)
        for parameter in self.of_vertices:
            setattr(numbered, parameter.name, parameter.numbered(getattr(self, parameter.name), names, comm))
        return numbered

    def labelled(self, graph: Graph) -> Algorithm:
        """Return this algorithm, or a copy in which columns of labels are read, aligned with ``graph``'s; collective.

        Raises:
            UsageError: as :func:`label_column`.
        """
        labelled = self
        for parameter in self.of_labels:
            source = getattr(self, parameter.name)
            if source is not None:
                labelled = copy(self) if labelled is self else labelled
                if isinstance(source, list):
                    raise UsageError(
                        f"{parameter.name} is a list; give labels by vertex: a dict, on the command line id=label, or "
                        "an array by ascending id"
                    )
                if isinstance(source, Mapping) and graph.comm.rank:
                    source = {}
                setattr(labelled, parameter.name, RowLabels.of(parameter.name, source, graph))
        return labelled

    @property
    def arcs(self) -> bool:
        """True if the parameter ``count`` is "arcs": an edge in both directions counts twice."""
        return getattr(self, "count", "edges") == "arcs"

    def of_edges(self) -> Algorithm:
        """Return a copy that counts edges, for an undirected graph, where arcs give the same answer."""
        if not self.arcs:
            return self
        by_edges = copy(self)
        by_edges.__dict__["count"] = "edges"
        return by_edges

    @property
    def traversal(self) -> Traversal | None:
        """Traversal strategy of the chosen variant; None: the run decides."""
        return None

    @abstractmethod
    def run(self, ctx: Context) -> Answer:
        """Solve the problem and return this rank's part of the answer; collective.

        Args:
            ctx: the graph, the communicator, and ``ctx.run(program, state)``.
        """

    def same_search(self, earlier: Mapping[str, Any]) -> bool:
        """Return True if the answer of a run with the parameters ``earlier`` is one to start from."""
        return True

    def settings(self) -> dict[str, Any]:
        """Return the values of all parameters by name."""
        values = {name: getattr(self, name) for name in self.parameters}
        return values | {row.name: "a column" for row in self.of_labels if values[row.name] is not None}


class Register(dict[str, type[Algorithm]]):
    """Algorithms by name; iteration yields names alone, look-ups take aliases too.

    Attributes:
        aliases: alias → name.
    """

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}

    def __missing__(self, alias: str) -> type[Algorithm]:
        if alias not in self.aliases:
            raise KeyError(alias)
        return self[self.aliases[alias]]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.aliases


ALGORITHMS = Register()
"""Registered algorithms by name."""


def algorithm(
    name: str, *parameters: Parameter, columns: Mapping[str, ResultColumn] = MappingProxyType({}),
    aliases: Sequence[str] = (),
):  # fmt: skip
    """Return a decorator that registers a subclass of :class:`Algorithm`.

    Args:
        name: name of the algorithm, on the command line and in :func:`dgraph.run`.
        *parameters: its parameters.
        columns: its columns.
        aliases: other names, such as those of NetworkX and cuGraph.

    Raises:
        UsageError: a name is taken, or a parameter has the name of a load option.
    """

    def register(cls: type[Algorithm]) -> type[Algorithm]:
        for title in (name, *aliases):
            if title in ALGORITHMS:
                raise UsageError(f"two algorithms are named {title!r}; rename one")
        for parameter in parameters:
            if parameter.name in LOAD_OPTIONS:
                raise UsageError(f"{name}: the parameter {parameter.name} is also a load option; rename it")
        cls.name, cls.parameters, cls.columns = name, {p.name: p for p in parameters}, columns
        cls.defaults = {p.name: p.default for p in parameters}
        cls.of_vertices = tuple(p for p in parameters if p.holds_vertices)
        cls.of_labels = tuple(p for p in parameters if p.labels)
        cls.aliases = tuple(aliases)
        ALGORITHMS.aliases |= dict.fromkeys(aliases, name)
        ALGORITHMS[name] = cls
        return cls

    return register


class ProgramAlgorithm(Algorithm):
    """Adapter that runs one user-written program: fields that are not hidden are columns, globals the summary.

    A figure of the summary is None where no vertex contributed to a MIN or MAX.
    """

    def __init__(self, program: Program):
        self.program, self.name = program, type(program).__name__.lower()  # type: ignore[misc]
        self.residual = program.residual is not None
        if any(isinstance(field.reduce, RowReducer) for field in program.fields.values()):
            self.needs_rows = "out" if program.reverse else "in"

    def run(self, ctx: Context) -> Answer:
        """Run the program to its end or to the round limit; collective."""
        state = ctx.run(self.program)
        limit = None if state.finished else f"{state.rounds} rounds"
        columns = {name: state.column(name) for name, field in self.program.fields.items() if not field.hidden}
        totals = self.program.globals.items()
        empty = [name for name, one in totals if one.reduce in (MIN, MAX) and state.globals[name] == one.infinity]
        summary = {**state.globals, **dict.fromkeys(empty)}
        return Answer(columns, summary, state.finished, limit)

    def settings(self) -> dict[str, Any]:
        """Return the program's parameters by name."""
        return dict(self.program.parameters)


class OnePass(Program):
    """Base of programs that run a single round."""

    def step(self, g):
        """End the run after the first round."""
        return {"done": True}


COUNT = Parameter(
    "count", str, "edges", "what counts in a directed graph: edges, or arcs, as in LDBC Graphalytics",
    choices=("edges", "arcs"),
)  # fmt: skip
"""Parameter ``count`` of undirected algorithms that LDBC Graphalytics defines on directed graphs."""

SOURCE = Parameter("source", int, None, "vertex to start from, by its original id")
"""Parameter ``source`` of searches."""

PREDECESSOR = ResultColumn("vertex before it on a path from the source; null: none", "vertex", nullable=True)
"""Column ``predecessor`` of searches."""


def check_source(ctx: Context, source: int | None, name: str) -> int:
    """Return the source as an int if it is a vertex of the graph; collective.

    Raises:
        UsageError: on every rank, for a source that is missing, not an integer, or not a vertex.
    """
    if source is None:
        raise UsageError(f"{name} starts from a vertex and none was given; pass source=, one of the graph's ids")
    return check_vertex(ctx, "source", source)


def check_vertex(ctx: Context, role: str, vertex: int) -> int:
    """Return a vertex of the graph as an int; collective.

    Args:
        ctx: context of the algorithm.
        role: name of the parameter, for messages.
        vertex: original id.

    Raises:
        UsageError: on every rank, for a value that is not an integer, or not a vertex.
    """
    if isinstance(vertex, bool) or not isinstance(vertex, (int, np.integer)):
        raise UsageError(
            f"{role} {vertex!r} is not an integer, and the vertices of this graph are integers; pass one of them "
            "(vertices have names if the graph is loaded with ids='string')"
        )
    ctx.owned(int(vertex), lambda: _refuse(ctx, role, vertex))
    return int(vertex)


def _refuse(ctx: Context, role: str, vertex: int) -> NoReturn:
    ids = ctx.local.original[: ctx.local.masters]
    low, high = ctx.comm.allreduce(np.array([ids.min(initial=UNREACHED), ~ids.max(initial=-1)]), "min").tolist()
    raise UsageError(
        f"{role} {vertex} is not a vertex of the graph: its {ctx.local.n} ids lie between {low} and {~high}; "
        "pick one of them"
    )


def limited(finished: bool, rounds: int) -> str | None:
    """Return the round limit in words for :attr:`Answer.limit`; None for a finished run."""
    return None if finished else f"{rounds} rounds"
