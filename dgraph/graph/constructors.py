"""Graphs of data in memory: the class methods of ``Graph`` that begin with ``from_``; here those of arrays."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dgraph._support.arguments import flag
from dgraph._support.threads import copied
from dgraph.comm import collective, communicator
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import DataError, UsageError
from dgraph.graph.block import EdgeBlock, LoadFacts, gid_type
from dgraph.graph.build.array_input import as_ids, check_range, host_array
from dgraph.graph.build.clean import assemble, note_found, tally
from dgraph.graph.build.clean_kernels import count_loops
from dgraph.graph.build.collective_checks import is_clean, unify_weights
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.build.rows_from_file import RawRows, check_mirrored
from dgraph.graph.devices import Device
from dgraph.graph.ids import ConsecutiveIds
from dgraph.graph.inputs.attribute_values import kept_columns
from dgraph.graph.inputs.edge_arrays import edges_of, ends_of
from dgraph.graph.inputs.matrices import matrix_rows
from dgraph.graph.inputs.table_constructors import MERGING, TableConstructors
from dgraph.graph.inputs.weight_values import shared_notes, weight_values
from dgraph.graph.kept_rules import named_columns, shared_rules
from dgraph.graph.load_options import LoadOptions, options_of
from dgraph.graph.rows import merge_parallel


class Constructors(TableConstructors):
    """Class methods of :class:`Graph` that make graphs of data in memory. All are collective.

    On several ranks each rank passes its own part of the edges; a rank without a part passes None, or no rows. The
    order of the edges is that of the ranks.
    """

    @classmethod
    @collective
    def from_edges(
        cls,
        src,
        dst=None,
        weights=None,
        *,
        n: int | None = None,
        directed: bool = True,
        policy: str = "auto",
        device: Device = "auto",
        comm=None,
        keep_loops: bool = False,
        keep_parallel: bool = False,
        sparse_ids: bool = False,
        merge: str = "min",
        vertices=None,
        keep=None,
    ) -> Self:
        """Make the graph of edges ``src[i] → dst[i]``; each rank passes its share, in any order.

        Arrays of NumPy, lists, Series, Arrow arrays, and anything with DLPack (CuPy, PyTorch) are read without a copy
        where they are on the host and their layout allows.

        Args:
            src: vertices, integers from 0 or non-empty strings, shape (edges here,): ``from_edges(*pairs.T)``.
            dst: as ``src``; None: ``src`` has pairs of vertices, shape (edges here, 2).
            weights: real numbers, shape (edges here,), on all ranks that have edges; None: every edge weighs 1.
            n: vertices, with ids 0 .. n-1; None: 0 .. the largest id. Not for strings.
            directed: False: each edge goes both ways.
            policy: as of :meth:`load`.
            device: as of :meth:`load`.
            comm: as of :meth:`load`.
            keep_loops: keep self-loops.
            keep_parallel: keep parallel edges.
            sparse_ids: the vertices are the ids that occur, and ``n`` is not needed; always so for strings.
            merge: weight of the edge that stands for parallel ones: "min", "max", "sum", "first" or "count", see
                :class:`~dgraph.graph.load_options.LoadOptions`.
            vertices: further vertices, such as isolated ones; as ``src``, of any shape (k,).
            keep: attributes of the edges: name → values, shape (edges here,), or a pair (values, rule), see
                :meth:`from_pandas`; None on a rank without edges.

        Raises:
            UsageError: shapes or dtypes that are none of the above, such as floats as ids; integers on one side and
                strings on the other.
            DataError: an id that is missing, negative or not below n, a name that is empty or has more than 255 bytes,
                a weight that is missing or NaN, with its index.
        """
        comm = communicator(comm)
        options = LoadOptions(keep_loops=keep_loops, keep_parallel=keep_parallel, sparse_ids=sparse_ids, merge=merge)
        with comm.together():
            columns, rules = named_columns(keep)
            if src is not None and dst is None:
                src, dst = ends_of(src, "src without dst")
        rules = shared_rules(rules, comm)
        raw = edges_of(src, dst, weights, vertices, n=n, directed=directed, sparse_ids=sparse_ids, comm=comm)
        raw.attributes = kept_columns(columns, rules, raw.src.size, comm)
        return cls._of_listed(raw, comm, options, policy, device)

    @classmethod
    @collective
    def from_csr(
        cls,
        offsets,
        targets,
        weights=None,
        *,
        directed: bool = True,
        policy: str = "auto",
        device: Device = "auto",
        comm=None,
        keep_loops: bool = False,
        keep_parallel: bool = False,
        merge: str = "min",
    ) -> Self:
        """Make the graph of rows of targets; each rank passes consecutive rows, rank 0 the first.

        The graph has copies of the arrays: they may change later. Rows stay as they are where every row ascends (equal
        targets by their weights) and has no loop or repetition that is not kept, on any rank; else loops are dropped,
        parallel edges merged, rows sorted and spread anew.

        Args:
            offsets: shape (rows here + 1,), from 0.
            targets: shape (arcs here,), ids in the whole graph.
            weights: shape (arcs here,), real numbers, or None on every rank.
            directed: False: both arcs of every edge are among the rows, with the same weight (this is checked).
            policy: as of :meth:`load`.
            device: as of :meth:`load`.
            comm: as of :meth:`load`.
            keep_loops: keep self-loops.
            keep_parallel: keep parallel edges.
            merge: as of :meth:`from_edges`.
        """
        comm = communicator(comm)
        options = LoadOptions(keep_loops=keep_loops, keep_parallel=keep_parallel, merge=merge)
        with comm.together():
            directed = flag("directed", directed)
            offsets = host_array(offsets, "offsets")
            if offsets.ndim != 1 or offsets.size == 0 or offsets.dtype.kind not in "iu":
                raise UsageError("offsets: pass a 1-D array of integers, one more than there are rows")
            offsets, targets = np.ascontiguousarray(offsets, np.int64), as_ids(targets, "targets")
            weights, note = weight_values(weights, "weights")
            if weights is not None and weights.size != targets.size:
                raise UsageError(f"weights has {weights.size} values, targets {targets.size}; pass one an arc")
            if offsets[0] != 0 or offsets[-1] != targets.size or (np.diff(offsets) < 0).any():
                raise DataError(
                    f"offsets go from {offsets[0]} to {offsets[-1]} over {targets.size} targets; "
                    "they ascend from 0 to the number of targets; correct them"
                )
        facts = LoadFacts("csr", notes=shared_notes(note, comm))
        weights = unify_weights(weights, targets.size, comm)
        first, n = comm.before(offsets.size - 1), comm.total(offsets.size - 1)
        with comm.together():
            if n == 0:
                raise UsageError("offsets: no row on any rank; a graph has at least one vertex")
        rows = RawRows(n, first, offsets, targets, weights, directed, facts=facts)
        graph, _ = cls.builder_of_listed(lambda: rows, targets.size, comm, policy, device, options)  # type: ignore[attr-defined]
        if graph is not None:
            return graph.on(policy, device)
        with comm.together():
            check_range(targets, 0, n - 1, "targets")
            kept = options.keep_loops, options.keep_parallel
            clean = options.merge == "min" and is_clean(offsets, targets, weights, first, *kept)
        targets = targets.astype(gid_type(n), copy=False)
        block = EdgeBlock(n, 0, 0, first, offsets, targets, weights, directed, ConsecutiveIds(n), facts)
        if comm.total(not clean):
            raw = RawEdges(block.sources(), targets, weights, directed, n, mirrored=not directed, facts=facts)
            block = assemble(raw, comm, options)
        else:
            threads = rank_threads(comm)
            block.offsets, block.targets = copied(offsets, threads), copied(targets, threads)
            block.weights = None if weights is None else copied(weights, threads)
            tally(block, comm)
            *_, equal, equal_loops = merge_parallel(offsets, targets, None, first, keep=True)
            arcs = 1 if directed else 2
            note_found(block.facts, count_loops(offsets, targets, first), equal, equal_loops, arcs, comm)
            block.facts.loops_kept, block.facts.duplicates_kept = kept
        if not directed:
            check_mirrored(block, comm, "csr")
        return cls._handle(block, comm, policy, device)

    @classmethod
    @collective
    def from_scipy(
        cls, matrix, *, directed: bool = True, policy: str = "auto", device: Device = "auto", comm=None, **options: Any
    ) -> Self:
        """Make the graph of a square sparse matrix: entry (i, j) is the arc i → j, and its value the weight.

        A matrix of booleans has no weights. The rows of a clean CSR matrix (see :meth:`from_csr`) are only copied.

        Args:
            matrix: a matrix or array of ``scipy.sparse``; on several ranks each rank's has the whole shape and its part
                of the entries, or is None.
            directed: False: the matrix is symmetric (this is checked), and holds each edge twice.
            policy: as of :meth:`load`.
            device: as of :meth:`load`.
            comm: as of :meth:`load`.
            options: ``keep_loops``, ``keep_parallel`` and ``merge`` of :meth:`from_edges`.

        Raises:
            UsageError: not a square sparse matrix.
            DataError: ``directed=False``, and the matrix is not symmetric.
        """
        comm, merging = communicator(comm), options_of(options, MERGING)
        with comm.together():
            directed = flag("directed", directed)
            rows = None if matrix is None else matrix_rows(matrix, rows=comm.size == 1)
        if comm.size == 1 and rows is not None and rows.offsets is not None:
            return cls.from_csr(
                rows.offsets, rows.targets, rows.weights,
                directed=directed, policy=policy, device=device, comm=comm, **options,
            )  # fmt: skip
        n = comm.largest(0 if rows is None else rows.n)
        with comm.together():
            if rows is not None and rows.n != n:
                raise UsageError(f"a matrix of {rows.n} rows here, of {n} on another rank; pass matrices of one shape")
            if n == 0:
                raise UsageError("the matrix has no row; a graph has at least one vertex")
        src, dst, weights = (None,) * 3 if rows is None else (rows.sources, rows.targets, rows.weights)
        raw = edges_of(
            src, dst, weights, None, n=n, directed=directed, sparse_ids=False, comm=comm, mirrored=not directed
        )
        raw.facts.name = "matrix"
        return cls._of_listed(raw, comm, merging, policy, device)
