"""Size, findings, ids and fingerprint of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph._support.peer_names import descriptor_of, hint
from dgraph.comm import Comm, collective
from dgraph.graph.bases.shared_attribute import SharedAttribute
from dgraph.graph.block import EdgeBlock, GraphFacts, LoadFacts
from dgraph.graph.build.fingerprint import block_sum, local_sum, text
from dgraph.graph.ids import VertexIds


class _Named(type):
    """Class whose missing attributes are answered with what has their place."""

    if not TYPE_CHECKING:  # a checker knows the attributes

        def __getattr__(cls, name: str) -> Any:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}{hint(name)}")


class GraphIdentity(metaclass=_Named):
    """Size, findings, ids and fingerprint of a :class:`~dgraph.Graph`."""

    comm: Comm
    partitions: Any
    _known: EdgeBlock | GraphFacts
    _rows: Any
    _fingerprint = SharedAttribute()
    _arc_sum = SharedAttribute()

    if not TYPE_CHECKING:  # a checker knows the attributes

        def __getattr__(self, name: str) -> Any:
            if (own := descriptor_of(self, name)) is not None:
                return own.__get__(self, type(self))
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint(name)}")

    @property
    def block(self) -> EdgeBlock:
        """This rank's rows."""
        raise NotImplementedError

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self._known.n

    @property
    def m(self) -> int:
        """Number of edges; an undirected edge counts once."""
        return self._known.m

    @property
    def arcs(self) -> int:
        """Number of arcs, the entries of all rows; an undirected edge counts twice."""
        return self._known.arcs

    @property
    def directed(self) -> bool:
        """True if an edge goes one way."""
        return self._known.directed

    def __len__(self) -> int:
        return self.n

    def __bool__(self) -> bool:
        return True  # also without vertices

    def __getitem__(self, key: object) -> Any:
        raise TypeError(
            f"{type(self).__name__!r} object has no items; there is graph.neighbors(vertex), and graph.columns[name] "
            "for a column of the vertices"
        )

    def number_of_nodes(self) -> int:
        """Return :attr:`n`, as in NetworkX and cuGraph."""
        return self.n

    def number_of_edges(self) -> int:
        """Return :attr:`m`, as in NetworkX and cuGraph."""
        return self.m

    def is_directed(self) -> bool:
        """Return :attr:`directed`, as in NetworkX, cuGraph and igraph."""
        return self.directed

    @property
    def weight_type(self) -> np.dtype | None:
        """The dtype of the weights; None: every edge weighs 1."""
        return self._known.weight_type

    @property
    def facts(self) -> LoadFacts:
        """Findings of the load: loops, parallel edges, notes, warnings."""
        return self._known.facts

    @property
    def ids(self) -> VertexIds:
        """Translation between gids and original ids."""
        return self._known.ids

    def _hashed(self) -> str:
        rows = self._rows
        if rows is not None and rows.fingerprint:
            return rows.fingerprint
        return text(self.n, self.directed, self.arc_sum())

    def arc_sum(self) -> int:
        """Return the sum of arcs' hashes that the fingerprint is made of; collective."""
        if self._arc_sum is None:
            rows, ids = self._rows, self.ids
            if self.partitions and (rows is None or not ids.ascending):  # a changed graph
                local = next(iter(self.partitions.values())).local
                gids = local.gids if ids.ascending else ids.base.to_gid(local.original, self.comm)  # type: ignore[attr-defined]
                self._arc_sum = local_sum(local, gids, self.comm)
            else:
                self._arc_sum = block_sum(self.block, self.comm)
        return self._arc_sum

    @collective
    def fingerprint(self) -> str:
        """Return a hash of vertices, arcs by gid and weights: 16 hexadecimal digits, equal on any number of ranks."""
        if self._fingerprint is None:
            self._fingerprint = self._hashed()
        return self._fingerprint
