"""Writers of graph files, by suffix. A writer gets an open file and this rank's rows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import numpy as np

from dgraph._support.writable import check_writable
from dgraph.comm import Comm
from dgraph.errors import UsageError, unknown
from dgraph.graph.block import EdgeBlock
from dgraph.graph.edge_attributes import EdgeAttribute
from dgraph.graph.exports.edge_table import edge_columns
from dgraph.graph.ids import ConsecutiveIds
from dgraph.graph.rows import merge_parallel
from dgraph.result.files.graph_binary import save_galois, save_scipy, save_sg, save_wsg
from dgraph.result.files.graph_parquet import save_parquet
from dgraph.result.files.graph_text import save_csv, save_dimacs, save_el, save_mtx, save_txt, save_wel
from dgraph.result.files.save import save, unknown_format
from dgraph.result.files.shared_file import SharedFile, shared_file

Writer = Callable[[SharedFile, EdgeBlock], None]

GRAPH_WRITERS: Mapping[str, Writer] = {
    ".csv": save_csv,
    ".el": save_el,
    ".gr": save_dimacs,
    ".mtx": save_mtx,
    ".npz": save_scipy,
    ".parquet": save_parquet,
    ".sg": save_sg,
    ".txt": save_txt,
    ".wel": save_wel,
    ".wsg": save_wsg,
}
NAMED_FORMATS: Mapping[str, tuple[str, Writer]] = {"galois": (".gr", save_galois), "dimacs": (".gr", save_dimacs)}
"""Formats selected by name, because their suffix has another meaning, too."""

BY_ORIGINAL = (".csv", ".parquet", ".txt")
"""Formats that store original ids, or names but for .txt; the others number vertices from 0 or 1."""
WITH_COLUMNS = (".csv", ".parquet")
"""Formats that hold kept columns of edges."""
FROM_ONE = (".gr", ".mtx")
ENDS_ONLY = (".csv", ".parquet", ".txt", ".el", ".wel")
"""Formats that list vertices only as ends of edges."""
UNWEIGHTED = {".el": ".wel", ".sg": ".wsg"}
"""Formats without weights, and one that has them."""
UNREAD = re.compile(rb"\xef\xbb\xbf|.*[\r\n]", re.DOTALL)
"""Names that readers of lines refuse: with a byte order mark at the start, or a line break."""
BOTH_ARCS = (".gr", ".npz")
"""Formats without a direction flag that list both arcs of an undirected edge."""
ONE_WAY = (".csv", ".el", ".txt", ".wel")
"""Formats without a direction flag that list an undirected edge once."""


def save_graph(path: str | os.PathLike, block: EdgeBlock, comm: Comm, to: str | None = None) -> list[str]:
    """Write a graph into one file, all ranks at once; it appears complete or not at all. Collective.

    Args:
        path: its suffix determines the format.
        block: this rank's rows.
        comm: communicator of the ranks.
        to: ``galois`` or ``dimacs``, for a suffix with several formats.

    Returns:
        Notes for the user: how ids were numbered, and which information the format cannot hold.

    Raises:
        UsageError: an unknown format, or one that cannot hold this graph.
        OutputError: the system refused on some rank; the incomplete file is removed.
    """
    path = Path(path)
    with comm.together():
        writer = writer_for(path, to)
        refuse_weights(path, None if block.weights is None else block.weights.dtype)
        check_writable(path)
        refuse_names(path, block.ids.names is not None)
        refuse_kept(path, block.attributes)
    refuse_parallel(path, block, comm)
    if block.attributes or (block.ids.names is not None and path.suffix.lower() in BY_ORIGINAL):
        columns = edge_columns(block, comm, None, as_bytes=True)
        absent = {name: np.nan for name, values in columns.items() if values.dtype.kind == "f"}
        save(path, columns, comm, nullable=absent, metadata={"dgraph.directed": str(int(block.directed))})
    else:
        with shared_file(path, comm) as file:
            writer(file, block)
    return _notes(path, block, comm)


def refuse_weights(path: Path, kind: np.dtype | None) -> None:
    """Raise a UsageError if a format has no place for weights of this type; None: there are none."""
    suffix = path.suffix.lower()
    if kind is not None and suffix in UNWEIGHTED:
        raise UsageError(
            f"{suffix} has no place for weights: write {UNWEIGHTED[suffix]}, or drop them with --weights unit"
        )
    if kind is not None and suffix == ".wsg" and kind != np.int32:
        raise UsageError(
            f".wsg has 32-bit integer weights, and these are {kind}: write .npz or .wel, or make others "
            "with --weights LO..HI"
        )


def refuse_names(path: Path, named: bool) -> None:
    """Raise a UsageError if a format that stores original ids cannot hold names."""
    if named and path.suffix.lower() == ".txt":
        raise UsageError(f"{path}: vertices have names, which a line of .txt cannot hold; write .csv or .parquet")


def refuse_kept(path: Path, names: Collection[str]) -> None:
    """Raise a UsageError if a format cannot hold kept columns of edges."""
    if names and path.suffix.lower() not in WITH_COLUMNS:
        raise UsageError(
            f"{path}: {path.suffix} has no place for kept columns; write .csv, .parquet or a store (--to store), or "
            "leave --keep out"
        )


def refuse_parallel(path: Path, block: EdgeBlock, comm: Comm) -> None:
    """Raise a UsageError if a format that lists both arcs of an edge cannot hold parallel undirected edges; collective.

    A reader that keeps parallel edges would take both arcs for edges, and one that does not would merge all.
    """
    if block.directed or not block.facts.duplicates_kept or path.suffix.lower() not in BOTH_ARCS:
        return
    *_, equal, _ = merge_parallel(block.offsets, block.targets, None, block.first, keep=True)
    if parallel := comm.total(equal):
        raise UsageError(
            f"{path}: {parallel} arcs are of parallel edges, and {path.suffix} lists both arcs of an undirected edge, "
            "which a reader cannot tell from parallel edges; write .mtx, .wel, .csv or .parquet, or merge them"
        )


def writer_for(path: Path, to: str | None) -> Writer:
    """Return the writer of a file; raise a UsageError if there is none."""
    if to is None:
        if path.suffix.lower() not in GRAPH_WRITERS:
            raise unknown_format("graph format", path, GRAPH_WRITERS)
        return GRAPH_WRITERS[path.suffix.lower()]
    if to not in NAMED_FORMATS:
        raise unknown("format", to, NAMED_FORMATS)
    suffix, writer = NAMED_FORMATS[to]
    if path.suffix.lower() != suffix:
        raise UsageError(f"--to {to} writes files that end in {suffix}, and {path.name} does not; rename it")
    return writer


def _notes(path: Path, block: EdgeBlock, comm: Comm) -> list[str]:
    suffix, notes, base = path.suffix.lower(), [], int(path.suffix.lower() in FROM_ONE)
    if block.ids.names is not None and suffix == ".csv":
        notes.append("vertices have names: read it with --ids string (ids='string')")
        count = comm.total(sum(map(bool, map(UNREAD.match, block.ids.names.here.tolist()))))
        notes += [f"{count} names with line breaks or a byte order mark are not read from .csv"] * bool(count)
    elif block.ids.names is not None and suffix not in BY_ORIGINAL:
        notes.append("vertices are numbered in the order of their names, and the names are not in it")
    elif suffix not in BY_ORIGINAL and not (isinstance(block.ids, ConsecutiveIds) and block.ids.base == base):
        notes.append(f"vertices are numbered {base} .. {base + block.n - 1} in the order of their ids")
    if suffix == ".csv":
        broken = [name for name, column in block.attributes.items() if comm.largest(_has_breaks(column))]
        notes += [f"text of {name} has line breaks, with which it is not read from .csv" for name in broken]
    if not block.directed and suffix in ONE_WAY:
        notes.append("each edge is listed once: read it with --undirected (directed=False)")
    if not block.directed and suffix in BOTH_ARCS:
        notes.append("both arcs of every edge are listed: it is read as a directed graph unless --undirected is given")
    lost = block.facts.isolated if suffix in BY_ORIGINAL else _isolated_end(block, comm)
    if lost and suffix in ENDS_ONLY:
        notes.append(f"{lost} vertices without an edge have no line, and are not in it")
    return notes


def _has_breaks(column: EdgeAttribute) -> bool:
    """Return True if a text of this rank's arcs has a line break."""
    if column.words is None:
        return False
    return bool(np.isin(column.values, np.flatnonzero(np.char.find(column.words, b"\n") >= 0)).any())


def _isolated_end(block: EdgeBlock, comm: Comm) -> int:
    """Return the number of vertices after the last that has an edge; collective."""
    last = int(np.searchsorted(block.offsets, block.offsets[-1])) - 1 + block.first  # row of the last arc
    return block.n - 1 - comm.largest(max(last, int(block.targets.max())) if block.targets.size else -1)
