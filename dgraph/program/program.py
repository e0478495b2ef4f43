"""Program: a vertex program, written once for every backend and rank count.

A program declares fields (one value per vertex), globals (one value per graph) and parameters, and defines up to
seven operators: ``init``, ``edge``, ``cond``, ``apply``, ``priority``, ``live`` and ``step``. The operators are traced
once into expressions (:mod:`dgraph.program.trace`), which the backends compile; no Python runs inside a round.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

from dgraph.errors import UsageError, unknown
from dgraph.program.field_declarations import Field, Global, retyped
from dgraph.program.traversal import Traversal

BUILTINS = ("id", "out_degree")
"""Read-only values of every vertex: its original id and its out-degree in the whole graph, both int64."""

IN_DEGREE = "in_degree"
"""Field that tracing adds to a program that reads ``v.in_degree``; its values are ``given`` by the engine."""

ID_SPAN, ID_UNORDERED = "id_span", "id_unordered"
"""Parameters that tracing adds to a program that reads ``e.id``: a number above all ids; True if edges have no
direction."""


CHANGED, ALL = "changed", "all"
"""Values of :attr:`Program.domain`."""


class Program:
    """Base class of vertex programs: subclass it, declare fields, globals and parameters, write the operators.

    ``init`` and ``edge`` are required. The others are defined only where needed: ``cond``, ``apply``, ``priority``,
    ``live``, ``step``. A round is a BSP superstep::

        edge        each edge u → v of an active u proposes values for v; they combine by the field's monoid
        (reduce)    partial results of mirrors are combined at their masters
        apply       each vertex that got a proposal computes its new values; without apply, it is active if it changed
        step        the globals are reduced over all ranks; decides whether the run ends
        (broadcast) masters send the fields that edges read to their mirrors

    Operators are methods with any prefix of the arguments shown, so ``def edge(self, u, e, v)`` and
    ``def edge(self, u, e, v, g)`` are both valid::

        init(self, v, g) -> dict      initial values of fields; ``active``: in the first frontier; terms of globals
        edge(self, u, e, v, g) -> dict  field → proposal for v; pure
        cond(self, v, g) -> bool      True while v accepts proposals; a pull may skip or stop scanning v when False
        apply(self, v, g) -> dict     new values of v's fields, ``active``, and v's terms of summed globals
        priority(self, v) -> number   bucket of v, truncated to an integer; lower buckets are processed first
        live(self, v, g) -> bool      False once passes over all vertices need not visit v any more
        step(self, g) -> dict         new globals, ``done`` (end of the run), ``whole`` (next apply visits all vertices)

    With ``priority`` and ``apply``, a vertex that ``init`` or ``apply`` activates waits until its bucket opens.

    The arguments are symbolic:

    - ``u``, ``v``: source and destination. Attributes: the fields, ``id`` (original id), ``out_degree`` and
      ``in_degree`` in the whole graph, int64.
    - ``e``: the edge. ``e.weight`` has the dtype of the graph's weights; it is 1 if the graph has none. ``e.id`` is an
      int64 made of the ids of its ends: equal in both directions of an undirected edge and for parallel edges, and
      ordered by (smaller end, larger end), or by (source, target) in a directed graph. ``ctx.edge_ends`` turns it back.
    - ``g``: the graph. Attributes: the globals, ``n`` vertices, ``m`` edges (undirected edges count once), ``round``
      (rounds finished, from 0), ``active`` (in ``step``: vertices in the next frontier, over all ranks) and, with
      ``priority``, ``bucket`` (the highest one opened so far, from 0).

    Expressions take ``+ - * /``, comparisons, ``& | ~`` on conditions, ``>>`` on integers, ``abs``,
    :func:`~dgraph.where`, :func:`~dgraph.minimum`, :func:`~dgraph.maximum`, :func:`~dgraph.sqrt`,
    :func:`~dgraph.program.mixed` and :data:`~dgraph.INF`. ``if``, ``and``, ``or`` and ``not`` on them raise
    ``dgraph.program.TraceError``.
    Integers are computed in 64 bits: sums saturate, a product that may overflow is refused. ``/`` yields floats.

    Parameters are annotated class attributes with defaults: ``source: int = 0``. They are set by keyword in the
    constructor, read as ``self.source``, and may be bool, int (64 bits) or float. Their values are kernel arguments, so
    another value needs no compilation.

    A run without ``step``, or whose ``step`` returns no ``done``, ends when the frontier is empty.

    Attributes:
        directions: traversals that the program allows, of "push" (active sources write to destinations) and "pull"
            (destinations scan in-edges).
        domain: CHANGED: ``apply`` runs on vertices that got a proposal. ALL: it runs on every vertex in every round and
            all edges are active; ``step`` must then end the run.
        monotone: True if a vertex whose ``cond`` turned False never accepts proposals again. Required if ``cond`` reads
            fields that may change back, since mirrors may hold old values.
        kernel: name of a registered hand-written kernel with the same fixed point. A backend may run it instead if the
            run forces no direction. "components": propagates the smallest value of one MIN field over all edges of an
            undirected graph; "cores", "shells": see ``dgraph/algorithms/kcore_parts/``; "greedy":
            see ``dgraph/algorithms/color.py``.
        sparse: True if most edges always propose the identity of ``reduce``, and which ones is fixed for the whole run.
            A backend may drop them from the CSR. ``edge`` then reads no global, and no field that rounds write.
        gathers: True if the first round pulls when more than half of all edges leave its frontier; may be set on an
            instance.
        first_hit: True if a pull that asks for the smallest id may take the first one proposed instead; may be set on
            an instance.
        distinct: True if different sources propose different keys in the first round. MODE is then the smallest key of
            a row that names no neighbour twice.
        ceiling: name of an integer field that bounds HINDEX: a row folds to the smaller of its H-index and this field.
        heaviest: edges that weigh more always propose the identity of ``reduce``, so a backend may skip them; see
            :meth:`with_light_edges`.
        exclusive: name of a bool field, True for vertices that at most one edge of the whole graph enters, loops that
            propose nothing aside; their proposals are stored without atomics.
        reverse: True if rounds walk every edge backwards: ``edge(u, e, v)`` runs for edges v → u, and ``out_degree`` is
            the in-degree and ``in_degree`` the out-degree.
        local_rounds: True if ranks may run several rounds between exchanges, provided that late proposals can only
            improve values; may be set on an instance.
        follows: True if each thread of a lone CPU rank may follow vertices inside a bucket of ``priority``, under the
            same condition; may be set on an instance.
        widens: True if several buckets of ``priority`` may be opened at once while rounds are small; may be set on an
            instance.
        residual: name of the global that says after a round how far the program is from its tolerance;
            ``Options(record="residual")`` records it. None: there is none.
        residual_from: first round, from 1, after which it does.
        end_figure: figure that ranks reduce at the end of the rounds, where GPUs drive them: "reached" or "own" (see
            ``State``), and its field. None: there is none.
        traversal: traversal strategy, for algorithms with variants; see :meth:`with_traversal`.
        parameters: of an instance, parameter → value.
        fields: of an instance, name → :class:`Field`.
        globals: of an instance, name → :class:`Global`.

    Raises:
        UsageError: from the constructor, for an unknown parameter, or a field or global with the name of a built-in
            (``id``, ``out_degree``, ``in_degree``, ``active``, ``bucket``, ``n``, ``m``,
            ``round``, ``done``, ``whole``).

    Example:
        ``examples/widest_path.py`` is a complete program.
    """

    directions: ClassVar[tuple[str, ...]] = ("push", "pull")
    domain: ClassVar[str] = CHANGED
    monotone: ClassVar[bool] = False
    kernel: ClassVar[str | None] = None
    sparse: ClassVar[bool] = False
    reverse: ClassVar[bool] = False
    gathers = False
    first_hit = False
    distinct: ClassVar[bool] = False
    ceiling: ClassVar[str | None] = None
    heaviest: ClassVar[float | None] = None
    exclusive: ClassVar[str | None] = None
    local_rounds = False
    follows = False
    widens = True
    residual: ClassVar[str | None] = None
    residual_from: ClassVar[int] = 1
    end_figure: ClassVar[tuple[str, str] | None] = None
    traversal: ClassVar[Traversal | None] = None

    def __init__(self, **parameters: Any):
        defaults, fields, totals = _declarations(type(self))
        values = dict(defaults)
        for name, value in parameters.items():
            if name not in values:
                raise unknown(f"parameter of {type(self).__name__}", name, values)
            values[name] = value
        self.parameters: dict[str, Any] = values
        self.__dict__.update(values)
        self.fields: dict[str, Field] = dict(fields)
        self.globals: dict[str, Global] = dict(totals)

    def __copy__(self) -> Program:
        """Return a shallow copy; algorithms make several in a call, and ``copy`` itself would take the slow way."""
        program = object.__new__(type(self))
        program.__dict__.update(self.__dict__)
        return program

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the parameters and their default values, base classes first."""
        parameters: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            for name, kind in inspect.get_annotations(base).items():
                if "ClassVar" not in str(kind):
                    parameters[name] = getattr(cls, name, None)
        return parameters

    @classmethod
    def _declared(cls, kind: type) -> dict:
        declared = {}
        for base in reversed(cls.__mro__):
            declared.update({name: value for name, value in vars(base).items() if isinstance(value, kind)})
        taken = set(declared) & {*BUILTINS, IN_DEGREE, "active", "bucket", "n", "m", "round", "done", "whole"}
        if taken:
            raise UsageError(f"{cls.__name__} names a {kind.__name__.lower()} {taken.pop()!r}, which is built in")
        return declared

    def with_traversal(self, traversal: Traversal | None) -> Program:
        """Return a copy whose rounds use this traversal strategy; None leaves the choice to the run."""
        program = copy.copy(self)
        program.__dict__["traversal"] = traversal
        return program

    def with_light_edges(self, heaviest: float | None) -> Program:
        """Return a copy that declares edges heavier than ``heaviest`` to propose nothing; None declares none.

        It is a promise about ``edge``, which backends use to skip those edges; ``edge`` itself does not change.
        """
        program = copy.copy(self)
        program.__dict__["heaviest"] = heaviest
        return program

    def retype(self, **dtypes: Any) -> Program:
        """Return a copy in which some fields have other dtypes, for instance those of the graph's weights.

        Args:
            **dtypes: field → dtype.

        Raises:
            UsageError: an unknown field, or a dtype that it cannot have.
        """
        program = copy.copy(self)
        program.fields = dict(self.fields)
        for name, dtype in dtypes.items():
            if name not in self.fields:
                raise unknown(f"field of {type(self).__name__}", name, self.fields)
            program.fields[name] = retyped(self.fields[name], dtype)
        return program

    def init(self, v, g) -> Mapping[str, Any]:
        """Return the initial values of a vertex; runs once on every vertex, before the first round.

        Args:
            v: the vertex; only ``id``, ``out_degree`` and ``given`` fields have values yet.
            g: the graph and its globals.

        Returns:
            Field → value, for each field that is neither ``given`` nor has a ``reduce``; optional for the others.
            ``active``: True if ``v`` is in the first frontier; may be missing under ``domain = ALL``, or if ``step``
            returns ``whole``, which makes the first round visit all vertices. Name of a summed global → term of ``v``.

        An empty first frontier is valid: the result then holds the initial values.
        """
        raise UsageError(f"{type(self).__name__} has no init(self, v, g)")

    def edge(self, u, e, v) -> Mapping[str, Any]:
        """Return the proposals of an edge u → v for ``v``; runs on edges whose source is active.

        Args:
            u: the source, whose values are those at the end of the last round, or newer if all monoids are idempotent.
            e: the edge.
            v: the destination.

        The operator is pure: it writes nothing and may run more than once per edge. A fourth argument ``g`` is
        optional. It must not read fields that reduce by ADD.

        Returns:
            Field → proposed value. The field needs ``reduce``. Return its identity (INF, or 0 under ADD) to propose
            nothing.
        """
        raise UsageError(f"{type(self).__name__} has no edge(self, u, e, v)")

    def has(self, operator: str) -> bool:
        """Return True if the subclass defines the operator of this name, such as "apply"."""
        return getattr(type(self), operator, None) is not getattr(Program, operator, None)


def extended(program: Program, fields: Mapping[str, Field], parameters: Mapping[str, Any]) -> Program:
    """Return a copy with further fields, and with further parameters where it has none of their names."""
    extension = copy.copy(program)
    extension.fields, extension.parameters = {**program.fields, **fields}, {**parameters, **program.parameters}
    return extension


_OWN: dict[type, tuple[dict[str, Any], dict[str, Field], dict[str, Global]]] = {}
"""Declarations of dgraph's own programs, which nothing changes after the class statement."""


def _declarations(kind: type[Program]) -> tuple[dict[str, Any], dict[str, Field], dict[str, Global]]:
    """Return default parameters, fields and globals of a program's class."""
    if kind in _OWN:
        return _OWN[kind]
    declared = kind.defaults(), kind._declared(Field), kind._declared(Global)
    if kind.__module__.startswith("dgraph.algorithms."):
        _OWN[kind] = declared
    return declared
