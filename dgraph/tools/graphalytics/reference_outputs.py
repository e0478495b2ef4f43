"""Comparison of a result with a reference output of LDBC Graphalytics, by the benchmark's rules.

Both are moved to the rank ``vertex mod ranks``, so no rank holds the whole. Stricter than the benchmark's own tool, an
id that is missing, unknown or repeated is always found, and NaN never matches.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dgraph.comm import Comm
from dgraph.comm.owner_directed import scatter
from dgraph.errors import DataError

PIECE = 1 << 24
"""Bytes of a file that a rank parses at a time."""

EPSILON = 1e-4
"""Allowed difference of floats, relative to the reference."""

RULES = {"BFS": "exact", "CDLP": "exact", "WCC": "equivalence", "PR": "epsilon", "LCC": "epsilon", "SSSP": "epsilon"}
"""Algorithm → rule by which its values match."""


def reference_of(folder: Path, name: str) -> Path | None:
    """Return the path of a reference output, a file or a folder of files; None if there is none."""
    paths = [path for path in (folder / name, folder / f"{name}.txt") if path.exists()]
    return paths[0] if paths else None


def difference(rule: str, path: Path, vertex: np.ndarray, values: np.ndarray, comm: Comm) -> str | None:
    """Return the first difference between a result and the reference, or None; collective.

    Args:
        rule: "exact", "equivalence" or "epsilon".
        path: the reference.
        vertex: original ids of this rank's rows, int64.
        values: of these rows.
        comm: the ranks.

    Raises:
        DataError: a line of the reference that is not ``VERTEX VALUE``.
    """
    kind = np.dtype(np.float64 if rule == "epsilon" else np.int64)
    ids, wanted = read_outputs(path, kind, comm)
    ids, wanted = _moved(comm, ids, ids, wanted)
    vertex, values = _moved(comm, vertex, vertex, np.asarray(values, kind))
    ids, wanted = _sorted(ids, wanted)
    vertex, values = _sorted(vertex, values)
    once = bool((np.diff(ids) > 0).all())
    if comm.total(int(not (once and np.array_equal(ids, vertex)))):
        return _first(comm, np.setxor1d(ids, vertex), "vertex {} is in one of the two only")
    if rule == "exact":
        wrong = values != wanted
    elif rule == "epsilon":
        with np.errstate(invalid="ignore"):
            wrong = ~((values == wanted) | (np.abs(wanted - values) <= EPSILON * np.abs(wanted)) & np.isfinite(values))
    else:
        for one, other in ((values, wanted), (wanted, values)):
            if comm.total(int(_ambiguous(comm, one, other))):
                return "labels do not match one to one"
        return None
    if not comm.total(int(wrong.any())):
        return None
    row = int(np.argmax(wrong)) if wrong.any() else -1
    mine = [int(ids[row]), values[row].item(), wanted[row].item()] if row >= 0 else None
    differences = comm.allgather_json(mine and [mine[0], *map(str, mine[1:])])
    where, value, wanted_value = min(entry for entry in differences if entry)
    return f"vertex {where} has {value}, the reference has {wanted_value}"


def read_outputs(path: Path, kind: np.dtype, comm: Comm) -> tuple[np.ndarray, np.ndarray]:
    """Return ids (int64) and values of this rank's share of the lines of a file, or of a folder's files; collective."""
    files = sorted(entry for entry in path.iterdir() if entry.is_file()) if path.is_dir() else [path]
    ids, values = [np.empty(0, np.int64)], [np.empty(0, kind)]
    with comm.together():
        for file in files:
            for text in _pieces(file, comm.rank, comm.size):
                words = text.split()
                try:
                    ids.append(np.array(words[::2]).astype(np.int64) if words else ids[0])
                    values.append(np.array(words[1::2]).astype(kind) if words else values[0])
                    if len(words) % 2 or text.count(b"\n") < len(words) // 2:
                        raise ValueError("a line is 'VERTEX VALUE'")
                except (ValueError, OverflowError) as error:
                    raise DataError(f"{file}: {error}; this is not an output of LDBC Graphalytics") from None
    return np.concatenate(ids), np.concatenate(values)


def _pieces(file: Path, rank: int, ranks: int) -> Iterator[bytes]:
    """Yield the whole lines that begin in this rank's share of a file."""
    size = os.path.getsize(file)
    begin, end = size * rank // ranks, size * (rank + 1) // ranks
    with open(file, "rb") as stream:
        if begin:
            stream.seek(begin - 1)
            stream.readline()
        while stream.tell() < end:
            text = stream.read(min(PIECE, end - stream.tell()))
            yield text if text.endswith(b"\n") else text + stream.readline() + b"\n"


def _moved(comm: Comm, by: np.ndarray, *columns: np.ndarray) -> list[np.ndarray]:
    """Send rows to the rank ``by mod ranks``; collective."""
    return scatter(comm, by % comm.size, *columns)


def _sorted(vertex: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(vertex, kind="stable")
    return vertex[order], values[order]


def _ambiguous(comm: Comm, labels: np.ndarray, others: np.ndarray) -> bool:
    """Return True if a label here goes with several others, over all ranks; collective."""
    pairs = np.unique(np.stack([labels, others], axis=1), axis=0)
    labels, others = _moved(comm, pairs[:, 0], pairs[:, 0], pairs[:, 1])
    pairs = np.unique(np.stack([labels, others], axis=1), axis=0)
    return bool((pairs[1:, 0] == pairs[:-1, 0]).any())


def _first(comm: Comm, vertices: np.ndarray, text: str) -> str:
    firsts = comm.allgather_json(int(vertices[0]) if len(vertices) else None)
    some = [vertex for vertex in firsts if vertex is not None]
    return text.format(min(some)) if some else "a vertex is repeated"
