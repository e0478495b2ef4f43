"""Forms of a graph that are made once and kept with it: undirected, simple, with an attribute as weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dgraph._support import arguments
from dgraph.comm import collective
from dgraph.errors import UsageError
from dgraph.graph.bases.graph_identity import GraphIdentity
from dgraph.graph.bases.shared_attribute import SharedAttribute
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.simplify import removable, simplified, symmetrised
from dgraph.graph.build.weighted_rows import weighted_rows
from dgraph.graph.load_options import MERGES


class GraphForms(GraphIdentity):
    """Undirected, simple and weighted forms of a :class:`~dgraph.Graph`."""

    policy: str
    device: Any
    _columns: Any
    on: Callable[..., Any]
    _of_rows: Callable[[EdgeBlock], Any]
    _undirected = SharedAttribute()
    """Rule of :meth:`undirected`, or "" where parallel edges are kept → the undirected form by it."""
    _simple = SharedAttribute()
    """(without loops, parallel edges merged) → the graph in that form, once a run has needed it."""
    _weighted = SharedAttribute()
    """Attribute of the edges → the graph with it as weights, once a run has needed it."""
    _undirected_from = SharedAttribute()
    """Makes the undirected form by ``min`` from that of the graph before a change; None: there is none."""

    @collective
    def undirected(self, merge: str | None = None) -> Any:
        """Return the graph with every arc in both directions; itself if undirected.

        Args:
            merge: weight of an edge of which both arcs, u → v and v → u, are there: "min", "max", "sum", "count", or
                "first". The order of the input is not kept: of two arcs, the first comes from the vertex that is first
                by id, or by degree with ``order="degree"``. None: the rule of the load, which gives the graph that
                the load makes with ``directed=False``; parallel edges that the load kept are kept.

        Raises:
            UsageError: another rule; or a rule for an undirected graph with parallel edges.
        """
        if merge is not None:
            arguments.choice("merge", merge, MERGES, "rule to merge parallel edges")
        facts = self.facts
        if not self.directed:
            if merge is not None and facts.duplicates_kept and facts.duplicates:
                raise UsageError(
                    f"merge={merge!r}: the graph is undirected, and keeps parallel edges; load it with "
                    f"merge={merge!r} and without keep_parallel"
                )
            return self
        rule = merge or ("" if facts.duplicates_kept else facts.merge)
        if rule not in self._undirected:
            make = None
            if rule == "min":
                make, self._undirected_from = self._undirected_from, None
            self._undirected[rule] = make() if make else self._symmetrised(rule)
        other = self._undirected[rule].on(self.policy, self.device)
        if self._columns:
            gids = np.arange(self.block.first, self.block.first + self.block.rows)
            other._columns = self._columns.moved(slice(None), gids, other.block, self.comm)
        return other

    def simplified(self, loops: bool, parallel: bool) -> Any:
        """Return the graph without ``loops``, and with one of ``parallel`` edges, of the smallest weight; collective.

        It is made once. A graph that has neither, by its facts, is its own simple form. Columns are left out.
        """
        form = removable(self.facts, loops, parallel)
        if not any(form):
            return self
        if form not in self._simple:
            self._simple[form] = self._simplified(*form)
        return self._simple[form].on(self.policy, self.device)

    @collective
    def with_weight(self, name: str) -> Any:
        """Return the graph with an attribute of its edges as weights; it is made once, and kept with this one.

        Parallel arcs that become one later, as by :meth:`undirected`, merge by the attribute's rule. "weight" also
        names the weights that the graph has, unless an attribute has this name.

        Raises:
            UsageError: the edges have no such attribute, or it is not a number.
            DataError: an edge lacks a value.
        """
        name = arguments.text("name", name)
        if name == "weight" and self.weight_type is not None and name not in self.edge_attributes:  # type: ignore[attr-defined]
            return self
        if name not in self._weighted:
            self._weighted[name] = self._of_rows(weighted_rows(self.block, name, self.comm))
        other = self._weighted[name].on(self.policy, self.device)
        other._columns = self._columns
        return other

    def _symmetrised(self, rule: str) -> Any:
        return self._of_rows(symmetrised(self.block, self.comm, keep_parallel=not rule, rule=rule or "min"))

    def _simplified(self, loops: bool, parallel: bool) -> Any:
        return self._of_rows(simplified(self.block, self.comm, loops, parallel))
