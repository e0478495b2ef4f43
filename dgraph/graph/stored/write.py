"""Write a graph's partition to a store; each rank writes the parts that it holds.

:func:`write` is collective, and the store appears complete or not at all. ``partitioning.store`` has the file format.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dgraph._support.termination import removing_at_end
from dgraph._support.version import __version__
from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.local_graph import build_parts
from dgraph.graph.build.part_layout import PartLayout
from dgraph.graph.ids import ConsecutiveIds, SparseIds
from dgraph.graph.local import LocalGraph
from dgraph.graph.named_ids import NamedIds
from dgraph.graph.stored.files import IDS, NAMES, OWNERS, write_attributes, write_part, writing
from partitioning import Placement
from partitioning.store import StoreDraft, part_file


def write(
    path: Path, block: EdgeBlock, placement: Placement, comm: Comm, *,
    fingerprint: str, quality: dict[str, Any], chunks: int | None, overwrite: bool,
) -> list[LocalGraph]:  # fmt: skip
    """Build the parts of a placement and write them to ``path``, complete or not at all; collective.

    Returns:
        The parts that this rank wrote.

    Raises:
        UsageError: ``path`` exists, or there are fewer chunks than parts.
        OutputError: the system refused on some rank; the incomplete store is removed.
    """
    per_part = chunks_a_part(chunks, placement.parts)
    if not block.ids.ascending:
        raise UsageError(
            f"{path}: a store holds vertices in the order of their ids, and these are by degree; leave order out"
        )
    if not isinstance(block.ids, (ConsecutiveIds, NamedIds)):  # those of another store come into memory
        block = replace(block, ids=block.ids.grown(np.zeros(0, np.int64), comm)[0])
    draft = _begin(path, overwrite, comm)
    try:
        with removing_at_end(draft.abandon, wanted=comm.rank == 0):
            local = build_parts(block, placement, comm)
            sparse = isinstance(block.ids, SparseIds)
            files: dict[str, Any] = {}
            parts: list[dict[str, Any]] = []
            threads = rank_threads(comm)
            with comm.together(), writing(path):
                for part, each_local in zip(PartLayout(placement.parts, comm).here, local, strict=True):
                    masters, arcs = chunk_cuts(each_local, placement.cut, per_part)
                    with draft.file(part_file(part), threads) as file:
                        write_part(file, each_local, sparse, arcs[1:-1])
                    files[part_file(part)] = file.entry
                    parts.append({
                        "masters": each_local.masters, "mirrors": each_local.mirrors, "arcs": int(arcs[-1]),
                        "chunks": {"masters": masters.tolist(), "arcs": arcs.tolist()},
                        "weight_range": [*map(str, each_local.out.measured(threads))],
                    })  # fmt: skip
            shared = _shared(draft, block, placement, comm)
            attributes, columns = write_attributes(draft, block.attributes, comm)
            shared |= columns
            gathered = comm.allgather_json([files, parts])
            files = {name: entry for of_rank, _ in gathered for name, entry in of_rank.items()} | shared
            manifest = {
                "written_by": f"dgraph {__version__}",
                "graph": _described(block, fingerprint, sparse, comm) | {"attributes": attributes},
                "partition": {
                    "policy": placement.policy, "reason": placement.reason, "warning": placement.warning,
                    "cut": placement.cut, "parts": placement.parts, "quality": quality,
                },
                "parts": [part for _, of_rank in gathered for part in of_rank],
                "files": files,
            }  # fmt: skip
            with comm.together(), writing(path):
                if comm.rank == 0:
                    draft.finish(manifest, overwrite)
    except BaseException:
        if comm.rank == 0:
            draft.abandon()
        raise
    return local


def check_writable(path: Path, overwrite: bool = False) -> None:
    """Raise early what :func:`write` would raise: the name is taken, or the folder does not exist."""
    with writing(path):
        StoreDraft.check(path, overwrite)


def chunk_cuts(local: LocalGraph, cut: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut a part into chunks that can go to different ranks; return cuts of its masters and of its arcs, (count + 1,).

    Under an edge-cut, masters are cut so that chunks have about equally many arcs; for an ``outgoing`` cut the arcs
    follow them. Under a vertex-cut, masters and arcs are cut evenly and independently.
    """
    steps = np.arange(count + 1, dtype=np.int64)
    even = len(local.out.neighbours) * steps // count
    if cut == "vertex":
        return local.masters * steps // count, even
    cost = arcs_of_masters(local.out.offsets, local.out.neighbours, local.masters, cut) + np.arange(local.masters + 1)
    masters = np.searchsorted(cost, cost[-1] * steps // count).astype(np.int64)
    masters[0], masters[-1] = 0, local.masters
    return masters, (local.out.offsets[masters] if cut == "outgoing" else even)


def arcs_of_masters(offsets: np.ndarray, neighbours: np.ndarray, masters: int, cut: str) -> np.ndarray:
    """Return the running sum, from 0, of the arcs that an edge-cut assigns to each master: its out- or in-edges."""
    if cut == "outgoing":
        return offsets[: masters + 1]
    counts = np.bincount(neighbours, minlength=masters)[:masters]
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def chunks_a_part(chunks: int | None, parts: int) -> int:
    """Return the number of chunks a part, for ``chunks`` in all; four if None."""
    if chunks is None:
        return 4
    if chunks < parts:
        raise UsageError(f"{chunks} chunks are fewer than {parts} parts; choose at least as many, such as {4 * parts}")
    return -(-chunks // parts)


def _begin(path: Path, overwrite: bool, comm: Comm) -> StoreDraft:
    folder = ""
    with comm.together(), writing(path):
        if comm.rank == 0:
            folder = str(StoreDraft.begin(path, overwrite).folder)
    folder = comm.bcast_json(folder)
    draft = StoreDraft(Path(folder).with_name(path.absolute().name), Path(folder))
    try:
        with comm.together(), writing(path):
            os.listdir(folder)
    except BaseException:
        if comm.rank == 0:
            draft.abandon()
        raise
    return draft


def _shared(draft: StoreDraft, block: EdgeBlock, placement: Placement, comm: Comm) -> dict[str, Any]:
    """Write this rank's slices of the shared files; return their manifest entries; collective."""
    arrays = {}
    gids = np.arange(block.first, block.first + block.rows, dtype=np.int64)
    slices: dict[str, Any] = {}
    with comm.together(), writing(draft.path):
        owners = placement.owner(gids).astype(np.min_scalar_type(placement.parts - 1))
        slices[OWNERS] = draft.share(OWNERS, block.first, owners)
        if isinstance(block.ids, SparseIds):
            slices[IDS] = draft.share(IDS, int(block.ids.starts[comm.rank]), block.ids.here)
        if (names := block.ids.names) is not None:
            slices[NAMES] = draft.share(NAMES, int(names.starts[comm.rank]), names.here)
    gathered = comm.allgather_json(slices)
    for name in slices:
        arrays[name] = StoreDraft.joined([of_rank[name] for of_rank in gathered])
    return arrays


def _described(block: EdgeBlock, fingerprint: str, sparse: bool, comm: Comm) -> dict[str, Any]:
    """Return the manifest's entry for the graph; collective."""
    degrees = np.diff(block.offsets)
    histogram = comm.allreduce(np.bincount(np.frexp(degrees.astype(np.float64))[1], minlength=64).astype(np.int64))
    row = int(np.argmax(degrees)) if degrees.size else 0
    best = comm.allgather(np.array([degrees[row] if degrees.size else -1, block.first + row], np.int64))
    hub = best[np.argmax(best[:, 0]), 1:]
    return {
        "name": block.facts.name, "fingerprint": fingerprint,
        "vertices": block.n, "edges": block.m, "arcs": block.arcs, "directed": block.directed,
        "weights": None if block.weights is None else block.weights.dtype.name,
        "sparse_ids": sparse, "named": block.ids.names is not None,
        "base": block.ids.base if isinstance(block.ids, ConsecutiveIds) else 0,
        "hub": int(block.ids.to_original(hub, comm)[0]) if block.n else 0,
        "degree_histogram": histogram[: int(np.flatnonzero(histogram).max(initial=0)) + 1].tolist(),
        "facts": dict(vars(block.facts)),
    }  # fmt: skip
