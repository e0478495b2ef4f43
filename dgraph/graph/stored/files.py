"""Arrays of one part in a store, and the translation of store errors into dgraph errors.

:func:`write_part` writes a ``LocalGraph``, :func:`read_part` maps it back. ``partitioning.store`` has the files and
their checksums.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.graph.edge_attributes import Attributes, EdgeAttribute
from dgraph.graph.local import Csr, LocalGraph, Mirrors
from partitioning.store import ArrayFile, Store, StoreDraft, StoreError, part_file

OWNERS, IDS, NAMES = "owners.bin", "ids.bin", "names.bin"
"""Files with the part of every gid, with its original id (only if ids are sparse), and with its name (only if named):
bytes of one width, padded with zeros, ascending."""


@contextmanager
def reading() -> Iterator[None]:
    """Turn a StoreError of the block into a DataError: the store is not as it was written."""
    try:
        yield
    except StoreError as wrong:
        raise DataError(str(wrong)) from wrong


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a StoreError of the block into a UsageError, and an OSError into an OutputError."""
    try:
        yield
    except StoreError as wrong:
        raise UsageError(str(wrong)) from wrong
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written on {socket.gethostname()}: {error.strerror}; nothing was left there. "
            "Choose a folder with room that every rank's host can write"
        ) from error


def write_part(file: ArrayFile, local: LocalGraph, sparse: bool, arc_cuts: np.ndarray) -> None:
    """Write a local graph as the arrays of a part.

    By lid: ``gids, offsets, out_degree`` and, if ``sparse``, ``original``. In blocks cut at ``arc_cuts``:
    ``neighbours`` (lids) and ``weights``. ``mine`` and ``theirs`` hold rows (peer, count, columns, rows) of the mirror
    lists; ``their_lids`` concatenates those of all peers.
    """
    for name in ("gids", *(["original"] if sparse else []), "out_degree"):
        file.add(name, getattr(local, name))
    for name, cuts in (("offsets", ()), ("neighbours", arc_cuts), ("weights", arc_cuts)):
        if (values := getattr(local.out, name)) is not None:
            file.add(name, values, cuts)
    file.add("mine", _lists(local.own_mirrors))
    file.add("theirs", _lists(local.peer_mirrors))
    lids = [local.peer_mirrors[peer].lids for peer in sorted(local.peer_mirrors)]
    file.add("their_lids", np.concatenate([np.zeros(0, np.uint32), *lids]))


def read_part(store: Store, part: int) -> LocalGraph:
    """Return the local graph of a part as views of the mapped file; only original ids of a dense graph are computed.

    Raises:
        StoreError: a block is not as it was written.
    """
    file, graph = part_file(part), store.manifest["graph"]
    store.check(file, store.manifest["files"][file]["arrays"])
    gids, base = store.array(file, "gids"), graph["base"]
    masters = store.manifest["parts"][part]["masters"]
    mine, first = {}, masters
    for peer, count, columns, rows in store.array(file, "mine").reshape(-1, 4).tolist():
        mine[peer] = Mirrors(count, columns, rows, first=first)
        first += count
    theirs, lids, offset = {}, store.array(file, "their_lids"), 0
    for peer, count, columns, rows in store.array(file, "theirs").reshape(-1, 4).tolist():
        theirs[peer] = Mirrors(count, columns, rows, lids=lids[offset : offset + count])
        offset += count
    arcs = Csr(store.array(file, "offsets"), store.array(file, "neighbours"), weights(store, part))
    figures = store.manifest["parts"][part].get("weight_range")  # older stores have none
    if figures and arcs.weight_type is not None:
        arcs.__dict__["weight_range"] = *np.array(figures[:2]).astype(arcs.weight_type), float(figures[2])
    return LocalGraph(
        n=graph["vertices"], m=graph["edges"], arcs=graph["arcs"], masters=masters, gids=gids,
        original=store.array(file, "original") if graph["sparse_ids"] else gids + base if base else gids,
        out_degree=store.array(file, "out_degree"), out=arcs,
        directed=graph["directed"], own_mirrors=mine, peer_mirrors=theirs,
    )  # fmt: skip


def weights(store: Store, part: int, blocks: range | None = None) -> np.ndarray | None:
    """Return the weights of a part's arcs, or None if the graph has none."""
    file = part_file(part)
    return store.array(file, "weights", blocks) if store.has(file, "weights") else None


def write_attributes(draft: StoreDraft, attributes: Attributes, comm: Comm) -> tuple[list[dict], dict[str, Any]]:
    """Write the attributes of this rank's arcs; return the manifest's lists of them and of their files; collective.

    A file has the arcs of all ranks by gid of the source, then of the target, so that any number of ranks reads it.
    """
    listed: list[dict] = []
    slices: dict[str, Any] = {}
    files: dict[str, Any] = {}
    first = comm.before(max((column.values.size for column in attributes.values()), default=0))
    with comm.together(), writing(draft.path):
        for number, (name, column) in enumerate(attributes.items()):
            words = None if column.words is None else f"words-{number:05d}.bin"
            listed.append({"name": name, "rule": column.rule, "file": f"edges-{number:05d}.bin", "words": words})
            slices[listed[-1]["file"]] = draft.share(listed[-1]["file"], first, column.values)
            if words is not None and column.words is not None and comm.rank == 0:
                with draft.file(words) as file:
                    file.add("values", column.words)
                files[words] = file.entry
    gathered = comm.allgather_json([slices, files])
    for file_name in slices:
        files[file_name] = StoreDraft.joined([of_rank[file_name] for of_rank, _ in gathered])
    return listed, gathered[0][1] | files


def read_attributes(store: Store, first: int, size: int) -> dict[str, EdgeAttribute]:
    """Return the attributes of arcs ``first .. first + size - 1`` as views of the mapped files.

    Raises:
        StoreError: a block is not as it was written.
    """
    attributes = {}
    for entry in store.manifest["graph"].get("attributes", ()):
        blocks = store.blocks(entry["file"], "values", first, first + size) if size else ()
        values = store.array(entry["file"], "values", blocks)[first : first + size]
        words = None if entry["words"] is None else store.array(entry["words"], "values")
        attributes[entry["name"]] = EdgeAttribute(values, entry["rule"], words)
    return attributes


def _lists(peers: dict[int, Mirrors]) -> np.ndarray:
    rows = [(peer, peers[peer].count, peers[peer].columns, peers[peer].rows) for peer in sorted(peers)]
    return np.array(rows, np.int64).reshape(-1)
