"""The arrays of a part, and what a store's failures are to a user."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from dgraph.errors import DataError, OutputError, UsageError
from dgraph.graph.local import Csr, LocalGraph, Mirrors
from partitioning.store import ArrayFile, Store, StoreError, part_file

OWNERS, IDS = "owners.bin", "ids.bin"
"""Of every gid its part, and its original id (only where ids are sparse)."""


@contextmanager
def told() -> Iterator[None]:
    """A store that is not as it was written is bad data."""
    try:
        yield
    except StoreError as wrong:
        raise DataError(str(wrong)) from wrong


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """A name that may not be taken is the user's affair; a disk that refuses is the system's."""
    try:
        yield
    except StoreError as wrong:
        raise UsageError(str(wrong)) from wrong
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written on {socket.gethostname()}: {error.strerror}; nothing was left there. "
            "Choose a folder with room that every rank's host can write"
        ) from error


def put(file: ArrayFile, local: LocalGraph, sparse: bool, arc_cuts: np.ndarray) -> None:
    """Write a local graph as the arrays of a part.

    ``gids, offsets, out_degree`` and, if ``sparse``, ``original``, by lid; ``neighbours`` (lids) and ``weights`` in
    blocks; ``mine`` and ``theirs``: rows (peer, count, columns, rows) of the mirror lists; ``their_lids`` of all peers.
    """
    file.add("gids", local.gids)
    if sparse:
        file.add("original", local.original)
    file.add("out_degree", local.out_degree)
    file.add("offsets", local.out.offsets)
    file.add("neighbours", local.out.neighbours, arc_cuts)
    if local.out.weights is not None:
        file.add("weights", local.out.weights, arc_cuts)
    file.add("mine", _lists(local.mine))
    file.add("theirs", _lists(local.theirs))
    lids = [local.theirs[peer].lids for peer in sorted(local.theirs)]
    file.add("their_lids", np.concatenate([np.zeros(0, np.uint32), *lids]))


def get(store: Store, part: int) -> LocalGraph:
    """The local graph of a part, on the file's pages: nothing is copied but the original ids of a dense graph.

    Raises:
        StoreError: a block is not what was written.
    """
    file, graph = part_file(part), store.manifest["graph"]
    gids = store.array(file, "gids")
    masters = store.manifest["parts"][part]["masters"]
    mine, at = {}, masters
    for peer, count, columns, rows in store.array(file, "mine").reshape(-1, 4).tolist():
        mine[peer] = Mirrors(count, columns, rows, first=at)
        at += count
    theirs, lids, at = {}, store.array(file, "their_lids"), 0
    for peer, count, columns, rows in store.array(file, "theirs").reshape(-1, 4).tolist():
        theirs[peer] = Mirrors(count, columns, rows, lids=lids[at : at + count])
        at += count
    return LocalGraph(
        n=graph["vertices"], m=graph["edges"], arcs=graph["arcs"], masters=masters, gids=gids,
        original=store.array(file, "original") if graph["sparse_ids"] else gids + graph["base"],
        out_degree=store.array(file, "out_degree"),
        out=Csr(store.array(file, "offsets"), store.array(file, "neighbours"), weights(store, part)),
        directed=graph["directed"], mine=mine, theirs=theirs,
    )  # fmt: skip


def weights(store: Store, part: int, blocks: range | None = None) -> np.ndarray | None:
    """The weights of a part's arcs, None where the graph has none."""
    file = part_file(part)
    return store.array(file, "weights", blocks) if store.has(file, "weights") else None


def _lists(peers: dict[int, Mirrors]) -> np.ndarray:
    rows = [(peer, peers[peer].count, peers[peer].columns, peers[peer].rows) for peer in sorted(peers)]
    return np.array(rows, np.int64).reshape(-1)
