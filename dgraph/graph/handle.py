"""Graph: the user's handle to a distributed graph."""

from __future__ import annotations

import numpy as np
from numba import njit

from dgraph.comm import Comm, communicator
from dgraph.errors import DataError, UsageError
from dgraph.graph.adopt import check_mirrored
from dgraph.graph.arrays import as_ids, as_weights, check_finite, check_range
from dgraph.graph.block import EdgeBlock, LoadFacts, gid_type
from dgraph.graph.clean import RawEdges, assemble, symmetrised, tally
from dgraph.graph.fingerprint import fingerprint
from dgraph.graph.ids import ConsecutiveIds
from dgraph.graph.load import LoadOptions, describe, load


class Graph:
    """A graph spread over the ranks of ``comm``; every method is collective.

    Attributes:
        block: this rank's rows.
        comm: the ranks.
    """

    def __init__(self, block: EdgeBlock, comm: Comm):
        self.block, self.comm = block, comm
        self._locals: dict = {}
        self._undirected: Graph | None = None
        self._fingerprint: str | None = None

    @classmethod
    def load(cls, spec: str, *, comm=None, **options) -> Graph:
        """The graph of a file or a generator ``NAME:SIZE``.

        Args:
            comm: None (all ranks), a :class:`Comm` or an mpi4py communicator.
            options: the fields of :class:`~dgraph.graph.load.LoadOptions`, such as ``directed=False``.
        """
        comm = communicator(comm)
        return cls(load(spec, comm, LoadOptions(**options)), comm)

    @classmethod
    def from_edges(
        cls,
        src,
        dst,
        weights=None,
        *,
        n: int | None = None,
        directed: bool = True,
        comm=None,
        keep_loops: bool = False,
        keep_parallel: bool = False,
        sparse_ids: bool = False,
    ) -> Graph:
        """The graph of edges ``src[i] → dst[i]``; each rank passes its share, in any order.

        Args:
            src, dst: vertex ids, integers, shape (edges here,).
            weights: real numbers, shape (edges here,), on all ranks that have edges; None: every edge weighs 1.
            n: vertices, with ids 0 .. n-1; None: 0 .. the largest id.
            directed: False: each edge goes both ways.
            keep_loops, keep_parallel: keep self-loops; keep parallel edges, else the smallest weight stays.
            sparse_ids: the vertices are the ids that occur, and ``n`` is not needed.

        Raises:
            UsageError: shapes or dtypes that are none of the above.
            DataError: an id that is negative or not below n, a weight that is NaN or infinite, with its index.
        """
        comm = communicator(comm)
        with comm.together():
            src, dst = as_ids(src, "src"), as_ids(dst, "dst")
            weights = None if weights is None else as_weights(weights, "weights")
            for name, array in (("dst", dst), ("weights", weights)):
                if array is not None and array.size != src.size:
                    raise UsageError(f"{name} has {array.size} values, src {src.size}; pass one value an edge in each")
        weights = _agreed_weights(weights, src.size, comm)
        wide = comm.largest(max(src.itemsize, dst.itemsize))
        ids = np.dtype(np.int64 if wide == 8 else np.uint32)
        src, dst = src.astype(ids, copy=False), dst.astype(ids, copy=False)
        if not sparse_ids:
            n = _agreed_size(n, src, dst, comm)
        facts = LoadFacts("edges")
        raw = RawEdges(src, dst, weights, directed, None if sparse_ids else n, facts=facts)
        options = LoadOptions(keep_loops=keep_loops, keep_parallel=keep_parallel, sparse_ids=sparse_ids)
        return cls(assemble(raw, comm, options), comm)

    @classmethod
    def from_csr(cls, offsets, targets, weights=None, *, directed: bool = True, comm=None) -> Graph:
        """The graph of rows of targets; each rank passes consecutive rows, rank 0 the first.

        Without a copy where offsets are int64, targets int32 or uint32, every row ascends and has neither loop nor
        repetition on any rank; else loops are dropped, parallel edges merged, rows sorted and spread anew.

        Args:
            offsets: shape (rows here + 1,), from 0.
            targets: shape (arcs here,), ids in the whole graph.
            weights: shape (arcs here,), real numbers, or None on every rank.
            directed: False: both arcs of every edge are among the rows, with the same weight (this is checked).
        """
        comm = communicator(comm)
        with comm.together():
            offsets = np.asarray(offsets)
            if offsets.ndim != 1 or offsets.size == 0 or offsets.dtype.kind not in "iu":
                raise UsageError("offsets: pass a 1-D array of integers, one more than there are rows")
            offsets = np.ascontiguousarray(offsets, np.int64)
            targets = as_ids(targets, "targets")
            weights = None if weights is None else as_weights(weights, "weights")
            if weights is not None and weights.size != targets.size:
                raise UsageError(f"weights has {weights.size} values, targets {targets.size}; pass one an arc")
            if offsets[0] != 0 or offsets[-1] != targets.size or (np.diff(offsets) < 0).any():
                raise DataError(
                    f"offsets go from {offsets[0]} to {offsets[-1]} over {targets.size} targets; "
                    "they ascend from 0 to the number of targets; correct them"
                )
        weights = _agreed_weights(weights, targets.size, comm)
        first, n = comm.before(offsets.size - 1), comm.total(offsets.size - 1)
        with comm.together():
            if n == 0:
                raise UsageError("offsets: no row on any rank; a graph has at least one vertex")
            check_range(targets, 0, n - 1, "targets")
            clean = _is_clean(offsets, targets, first)
        targets = targets.astype(gid_type(n), copy=False)
        block = EdgeBlock(n, 0, 0, first, offsets, targets, weights, directed, ConsecutiveIds(n), LoadFacts("csr"))
        if comm.total(not clean):
            raw = RawEdges(
                block.sources(), targets, weights, directed, n, mirrored=not directed, facts=LoadFacts("csr")
            )
            block = assemble(raw, comm, LoadOptions())
        else:
            tally(block, comm)
        if not directed:
            check_mirrored(block, comm, "csr")
        return cls(block, comm)

    @property
    def n(self) -> int:
        """Vertices."""
        return self.block.n

    @property
    def m(self) -> int:
        """Edges; an undirected edge counts once."""
        return self.block.m

    @property
    def directed(self) -> bool:
        return self.block.directed

    def fingerprint(self) -> str:
        """16 hexadecimal digits that equal graphs share on any number of ranks: vertices, arcs by gid, weights."""
        if self._fingerprint is None:
            self._fingerprint = fingerprint(self.block, self.comm)
        return self._fingerprint

    def undirected(self) -> Graph:
        """This graph with every arc going both ways, the smaller weight of the two; itself where it is undirected."""
        if not self.directed:
            return self
        if self._undirected is None:
            self._undirected = Graph(symmetrised(self.block, self.comm), self.comm)
        return self._undirected

    def __repr__(self) -> str:
        return f"<Graph {describe(self.block)}>"


def _agreed_weights(weights: np.ndarray | None, edges: int, comm: Comm) -> np.ndarray | None:
    """Weights of one dtype on all ranks; a rank without edges need not have any."""
    told = comm.allgather_json([None if weights is None else weights.dtype.name, edges])
    dtypes = [np.dtype(name) for name, _ in told if name]
    if not dtypes:
        return None
    for rank, (name, count) in enumerate(told):
        if name is None and count:
            raise UsageError(f"rank {rank} passed no weights, others did; pass weights on every rank, or on none")
    with comm.together():
        weights = np.empty(0, dtypes[0]) if weights is None else weights
        weights = weights.astype(np.result_type(*dtypes), copy=False)
        check_finite(weights, "weights")
    return weights


def _agreed_size(n: int | None, src: np.ndarray, dst: np.ndarray, comm: Comm) -> int:
    told = comm.allgather_json(None if n is None else int(n))
    if any(value != told[0] for value in told):
        raise UsageError(f"n is {told} on the ranks; pass the same n on all")
    if n is not None:
        if n < 1:
            raise UsageError(f"n is {n}; a graph has at least one vertex")
        return int(n)
    largest = comm.largest(max(int(array.max()) if array.size else -1 for array in (src, dst)))
    edges = comm.total(src.size)
    if largest < 0:
        raise UsageError("no edge on any rank, so the number of vertices is not known; pass n")
    if largest + 1 > 1000 * edges + 10**6:
        raise DataError(
            f"ids go up to {largest}, but there are only {edges} edges; pass sparse_ids=True, "
            "and the ids that occur are the vertices; or n, to have them all"
        )
    return largest + 1


@njit(cache=True)
def _is_clean(offsets, targets, first):
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if np.int64(targets[i]) == row + first or (i > offsets[row] and targets[i] <= targets[i - 1]):
                return False
    return True
