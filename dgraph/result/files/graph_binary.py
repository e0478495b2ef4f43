"""Write graphs as binary rows: GAPBS, Galois, scipy. Every rank writes its rows at their offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dgraph._support.threads import in_order
from dgraph.comm import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.clean import assemble
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.rows import sources_of
from dgraph.result.files import npz
from dgraph.result.files.shared_file import SharedFile

STEP = 1 << 18
"""Arcs written at a time."""


def save_sg(file: SharedFile, block: EdgeBlock) -> None:
    """Write GAPBS's binary graph; a directed one with the rows of its reverse."""
    _save_gapbs(file, block, np.dtype([("v", "<i4")]))


def save_wsg(file: SharedFile, block: EdgeBlock) -> None:
    """Write GAPBS's binary graph with 32-bit integer weights, 1 if the graph has none."""
    _save_gapbs(file, block, np.dtype([("v", "<i4"), ("w", "<i4")]))


def _save_gapbs(file: SharedFile, block: EdgeBlock, record: np.dtype) -> None:
    comm, threads = file.comm, rank_threads(file.comm)
    if block.n > 1 << 31:
        raise UsageError(f"GAPBS's ids have 31 bits, and there are {block.n} vertices: write .npz or Galois's .gr")
    head = np.uint8(block.directed).tobytes() + np.array([block.arcs, block.n], "<i8").tobytes()
    file.write(0, [head] if comm.rank == 0 else [])

    def write_offsets(part: EdgeBlock, begin: int) -> int:
        """Write the offsets of rows from byte ``begin`` on; return the byte of this rank's records; collective."""
        before = comm.before(part.targets.size)
        offsets = (part.offsets + before).astype("<i8", copy=False)
        file.write(begin + 8 * part.first, [offsets if comm.rank == comm.size - 1 else offsets[:-1]])
        return begin + 8 * (block.n + 1) + record.itemsize * before

    begin = write_offsets(block, len(head))
    if not block.directed:
        file.write(begin, _records(block, record, threads))
        return
    # Two threads keep up with the file system; with tasks of their own they do not wait behind those of the reverse.
    with file.beside(begin, _records(block, record, 2 if threads > 2 else 1)):
        turned = _reversed(block, comm)
    begin = write_offsets(turned, len(head) + 8 * (block.n + 1) + record.itemsize * block.arcs)
    file.write(begin, _records(turned, record, threads))


def _reversed(block: EdgeBlock, comm: Comm) -> EdgeBlock:
    """Return the rows of the reverse of a directed graph; collective."""
    sources = sources_of(block.offsets, block.first, block.targets.dtype, rank_threads(comm))
    arcs = RawEdges(block.targets, sources, block.weights, n=block.n)
    merging = not block.facts.duplicates_kept  # there is nothing to merge, and threads look for it
    turned = assemble(arcs, comm, LoadOptions(keep_loops=True, keep_parallel=not merging))
    if turned.arcs < block.arcs:
        turned = assemble(arcs, comm, LoadOptions(keep_loops=True, keep_parallel=True))
    return turned


def _records(block: EdgeBlock, record: np.dtype, threads: int) -> Iterator[np.ndarray]:
    def records(first: int) -> np.ndarray:
        part = np.empty(min(STEP, block.targets.size - first), record)
        part["v"] = block.targets[first : first + STEP]
        if "w" in (record.names or ()):
            part["w"] = 1 if block.weights is None else block.weights[first : first + STEP]
        return part.view(np.uint8)

    return in_order(records, range(0, block.targets.size, STEP), threads)


def save_galois(file: SharedFile, block: EdgeBlock) -> None:
    """Write Galois's binary graph: version 1, or 2 if ids need 64 bits; weights are its edge data."""
    comm, version = file.comm, 1 if block.n <= 1 << 32 else 2
    width = 0 if block.weights is None else block.weights.itemsize
    before = comm.before(block.targets.size)
    head = np.array([version, width, block.n, block.arcs], "<u8")
    file.write(0, [head] if comm.rank == 0 else [])
    file.write(32 + 8 * block.first, [(block.offsets[1:] + before).astype("<u8")])
    targets_at, padding = 32 + 8 * block.n, 4 * version * (block.arcs % 2)
    data_at = targets_at + 4 * version * block.arcs
    kind = np.dtype(f"<u{4 * version}")
    file.write(targets_at + kind.itemsize * before, _steps(block.targets, kind))
    file.write(data_at, [bytes(padding)] if comm.rank == 0 and padding else [])
    if block.weights is not None:
        kind = block.weights.dtype.newbyteorder("<")
        file.write(data_at + padding + width * before, _steps(block.weights, kind))


def _steps(values: np.ndarray, dtype: np.dtype) -> Iterator[np.ndarray]:
    same = values.dtype.kind in "iu" and dtype.kind in "iu" and values.itemsize == dtype.itemsize
    for first in range(0, values.size, STEP):
        piece = values[first : first + STEP]
        yield piece.view(dtype) if same else piece.astype(dtype, copy=False)


def save_scipy(file: SharedFile, block: EdgeBlock) -> None:
    """Write a scipy.sparse CSR matrix, as ``save_npz`` does uncompressed; booleans if there are no weights."""
    comm = file.comm
    before, threads = comm.before(block.targets.size), rank_threads(comm)
    ints = np.dtype(np.int32 if max(block.n, block.arcs) < 1 << 31 else np.int64)
    kind = np.dtype(bool) if block.weights is None else block.weights.dtype
    last, first = comm.rank == comm.size - 1, comm.rank == 0
    offsets = (block.offsets if last else block.offsets[:-1]) + before
    shape = np.array([block.n, block.n] if first else [], np.int64)
    values = _ones(block.targets.size) if block.weights is None else _steps(block.weights, kind)
    columns: list[tuple[str, np.dtype, tuple, int, Iterable[np.ndarray]]] = [
        ("indices", ints, (block.arcs,), before, _steps(block.targets, ints)),
        ("indptr", ints, (block.n + 1,), block.first, _steps(offsets, ints)),
        ("format", np.dtype("S3"), (), 0, [np.array([b"csr"])] if first else []),
        ("shape", np.dtype(np.int64), (2,), 0, [shape]),
        ("data", kind, (block.arcs,), before, values),
    ]
    archive: list[npz.Member] = []
    for name, dtype, extent, *_ in columns:
        archive.append(npz.member(name, dtype, extent, archive[-1].end if archive else 0))
    checksums = []
    for member, (_, dtype, _, start, pieces) in zip(archive, columns, strict=True):
        mine = np.zeros(2, np.int64)
        file.write(member.data + start * dtype.itemsize, npz.summed(pieces, mine, threads))
        checksums.append(npz.combined_checksum(member.head, comm.allgather(mine).tolist()))
    for member, checksum in zip(archive, checksums, strict=True):
        file.write(member.begin, [member.record(checksum)] if first else [])
    file.write(archive[-1].end, [npz.directory(archive, checksums)] if first else [])


def _ones(count: int) -> Iterator[np.ndarray]:
    for first in range(0, count, STEP):
        yield np.ones(min(STEP, count - first), bool)
