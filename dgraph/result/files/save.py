"""The file formats of a result, by suffix. A writer gets the order of the rows, and their columns in it."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import OutputError, UsageError, unknown
from dgraph.graph.names import texts
from dgraph.result.files import npz, vertex_text
from dgraph.result.files.ascending import Ascending
from dgraph.result.files.shared_file import SharedFile, shared_file


def save_text(file: SharedFile, order: Ascending, rows: Mapping[str, np.ndarray], infinity: bytes) -> None:
    """``vertex value`` lines, as LDBC Graphalytics has them, of the first column."""
    vertex, values, *_ = rows.values()
    blocks: list[bytes] = []
    with file.comm.together():
        blocks += vertex_text.lines(vertex, values, infinity)
    file.write(file.comm.before(sum(map(len, blocks))), blocks)


def save_npz(file: SharedFile, order: Ascending, rows: Mapping[str, np.ndarray], infinity: bytes) -> None:
    """Every column, as ``np.load`` reads them; names as text of one width (dtype U)."""
    dtypes = {name: _stored(values, file.comm) for name, values in rows.items()}
    archive = npz.members(dtypes, order.total)
    checksums = []
    for member in archive:
        dtype, mine = dtypes[member.name], np.zeros(2, np.int64)
        file.write(member.data + order.first * dtype.itemsize, _counted(rows[member.name], dtype, mine))
        checksums.append(npz.of_pieces(member.head, file.comm.allgather(mine).tolist()))
    first = file.comm.rank == 0
    for member, checksum in zip(archive, checksums, strict=True):
        file.write(member.begin, [member.record(checksum)] if first else [])
    file.write(archive[-1].end, [npz.directory(archive, checksums)] if first else [])


def _stored(values: np.ndarray, comm: Comm) -> np.dtype:
    """The dtype that a column is written in; collective."""
    if values.dtype.kind != "S":
        return values.dtype
    longest = max((max(map(len, names)) for _, names in texts(values)), default=0)
    return np.dtype(f"U{max(1, comm.largest(longest))}")


def _counted(values: np.ndarray, dtype: np.dtype, mine: np.ndarray) -> Iterator[memoryview]:
    """The bytes of a column in pieces; ``mine`` becomes their CRC-32 and length."""
    pieces = (np.array(names, dtype) for _, names in texts(values)) if values.dtype.kind == "S" else [values]
    for part in pieces:
        raw = part.view(np.uint8).data if part.size else memoryview(b"")
        mine[:] = zlib.crc32(raw, int(mine[0])), mine[1] + len(raw)
        yield raw


WRITERS = {".txt": save_text, ".npz": save_npz}


Columns = Mapping[str, np.ndarray]


def save(
    path: str | os.PathLike,
    columns: Columns,
    comm: Comm,
    infinity: bytes = b"",
    shown: Callable[[Columns], Columns] = lambda columns: columns,
) -> None:
    """Write columns by ascending ``vertex`` into one file; collective.

    Args:
        path: the suffix says the format; a file of that name is replaced.
        columns: on each rank arrays of one length; ``vertex`` (int64, ascending here, distinct over all ranks) and
            at least one other. A text file has room for one: the first.
        infinity: stands in text in place of the integer distance of an unreached vertex; b"" writes the number.
        shown: collective; columns as they are to be written, names in place of numbers.

    Raises:
        UsageError: the suffix is not known.
        OutputError: the system refused on some rank; no file, and no part of one, is left.
    """
    path = Path(path)
    with comm.together():
        if comm.rank == 0:
            check(path)
    order = Ascending(columns["vertex"], comm)
    rows = {name: order.column(np.ascontiguousarray(values)) for name, values in columns.items() if name != "vertex"}
    rows = dict(shown({"vertex": order.vertex, **rows}))
    with shared_file(path, comm) as file:
        WRITERS[path.suffix](file, order, rows, infinity)


def check(path: str | os.PathLike) -> None:
    """Raise now what :func:`save` would raise after a long run: an unknown suffix, a folder that cannot be written."""
    path = Path(path)
    if path.suffix not in WRITERS and not path.is_dir():
        raise unknown("output format", path.suffix or path.name, WRITERS)
    writable(path)


def writable(path: Path) -> None:
    """Refuse a path at which no file can be made."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file")
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path} cannot be written: the folder {path.parent} is not writable; choose another")
