"""Files of a graph's folder with the columns that jobs kept, so that they are there when the graph is opened again.

:func:`keep_column` writes one, vertices and values, whatever the number of ranks; :func:`with_kept` reads all.
"""

from __future__ import annotations

import os
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import DataError
from dgraph.graph.stored_graph import Graph
from dgraph.result.files.save import save
from dgraph.result.files.shared_file import output_errors
from dgraph.result.result import Result

FILE, SUFFIX = "column-", ".npz"


def keep_column(name: str, result: Result, store: Path) -> None:
    """Write the column that ``Graph.with_columns`` takes from a result to the folder ``store``; collective."""
    value = name if name in result.columns else next(key for key in result.columns if key != "vertex")
    draft = store / f".{name}{SUFFIX}"
    save(draft, dict(zip(("vertex", value), result.kept_column(value), strict=True)), result.comm)
    with result.comm.together(), output_errors(store):
        if result.comm.rank == 0:
            os.replace(draft, store / f"{FILE}{name}{SUFFIX}")


def column_files(store: Path) -> list[Path]:
    """Return the files of the columns in a folder."""
    return sorted(store.glob(f"{FILE}*{SUFFIX}"))


def with_kept(graph: Graph, store: Path) -> Graph:
    """Return the graph with the columns of the folder ``store``; collective.

    Raises:
        DataError: a file is damaged.
    """
    comm = graph.comm
    for path in [store / name for name in _names(store, comm)]:
        pair = np.zeros(0, np.int64), np.zeros(0)
        with comm.together():
            if comm.rank == 0:
                pair = _pair(path)
        graph = graph.with_columns(**{path.name.removeprefix(FILE).removesuffix(SUFFIX): pair})
    return graph


def _names(store: Path, comm: Comm) -> list[str]:
    names: list[str] = []
    with comm.together():
        if comm.rank == 0:
            names = [path.name for path in column_files(store)]
    return comm.bcast_json(names)


def _pair(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices and values of a file."""
    try:
        with np.load(path) as file:
            vertices, values = (file[name] for name in file.files)
    except (OSError, ValueError, BadZipFile) as wrong:
        raise DataError(
            f"{path} is not a column that a job kept ({type(wrong).__name__}); remove it, and run that job again"
        ) from wrong
    return vertices, values
