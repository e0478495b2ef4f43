"""Folder of a graph's version: what ``open`` makes the same graph of when the ranks were restarted.

It holds the partition as a store, so that ``open`` needs no text and no policy; or the source alone: of a generated
graph, which is drawn again, of one that was loaded from a store, and of one that a store cannot hold, with names or
``order``. The graph that was loaded is not modified. Columns that jobs kept are files beside the partition.

``graph.json`` is written last; a folder without it is incomplete.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph.comm import Comm
from dgraph.errors import DataError, DgraphError, UsageError, unknown
from dgraph.graph.generate import is_generator
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.stored_graph import Graph
from dgraph.result.files.shared_file import output_errors
from dgraph.service.ranks.column_files import column_files, with_kept

PARTS, RECORD = "parts", "graph.json"

MOST_CHANGES = 32
"""Changes that are applied to a partition when it is opened; the next one writes the partition anew."""

FORMATS = {"arrow": ".arrow", "parquet": ".parquet", "csv": ".csv"}
"""Format of a received table → suffix by which the loader knows it."""

FILE_MAGIC = b"ARROW1"
"""First bytes of an Arrow file; a stream begins otherwise."""


@contextmanager
def whole_or_nothing(store: Path, comm: Comm) -> Iterator[None]:
    """Remove the folder ``store`` if an error of all ranks leaves it incomplete."""
    try:
        yield
    except DgraphError:
        if comm.rank == 0 and not (store / RECORD).exists():
            shutil.rmtree(store, ignore_errors=True)
        raise


def load(source: str, options: dict[str, Any], device: str, comm: Comm) -> Graph:
    """Load a graph, built where ``Graph.load`` chooses; collective.

    Args:
        source: file, store or generator.
        options: ``policy`` and fields of :class:`LoadOptions`.
        device: where its rounds will run.
        comm: the ranks.

    Raises:
        UsageError, DataError, OutputError: as of ``Graph.load``.
    """
    policy, build_options = _split(options)
    return Graph.load(source, policy=policy, device=device, comm=comm, **build_options)


def take_table(path: Path, kind: str, store: Path, comm: Comm) -> Path:
    """Link or copy a received file of edges into the folder ``store``; collective.

    Args:
        path: the file; it may be removed afterwards, but not written to.
        kind: a word of ``FORMATS``; an Arrow stream becomes an Arrow file. Footers of files are not read.
        store: folder to make.
        comm: the ranks.
    """
    if kind not in FORMATS:
        raise unknown("format of a table", kind, FORMATS)
    table = store / f"table{FORMATS[kind]}"
    with comm.together(), output_errors(table):
        if comm.rank == 0:
            store.mkdir(mode=0o700, parents=True, exist_ok=True)
            if kind == "arrow":
                _filed(path, table)
            else:
                _link(path, table)
    return table


def forget_table(table: Path, store: Path, comm: Comm) -> None:
    """Remove a file of :func:`take_table` that the folder's partition has made superfluous; collective."""
    with comm.together():
        if comm.rank == 0 and (store / PARTS).exists():
            table.unlink()


def keep(graph: Graph, source: dict[str, Any], store: Path, changed: bool = False) -> None:
    """Write to the folder ``store`` what :func:`open_stored` needs; the graph is not modified; collective.

    Args:
        graph: the graph.
        source: ``source`` and ``options``, by which it can be loaded again; ``inside``: it is a file of the folder.
        store: folder to make.
        changed: its edges are not those of the source any more.
    """
    comm = graph.comm
    with comm.together(), output_errors(store):
        if comm.rank == 0:
            store.mkdir(mode=0o700, parents=True, exist_ok=True)
            (store / RECORD).unlink(missing_ok=True)
    again = is_generator(source["source"]) or (graph.stored and getattr(graph, "draws", True))  # not a file's on a GPU
    partition = _storable(graph) and (changed or not again)
    if partition:
        graph.save_store(store / PARTS, overwrite=True)
    _record(store, {"partition": partition, **source}, comm)


def changed(graph: Graph, batch: Path) -> Graph:
    """Return the graph with the edges of a file added and removed; collective.

    Args:
        graph: the graph, which is not modified.
        batch: Arrow file or stream with the columns source and target, and perhaps weight, and remove (bool).

    Raises:
        UsageError, DataError: as of ``Graph.with_edges``; a column that is missing.
    """
    change = getattr(graph, "with_edges", None)
    if change is None:
        raise UsageError("this version of dgraph cannot change graphs; load the changed graph under another name")
    add, remove, weights = None, None, None
    with graph.comm.together():
        if graph.comm.rank == 0:
            add, remove, weights = _batch(batch)
    return change(add, remove, weights=weights)


def keep_change(graph: Graph, base: Path, batch: Path, store: Path) -> Graph:
    """Write a changed graph to the folder ``store``: the base's files, which cost no space, and the batch; collective.

    ``open_stored`` applies the batches anew. A graph with more than ``MOST_CHANGES`` of them is written as a whole.

    Args:
        graph: the changed graph.
        base: folder of the graph that was changed.
        batch: the change.
        store: folder to make.
    """
    comm = graph.comm
    record = _read(base, comm)
    number = record.get("changes", 0) + 1
    if _storable(graph) and number > MOST_CHANGES:
        keep(graph, {"source": record["source"], "options": record["options"]}, store, changed=True)
        with comm.together(), output_errors(store):
            if comm.rank == 0:
                for path in column_files(base):
                    _link(path, store / path.name)
        return with_kept(graph, store)
    with comm.together(), output_errors(store):
        if comm.rank == 0:
            shutil.rmtree(store, ignore_errors=True)
            shutil.copytree(base, store, copy_function=_link, ignore=shutil.ignore_patterns(RECORD))
            shutil.copyfile(batch, store / f"change-{number}.arrow")
    _record(store, record | {"changes": number}, comm)
    return graph


def open_stored(store: Path, device: str, comm: Comm) -> Graph:
    """Open the graph of a folder that :func:`keep` wrote, on any number of ranks; collective.

    Raises:
        DataError: the folder is incomplete.
    """
    record = _read(store, comm)
    if record["partition"]:
        graph = Graph.open(store / PARTS, device=device, comm=comm)
    else:
        source = str(store / record["source"]) if record.get("inside") else record["source"]
        graph = load(source, record["options"], device, comm)
    for number in range(record.get("changes", 0)):
        graph = changed(graph, store / f"change-{number + 1}.arrow")
    return with_kept(graph, store)


def _storable(graph: Graph) -> bool:
    """Return True if a store can hold the graph's ids: integers, and gids in their order."""
    return graph.ids.names is None and graph.ids.ascending


def _record(store: Path, facts: dict[str, Any], comm: Comm) -> None:
    """Write the record that makes a folder complete; collective."""
    with comm.together(), output_errors(store):
        if comm.rank == 0:
            draft = store / f".{RECORD}"
            draft.write_text(json.dumps(facts))
            os.replace(draft, store / RECORD)


def _read(store: Path, comm: Comm) -> dict[str, Any]:
    """Return the record of a folder; collective.

    Raises:
        DataError: the folder is incomplete.
    """
    facts = {}
    with comm.together():
        if comm.rank == 0:
            try:
                facts = json.loads((store / RECORD).read_text())
            except (OSError, ValueError) as wrong:
                raise DataError(
                    f"{store} does not hold a whole graph ({type(wrong).__name__}); load the graph again"
                ) from wrong
    return comm.bcast_json(facts)


def _split(options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return policy and fields of :class:`LoadOptions`; refuse unknown ones and values of other types."""
    kinds = {field.name: str(field.type) for field in fields(LoadOptions)}
    for name, value in options.items():
        if name == "policy":
            right = isinstance(value, str)
        elif name in kinds:
            right = type(value).__name__ in kinds[name].replace(" ", "").split("|") or (
                value is None and "None" in kinds[name]
            )
        else:
            raise unknown("option of a load", name, ["policy", *kinds])
        if not right:
            raise UsageError(f"{name} = {value!r:.60} is not valid; it takes {kinds.get(name, 'str')}; correct it")
    return options.get("policy", "auto"), {name: value for name, value in options.items() if name != "policy"}


def _begins(path: Path, magic: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def _link(source: str | Path, target: str | Path) -> None:
    """Link a file that is not written any more, or copy it to another file system."""
    Path(target).unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _filed(path: Path, table: Path) -> None:
    """Write an Arrow stream, or that of an Arrow file, as an Arrow file, a batch at a time."""
    ipc, pyarrow = extra("pyarrow.ipc", "an Arrow table"), extra("pyarrow", "an Arrow table")
    try:
        with pyarrow.memory_map(str(path)) as source:
            source.seek(8 if _begins(path, FILE_MAGIC) else 0)
            with ipc.open_stream(source) as batches, ipc.new_file(str(table), batches.schema) as file:
                for batch in batches:
                    file.write_batch(batch)
    except pyarrow.ArrowInvalid as wrong:
        raise DataError(f"the table is not an Arrow stream or file: {wrong}; send one of these") from wrong


def _batch(path: Path) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """Return the edges to add and to remove, shape (k, 2), and the weights of those to add."""
    ipc, pyarrow = extra("pyarrow.ipc", "a change of edges"), extra("pyarrow", "a change of edges")
    try:
        opened = ipc.open_file if _begins(path, FILE_MAGIC) else ipc.open_stream
        with opened(str(path)) as file:
            table = file.read_all()
    except pyarrow.ArrowInvalid as wrong:
        raise DataError(f"the change is not an Arrow stream or file: {wrong}; send one of these") from wrong
    columns = {name: table.column(name) for name in table.column_names}
    for name in ("source", "target"):
        if name not in columns:
            raise UsageError(f"the change has no column {name}, only {', '.join(columns) or 'none'}; add it")
    for name, column in columns.items():
        if column.null_count and name != "weight":
            raise DataError(f"the column {name} of the change has {column.null_count} missing values; fill them in")
    arrays = {name: column.to_numpy() for name, column in columns.items()}
    ends = np.stack([arrays["source"], arrays["target"]], axis=1)
    gone = arrays.get("remove", np.zeros(len(ends), bool)).astype(bool)
    weights = arrays.get("weight")
    weights = None if weights is None or gone.all() else weights[~gone]
    return None if gone.all() else ends[~gone], ends[gone] if gone.any() else None, weights
