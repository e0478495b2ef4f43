"""SharedPartition: the partition of one run, and what its ranks find out together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from dgraph.comm import Comm, owner_directed
from dgraph.errors import DataError, UsageError
from dgraph.graph.halo import rows_of
from dgraph.graph.local import LocalGraph
from dgraph.graph.names import Names

T = TypeVar("T")

MOST_SPAN = 3_037_000_499
"""Largest number whose square fits 63 bits."""


class SharedPartition:
    """Partition of one run; all methods are collective.

    Attributes:
        local: this rank's partition.
        comm: the ranks.
        record: receiver of timings and choices.
        names: names of the vertices, where they have some.
    """

    def __init__(self, local: LocalGraph, comm: Comm, record: Any, names: Names | None):
        self.local, self.comm, self.record, self.names = local, comm, record, names

    @property
    def largest_degree(self) -> int:
        """Largest out-degree of the whole graph; collective."""
        return self.once("largest degree", lambda: self.largest(self.local.largest_degree))

    def degree_of(self, vertex: int) -> int:
        """Return the out-degree of a vertex, by original id; collective, unless the last call named the same."""
        degrees, lid = self.once("degrees", dict[int, int]), self.local.lid(vertex)
        if vertex not in degrees:
            degrees.clear()
            degrees[vertex] = self.total(0 if lid is None else self.local.degree_of(lid))
        return degrees[vertex]

    def mirrors_pull(self, local: LocalGraph) -> bool:
        """Return True if pulls on a partition read rows of mirrors on some rank; collective."""
        return self.once("mirrors pull", lambda: self.total(local.mirrors_pull), local) > 0

    def once(self, what: str, agree: Callable[[], T], local: LocalGraph | None = None) -> T:
        """Return what ``agree`` finds out of a partition (None: ``self.local``) at the first call; collective."""
        agreed = (local or self.local).out.agreed
        if what not in agreed:
            agreed[what] = agree()
        return agreed[what]

    @overload
    def total(self, value: int) -> int: ...

    @overload
    def total(self, value: float) -> float: ...

    def total(self, value: float) -> float:
        """Sum one number over ranks; integers stay integers, floats are added in rank order."""
        if isinstance(value, (int, np.integer)):
            return self.comm.total(int(value))
        return float(self.comm.allgather(np.array([value], np.float64)).sum())

    def largest(self, value: int) -> int:
        """Return the largest of one integer a rank."""
        return self.comm.largest(value)

    def rows(self, scope: str = "ghosts", order: str = "gid", **options: Any) -> Any:
        """Return rows with neighbours that other ranks own; see :func:`dgraph.graph.halo.rows_of`."""
        return rows_of(self.local, self.comm, scope, order, **options)

    def scatter(self, owners: np.ndarray, *columns: np.ndarray) -> list[np.ndarray]:
        """Send each row to its owner; see :func:`dgraph.comm.owner_directed.scatter`."""
        return owner_directed.scatter(self.comm, owners, *columns)

    def fetch(
        self, owners: np.ndarray, names: np.ndarray, look_up: Callable[[np.ndarray], tuple[np.ndarray, ...]]
    ) -> tuple[np.ndarray, ...]:
        """Return what the owners of names look up for them; see :func:`dgraph.comm.owner_directed.fetch`."""
        return owner_directed.fetch(self.comm, owners, names, look_up)

    def contract(
        self, keys: np.ndarray, *columns: np.ndarray, best: int = 0, owners: np.ndarray | None = None
    ) -> tuple[np.ndarray, ...]:
        """Reduce the rows of each key to one: sums, or the ``best`` row; see ``dgraph.comm.owner_directed.contract``.

        Args:
            keys: integers (rows,).
            columns: values of the rows.
            best: 0: add up each column; else keep the row whose first ``best`` columns are smallest.
            owners: rank that gets the row's key; None: any, the same for equal keys.
        """
        owners = keys % self.comm.size if owners is None else owners
        return owner_directed.contract(self.comm, owners, keys, *columns, best=best)

    def check_weights(self) -> None:
        """Refuse infinite weights, which a graph may have as long as no program reads them.

        Raises:
            DataError: names an edge, the same one on any number of ranks.
        """
        rows = self.local.out
        kind = rows.weight_type
        if kind is None or kind.kind != "f":
            return
        low, most, _ = rows.weight_range
        if self.once("infinite weights", lambda: self.total(not (np.isfinite(low) and np.isfinite(most)))):
            self.refuse_weights(lambda weights: ~np.isfinite(weights), "a weight that is used must be finite")

    def refuse_weights(self, wrong: Callable[[np.ndarray], np.ndarray], reason: str) -> None:
        """Raise the error that names the graph and the edge of lowest ids whose weight is ``wrong``.

        Args:
            wrong: weights → mask; at least one rank has such an edge.
            reason: the middle of the message.

        Raises:
            DataError: on every rank alike.
        """
        edge = self.local.lowest_edge(wrong, self.comm)
        if edge is not None:
            u, v, weight = edge
            name = self.record.facts["graph"].get("name", "graph")
            raise DataError(
                f"{name}: the edge {self.called(u)} → {self.called(v)} weighs {weight}; {reason}; correct the data, or "
                "give --weights (weights=)"
            )

    def called(self, vertex: int) -> int | str:
        """Return the name of a vertex, or its original id if vertices have no names; each rank passes the same id."""
        return vertex if self.names is None else self.names.of(np.array([vertex]), self.comm)[0]

    def _ids_below(self) -> int:
        """Return a number above all original ids, by which ids of edges count."""
        span = self.once("largest id", lambda: self.largest(self.local.largest_id)) + 1
        if span > MOST_SPAN:
            raise UsageError(
                f"e.id needs vertex ids below {MOST_SPAN}, and this graph has {span - 1}; number the vertices from 0"
            )
        return span

    def edge_ends(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of edges by their ``e.id``: original ids, the smaller first if edges have no direction."""
        return np.divmod(ids, self._ids_below())
