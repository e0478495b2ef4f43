"""The edges of a graph as a table of original ids or names: what :meth:`Graph.to_arrow` and ``to_pandas`` return."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph.comm.base import Comm
from dgraph.comm.owner_directed import swap
from dgraph.errors import DataError, shown
from dgraph.graph.block import EdgeBlock
from dgraph.graph.names import decode_names, decoded_chunks


def edge_columns(block: EdgeBlock, comm: Comm, root: int | None, as_bytes: bool = False) -> dict[str, np.ndarray]:
    """Return ``source``, ``target``, ``weight`` if edges have weights, and attributes; collective.

    Names of vertices are bytes (dtype S), text of attributes is str (dtype object).

    Args:
        block: the graph. An undirected edge is listed once, with the smaller id as ``source``.
        comm: communicator of the ranks.
        root: the rank that receives the edges of all; None: each rank keeps its own.
        as_bytes: text of attributes is bytes, too, empty where there is none.
    """
    ends = [block.ids.to_original(gids, comm) for gids in (block.sources(), block.targets)]
    kept = slice(None) if block.directed else np.flatnonzero(ends[0] <= ends[1])
    columns = {"source": ends[0][kept], "target": ends[1][kept]}
    if block.ids.names is not None:
        columns = {key: block.ids.names.words(numbers, comm) for key, numbers in columns.items()}
    if block.weights is not None:
        columns["weight"] = block.weights[kept]
    columns |= {name: column.values[kept] for name, column in block.attributes.items()}
    if root is not None and comm.size > 1:
        columns = {key: np.concatenate(sent_to(root, column, comm)) for key, column in columns.items()}
    for name, column in block.attributes.items():
        shown = replace(column, values=columns[name])
        columns[name] = shown.written() if as_bytes else shown.shown()
    return columns


def sent_to(root: int, values: np.ndarray, comm: Comm) -> list[np.ndarray]:
    """Return the values of every rank on ``root``, and none elsewhere; collective."""
    parts = [values if rank == root else values[:0] for rank in range(comm.size)]
    return swap(comm, parts)


def arrow_edges(columns: dict[str, np.ndarray]) -> Any:
    """Return columns of :func:`edge_columns` as a ``pyarrow.Table``.

    Raises:
        UsageError: pyarrow is not installed.
        DataError: a name is not UTF-8.
    """
    pyarrow = extra("pyarrow", "an Arrow table")
    try:
        return pyarrow.table(
            {
                key: pyarrow.array(column).cast(pyarrow.string()) if column.dtype.kind == "S" else pyarrow.array(column)
                for key, column in columns.items()
            }
        )
    except pyarrow.ArrowInvalid:
        _refuse_other_bytes(columns)
        raise


def pandas_edges(columns: dict[str, np.ndarray]) -> Any:
    """Return columns of :func:`edge_columns` as a ``pandas.DataFrame`` with memory of its own.

    Raises:
        UsageError: pandas is not installed.
        DataError: a name is not UTF-8.
    """
    pandas = extra("pandas", "a DataFrame")
    _refuse_other_bytes(columns)
    return pandas.DataFrame(
        {key: decode_names(column) if column.dtype.kind == "S" else column.copy() for key, column in columns.items()}
    )


def _refuse_other_bytes(columns: dict[str, np.ndarray]) -> None:
    """Refuse names that are not UTF-8."""
    for words in columns.values():
        for _, names in decoded_chunks(words) if words.dtype.kind == "S" else ():
            if "".join(names).isascii():
                continue
            name = next((name for name in names if any("\ud800" <= letter <= "\udfff" for letter in name)), None)
            if name is not None:
                raise DataError(
                    f"the vertex {shown(name)} has a name that is not UTF-8, and tables hold UTF-8 only; recode the "
                    "input (iconv -t UTF-8), or write the graph to .txt or .csv, which keep its bytes"
                )
