"""Graph: the user's handle to a distributed graph."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dgraph.comm import Comm, collective, communicator
from dgraph.errors import DataError, UsageError
from dgraph.graph.block import EdgeBlock, GraphFacts, LoadFacts, gid_type
from dgraph.graph.build.array_input import ROUNDED, as_ids, as_weights, check_range, rounds_weights
from dgraph.graph.build.clean import RawEdges, assemble, count_loops, note_found, symmetrised, tally
from dgraph.graph.build.collective_checks import agreed_size, agreed_weights, is_clean
from dgraph.graph.build.fingerprint import fingerprint
from dgraph.graph.build.rows_from_file import check_mirrored
from dgraph.graph.ids import ConsecutiveIds, VertexIds
from dgraph.graph.load import describe, load, named
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.local import LocalGraph
from dgraph.graph.rows import merge_parallel
from partitioning.store import is_store


class Partitioned(NamedTuple):
    """This rank's part of a graph, and how it came about: see :class:`partitioning.Placement`."""

    policy: str
    reason: str
    warning: str
    local: LocalGraph


class Graph:
    """A graph spread over the ranks of ``comm``; every method is collective.

    Attributes:
        comm: the ranks.
    """

    stored = False
    """Whether it comes from a store, with a partition that may be had without placing and building."""
    device: Any = None
    """This rank's GPU, where the graph was built on GPUs: no other can work on it."""
    opener: ClassVar[Callable[..., Graph]]
    """What opens a store; ``stored_graph.py``, which the public name of this class imports, sets it."""
    held: Any = None
    """The backend that has it on this rank's GPU since an earlier run, for the next."""

    def __init__(self, block: EdgeBlock, comm: Comm):
        self.comm = comm
        self._rows = block
        self._begin(block, None)

    def _begin(self, known: EdgeBlock | GraphFacts, fingerprint: str | None) -> None:
        self._known = known
        self._locals: dict[str, Partitioned] = {}
        self._undirected: Graph | None = None
        self._fingerprint = fingerprint

    @classmethod
    @collective
    def load(cls, spec: str | os.PathLike, *, comm=None, **options) -> Graph:
        """The graph of a file, a store, or a generator ``NAME:SIZE``.

        Args:
            comm: None (all ranks), a :class:`Comm` or an mpi4py communicator.
            options: the fields of :class:`~dgraph.graph.load_options.LoadOptions`, such as ``directed=False``.
        """
        comm, spec = communicator(comm), named(spec)
        if comm.bcast_json(is_store(spec)):
            return cls.open(spec, comm=comm, **options)
        return cls(load(spec, comm, LoadOptions(**options)), comm)

    @classmethod
    @collective
    def open(cls, path: str | os.PathLike, *, comm=None, **options) -> Graph:
        """The graph of a store (:meth:`save_store`), on any number of ranks: see ``docs/partitioning.md``.

        Args:
            options: as of :meth:`load`; ``verify=False`` leaves checksums unchecked.

        Raises:
            DataError: the folder is no store, or not as it was written: the text names the file and the block.
        """
        return Graph.opener(path, communicator(comm), LoadOptions(**options))

    @collective
    def save_store(
        self,
        path: str | os.PathLike,
        *,
        policy: str = "auto",
        parts: int | None = None,
        chunks: int | None = None,
        overwrite: bool = False,
    ) -> dict:
        """Partition the graph and write the parts to a folder, which :meth:`open` and :meth:`load` open.

        Args:
            policy: ``NAME[,option=value…]``.
            parts: how many; None: one a rank.
            chunks: into how many pieces at least that may go to different ranks; None: four a part.
            overwrite: replace a store of that name.

        Returns:
            The figures of :func:`partitioning.quality`.

        Raises:
            UsageError: the policy cannot place the graph, or ``path`` exists.
            OutputError: the system refused on some rank; then nothing is left.
        """
        import partitioning
        from dgraph.graph.stored.write import write

        try:
            placement = partitioning.plan(policy, self.block, parts or self.comm.size, self.comm)
        except partitioning.PolicyError as refused:
            raise UsageError(str(refused)) from refused
        figures = partitioning.quality(self.block, placement, self.comm)
        write(
            Path(path), self.block, placement, self.comm,
            fingerprint=self.fingerprint(), quality=figures, chunks=chunks, overwrite=overwrite,
        )  # fmt: skip
        return figures

    @classmethod
    @collective
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
            DataError: an id that is negative or not below n, a weight that is NaN, with its index.
        """
        comm = communicator(comm)
        with comm.together():
            src, dst = as_ids(src, "src"), as_ids(dst, "dst")
            given, weights = weights, None if weights is None else as_weights(weights, "weights")
            for name, array in (("dst", dst), ("weights", weights)):
                if array is not None and array.size != src.size:
                    raise UsageError(f"{name} has {array.size} values, src {src.size}; pass one value an edge in each")
        notes = [ROUNDED] if comm.total(rounds_weights(given, weights)) else []
        weights = agreed_weights(weights, src.size, comm)
        wide = comm.largest(max(src.itemsize, dst.itemsize))
        ids = np.dtype(np.int64 if wide == 8 else np.uint32)
        src, dst = src.astype(ids, copy=False), dst.astype(ids, copy=False)
        if not sparse_ids:
            n = agreed_size(n, src, dst, comm)
        facts = LoadFacts("edges", notes=notes)
        raw = RawEdges(src, dst, weights, directed, None if sparse_ids else n, facts=facts)
        options = LoadOptions(keep_loops=keep_loops, keep_parallel=keep_parallel, sparse_ids=sparse_ids)
        return cls(assemble(raw, comm, options), comm)

    @classmethod
    @collective
    def from_csr(
        cls,
        offsets,
        targets,
        weights=None,
        *,
        directed: bool = True,
        comm=None,
        keep_loops: bool = False,
        keep_parallel: bool = False,
    ) -> Graph:
        """The graph of rows of targets; each rank passes consecutive rows, rank 0 the first.

        Without a copy where offsets are int64, targets int32 or uint32, every row ascends (equal targets by their
        weights) and has no loop or repetition that is not kept, on any rank; else loops are dropped, parallel edges
        merged, rows sorted and spread anew.

        Args:
            offsets: shape (rows here + 1,), from 0.
            targets: shape (arcs here,), ids in the whole graph.
            weights: shape (arcs here,), real numbers, or None on every rank.
            directed: False: both arcs of every edge are among the rows, with the same weight (this is checked).
            keep_loops, keep_parallel: keep self-loops; keep parallel edges, else the smallest weight stays.
        """
        comm = communicator(comm)
        with comm.together():
            offsets = np.asarray(offsets)
            if offsets.ndim != 1 or offsets.size == 0 or offsets.dtype.kind not in "iu":
                raise UsageError("offsets: pass a 1-D array of integers, one more than there are rows")
            offsets = np.ascontiguousarray(offsets, np.int64)
            targets = as_ids(targets, "targets")
            given, weights = weights, None if weights is None else as_weights(weights, "weights")
            if weights is not None and weights.size != targets.size:
                raise UsageError(f"weights has {weights.size} values, targets {targets.size}; pass one an arc")
            if offsets[0] != 0 or offsets[-1] != targets.size or (np.diff(offsets) < 0).any():
                raise DataError(
                    f"offsets go from {offsets[0]} to {offsets[-1]} over {targets.size} targets; "
                    "they ascend from 0 to the number of targets; correct them"
                )
        facts = LoadFacts("csr", notes=[ROUNDED] if comm.total(rounds_weights(given, weights)) else [])
        weights = agreed_weights(weights, targets.size, comm)
        first, n = comm.before(offsets.size - 1), comm.total(offsets.size - 1)
        with comm.together():
            if n == 0:
                raise UsageError("offsets: no row on any rank; a graph has at least one vertex")
            check_range(targets, 0, n - 1, "targets")
            clean = is_clean(offsets, targets, weights, first, keep_loops, keep_parallel)
        targets = targets.astype(gid_type(n), copy=False)
        block = EdgeBlock(n, 0, 0, first, offsets, targets, weights, directed, ConsecutiveIds(n), facts)
        if comm.total(not clean):
            raw = RawEdges(block.sources(), targets, weights, directed, n, mirrored=not directed, facts=facts)
            block = assemble(raw, comm, LoadOptions(keep_loops=keep_loops, keep_parallel=keep_parallel))
        else:
            tally(block, comm)
            *_, equal, equal_loops = merge_parallel(offsets, targets, None, first, keep=True)
            loops = count_loops(offsets, targets, first)
            note_found(block.facts, loops, equal, equal_loops, 1 if directed else 2, comm)
            block.facts.loops_kept, block.facts.duplicates_kept = keep_loops, keep_parallel
        if not directed:
            check_mirrored(block, comm, "csr")
        return cls(block, comm)

    @property
    def block(self) -> EdgeBlock:
        """This rank's rows."""
        return self._rows

    @property
    def evidence(self) -> Any:
        """What certificates are shown (``dgraph.validate``): the rows, as they were loaded."""
        return self.block

    @property
    def n(self) -> int:
        """Vertices."""
        return self._known.n

    @property
    def m(self) -> int:
        """Edges; an undirected edge counts once."""
        return self._known.m

    @property
    def arcs(self) -> int:
        """Entries of all rows; an undirected edge counts twice."""
        return self._known.arcs

    @property
    def directed(self) -> bool:
        return self._known.directed

    @property
    def weight_type(self) -> np.dtype | None:
        """The dtype of the weights; None: every edge weighs 1."""
        return self._known.weight_type

    @property
    def facts(self) -> LoadFacts:
        """What the load found."""
        return self._known.facts

    @property
    def ids(self) -> VertexIds:
        """gid ↔ original id."""
        return self._known.ids

    @collective
    def hub(self) -> int | str:
        """The vertex with most out-edges, by original id, or by its name if it has one; the first of several."""
        degrees = np.diff(self.block.offsets)
        row = int(np.argmax(degrees)) if degrees.size else 0
        mine = np.array([degrees[row] if degrees.size else -1, self.block.first + row], np.int64)
        found = self.comm.allgather(mine)
        number = self.ids.to_original(found[np.argmax(found[:, 0]), 1:], self.comm)
        return int(number[0]) if self.ids.names is None else self.ids.names.of(number, self.comm)[0]

    def opened(self, policy: str) -> Partitioned | None:
        """A store's partition, where the graph comes from one and ``policy`` allows; collective."""
        return None

    def _hashed(self) -> str:
        return fingerprint(self.block, self.comm)

    @collective
    def fingerprint(self) -> str:
        """16 hexadecimal digits that equal graphs share on any number of ranks: vertices, arcs by gid, weights."""
        if self._fingerprint is None:
            self._fingerprint = self._hashed()
        return self._fingerprint

    @collective
    def undirected(self) -> Graph:
        """This graph with every arc going both ways, the smaller weight of the two; itself where it is undirected."""
        if not self.directed:
            return self
        if self._undirected is None:
            self._undirected = Graph(symmetrised(self.block, self.comm), self.comm)
        return self._undirected

    def __repr__(self) -> str:
        return f"<Graph {describe(self)}>"
