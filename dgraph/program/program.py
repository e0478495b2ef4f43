"""Program: one kind of round, written once for every backend and every rank count.

A program says its fields and how mirrors of a field combine, then up to seven short texts: ``init`` (once, every
vertex), ``edge`` (proposals for the destination; pure), ``cond`` (does a destination still want proposals),
``apply`` (what a vertex makes of them), ``priority`` (which bucket a vertex waits in), ``live`` and ``step`` (the
globals between rounds). They are traced once (:mod:`dgraph.program.trace`); no Python runs inside a round.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dgraph.errors import UsageError, unknown
from dgraph.program.monoids import ADD, MAX, MIN, Monoid
from dgraph.program.traversal import Traversal

BUILTINS = ("id", "out_degree")
"""What every vertex has beside its fields: its original id (int64) and its out-degree in the whole graph (int64)."""

DTYPES = ("bool", "uint8", "int32", "uint32", "int64", "float32", "float64")
CHANGED, ALL = "changed", "all"


@dataclass(frozen=True)
class Field:
    """One value a vertex.

    Attributes:
        dtype: bool, uint8, int32, uint32, int64, float32 or float64; what proposals combine in is no uint8.
        reduce: how proposals, and mirrors, combine (MIN, MAX, ADD, OR); None: only the vertex itself writes it.
        given: the caller hands the initial values in (``ctx.run(program, state={name: array})``).
    """

    dtype: Any
    reduce: Monoid | None = None
    given: bool = False

    def __post_init__(self):
        name = np.dtype(self.dtype).name
        if name not in DTYPES:
            raise UsageError(f"a field cannot be {name}; known dtypes are {', '.join(DTYPES)}")
        if name == "uint8" and self.reduce:
            raise UsageError("a field of uint8 does not combine proposals, as few values fit; use int32")
        object.__setattr__(self, "dtype", name)

    @property
    def identity(self) -> int | float:
        """What an accumulator starts from; 0 without ``reduce``."""
        return self.reduce.identity(self.dtype) if self.reduce else 0

    @property
    def infinity(self) -> int | float:
        """What INF stands for beside this field: its largest value, or its smallest where it reduces by MAX."""
        return (MAX if self.reduce is MAX else MIN).identity(self.dtype)


@dataclass(frozen=True)
class Global:
    """One value for the whole graph, the same on every rank.

    Attributes:
        dtype: int64 or float64.
        init: its value before ``init`` runs.
        reduce: ADD: what ``init`` and ``apply`` return under its name is summed over the vertices, anew each round;
            MIN, of int64: the least of it, INF where no vertex said any; None: only ``step`` writes it.
        keep: with ADD: the sum goes on over rounds.
    """

    dtype: Any
    init: int | float = 0
    reduce: Monoid | None = None
    keep: bool = False

    def __post_init__(self):
        name = np.dtype(self.dtype).name
        if name not in ("int64", "float64"):
            raise UsageError(f"a global cannot be {name}; int64 and float64 are known")
        if self.reduce not in (None, ADD, MIN):
            raise UsageError(f"a global reduces with ADD, with MIN or not at all, got {self.reduce!r}")
        if self.reduce is MIN and name != "int64":
            raise UsageError(f"a global reduces with MIN in int64, got {name}; floats can only be added up")
        if self.reduce is MIN and self.keep:
            raise UsageError("keep=True is for sums; let step(self, g) hand the least so far on to another global")
        object.__setattr__(self, "dtype", name)

    @property
    def infinity(self) -> int | float:
        """What INF stands for beside this global: its largest value."""
        return MIN.identity(self.dtype)


class Program:
    """Base of every program; subclass it, declare fields, globals and annotated parameters, write the texts.

    ``v``, ``u`` give a vertex's fields, ``id`` and ``out_degree``; ``e.weight`` the edge's weight (1 where the graph
    has none); ``g`` the globals, ``n``, ``m``, ``round`` (from 0) and ``active`` (vertices of the next round).

    Class attributes:
        directions: ("push", "pull"): which way edges may be walked.
        domain: CHANGED: ``apply`` runs on vertices that got a proposal; ALL: on every vertex, every round, and all
            edges count as active.
        monotone: a vertex whose ``cond`` is false never wants proposals again.
        kernel: the name of hand-written rounds that come to the same fixed point sooner; a backend that has them may
            run them instead, where no direction is asked for. "components": every edge, of a graph that is not
            directed, hands on the smallest of one MIN field; "cores", "shells", "estimates": see
            ``algorithms/kcore.py``.
        sparse: most edges never propose anything but the identity of ``reduce``, and which do is a matter of fields
            that no round writes: a backend may leave the others out, as if nothing had been proposed.
        gathers: the first round pulls where more than half of all edges leave its frontier; may be set on an instance.
        heaviest: an edge that weighs more never proposes anything but the identity of ``reduce``, so a backend may
            leave it out; see :meth:`lightened`.
        widens: several buckets of ``priority`` may be opened at once while their rounds are small; may be set on an
            instance, where the width of a bucket was asked for.
        way: how rounds are to be walked, where an algorithm has variants; see :meth:`walked`.
    """

    directions: ClassVar[tuple[str, ...]] = ("push", "pull")
    domain: ClassVar[str] = CHANGED
    monotone: ClassVar[bool] = False
    kernel: ClassVar[str | None] = None
    sparse: ClassVar[bool] = False
    gathers = False
    heaviest: ClassVar[float | None] = None
    widens = True
    traversal: ClassVar[Traversal | None] = None

    def __init__(self, **parameters: Any):
        known = self.defaults()
        for name, value in parameters.items():
            if name not in known:
                raise unknown(f"parameter of {type(self).__name__}", name, known)
            known[name] = value
        self.parameters: dict[str, Any] = known
        for name, value in known.items():
            setattr(self, name, value)
        self.fields: dict[str, Field] = self._declared(Field)
        self.globals: dict[str, Global] = self._declared(Global)

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Annotated parameters and their defaults, base classes first."""
        found: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            for name, kind in inspect.get_annotations(base).items():
                if "ClassVar" not in str(kind):
                    found[name] = getattr(cls, name, None)
        return found

    @classmethod
    def _declared(cls, kind: type) -> dict:
        found = {}
        for base in reversed(cls.__mro__):
            found.update({name: value for name, value in vars(base).items() if isinstance(value, kind)})
        taken = set(found) & {*BUILTINS, "active", "n", "m", "round", "done", "whole"}
        if taken:
            raise UsageError(f"{cls.__name__} names a {kind.__name__.lower()} {taken.pop()!r}, which is built in")
        return found

    def with_traversal(self, traversal: Traversal | None) -> Program:
        """Return a copy whose rounds use this traversal; None: that of other programs."""
        made = copy.copy(self)
        made.__dict__["traversal"] = traversal
        return made

    def with_light_edges(self, heaviest: float | None) -> Program:
        """Return a copy whose proposing edges weigh at most ``heaviest``."""
        made = copy.copy(self)
        made.__dict__["heaviest"] = heaviest
        return made

    def retype(self, **dtypes: Any) -> Program:
        """This program with other dtypes for some fields: what depends on the graph's weights."""
        out = copy.copy(self)
        out.fields = dict(self.fields)
        for name, dtype in dtypes.items():
            if name not in self.fields:
                raise unknown(f"field of {type(self).__name__}", name, self.fields)
            old = self.fields[name]
            out.fields[name] = replace(old, dtype=dtype)
        return out

    def init(self, v, g) -> Mapping[str, Any]:
        """Initial fields, ``active`` (in the first frontier), and parts of globals.

        ``active`` may be left out under ``domain = ALL`` only. That no vertex is active is not an error.
        """
        raise UsageError(f"{type(self).__name__} has no init(self, v, g)")

    def edge(self, u, e, v) -> Mapping[str, Any]:
        """Proposals for ``v``, of an edge u → v whose source is active. Pure: it returns, it never writes.

        May take ``g`` as a fourth argument.
        """
        raise UsageError(f"{type(self).__name__} has no edge(self, u, e, v)")

    def has(self, text: str) -> bool:
        """Whether a subclass wrote this text."""
        return getattr(type(self), text, None) is not getattr(Program, text, None)
