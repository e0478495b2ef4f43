"""Folder of a graph's version: the partition, or where the source is, so that ``open`` needs no text and no policy.

``graph.json`` is written last; a folder without it is incomplete. A store holds integer ids only, so a graph with names
keeps its source, and ``open`` loads it again.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

from dgraph._support.extras import extra
from dgraph.comm import Comm
from dgraph.errors import DataError, UsageError, unknown
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.stored_graph import Graph
from dgraph.result.files.shared_file import output_errors

PARTS, RECORD = "parts", "graph.json"

FORMATS = {"arrow": ".arrow", "parquet": ".parquet", "csv": ".csv"}
"""Format of a received table → suffix by which the loader knows it."""

FILE_MAGIC = b"ARROW1"
"""First bytes of an Arrow file; a stream begins otherwise."""


def load(source: str, options: dict[str, Any], store: Path, device: str, comm: Comm) -> Graph:
    """Load a graph and write it to the folder ``store``; collective.

    Args:
        source: file, store or generator.
        options: ``policy`` and fields of :class:`LoadOptions`.
        store: folder to make.
        device: where its rounds will run.
        comm: the ranks.

    Raises:
        UsageError, DataError, OutputError: as of ``Graph.load`` and ``Graph.save_store``.
    """
    policy, known = _split(options)
    graph = Graph.load(source, policy=policy, device=device, comm=comm, **known)
    return keep(graph, {"source": source, "options": options}, store)


def load_table(path: Path, kind: str, options: dict[str, Any], store: Path, device: str, comm: Comm) -> Graph:
    """Load a graph from a received file of edges, and write it to the folder ``store``; collective.

    Args:
        path: the file; it may be removed afterwards.
        kind: a word of ``FORMATS``.
        options: as of :func:`load`.
        store: as of :func:`load`.
        device: as of :func:`load`.
        comm: as of :func:`load`.
    """
    if kind not in FORMATS:
        raise unknown("format of a table", kind, FORMATS)
    table = store / f"table{FORMATS[kind]}"
    with comm.together(), output_errors(table):
        if comm.rank == 0:
            store.mkdir(mode=0o700, parents=True, exist_ok=True)
            _take(path, table, kind)
    graph = load(str(table), options, store, device, comm)
    with comm.together():
        if comm.rank == 0 and (store / PARTS).exists():
            table.unlink()
    return graph


def keep(graph: Graph, source: dict[str, Any], store: Path) -> Graph:
    """Write a graph to the folder ``store``, and return the graph that :func:`open_stored` would; collective.

    Args:
        graph: the graph; it is closed if another one takes its place.
        source: ``source`` and ``options``, by which it can be loaded again.
        store: folder to make.
    """
    comm, device = graph.comm, graph.device
    with comm.together(), output_errors(store):
        if comm.rank == 0:
            store.mkdir(mode=0o700, parents=True, exist_ok=True)
            (store / RECORD).unlink(missing_ok=True)
    partition = graph.ids.names is None and not graph.stored
    if partition:
        graph.save_store(store / PARTS, overwrite=True)
        graph.close()
        graph = Graph.open(store / PARTS, device=device, comm=comm)
    with comm.together(), output_errors(store):
        if comm.rank == 0:
            draft = store / f".{RECORD}"
            draft.write_text(json.dumps({"partition": partition, **source}))
            os.replace(draft, store / RECORD)
    return graph


def open_stored(store: Path, device: str, comm: Comm) -> Graph:
    """Open the graph of a folder that :func:`keep` wrote, on any number of ranks; collective.

    Raises:
        DataError: the folder is incomplete.
    """
    record = {}
    with comm.together():
        if comm.rank == 0:
            try:
                record = json.loads((store / RECORD).read_text())
            except (OSError, ValueError) as wrong:
                raise DataError(
                    f"{store} does not hold a whole graph ({type(wrong).__name__}); load the graph again"
                ) from wrong
    record = comm.bcast_json(record)
    if record["partition"]:
        return Graph.open(store / PARTS, device=device, comm=comm)
    policy, known = _split(record["options"])
    return Graph.load(record["source"], policy=policy, device=device, comm=comm, **known)


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


def _take(path: Path, table: Path, kind: str) -> None:
    """Link or copy a received file to its place; an Arrow stream becomes an Arrow file."""
    table.unlink(missing_ok=True)
    if kind == "arrow":
        with open(path, "rb") as file:
            stream = file.read(len(FILE_MAGIC)) != FILE_MAGIC
        if stream:
            _filed(path, table)
            return
    try:
        os.link(path, table)
    except OSError:
        shutil.copyfile(path, table)


def _filed(path: Path, table: Path) -> None:
    """Write an Arrow stream as an Arrow file, a batch at a time."""
    ipc, pyarrow = extra("pyarrow.ipc", "an Arrow table"), extra("pyarrow", "an Arrow table")
    try:
        with ipc.open_stream(str(path)) as batches, ipc.new_file(str(table), batches.schema) as out:
            for batch in batches:
                out.write_batch(batch)
    except pyarrow.ArrowInvalid as wrong:
        raise DataError(f"the table is not an Arrow stream or file: {wrong}; send one of these") from wrong
