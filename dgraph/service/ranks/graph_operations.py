"""Operations on graphs: load, open, drop, change, describe."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.engine.opened_device import opened
from dgraph.engine.placement import local_graph
from dgraph.engine.rounds.progress import Progress
from dgraph.engine.rounds.record import Record, plain
from dgraph.engine.run_options import Options
from dgraph.errors import OutOfMemory
from dgraph.graph.devices import Auto, Cpu
from dgraph.graph.local import LocalGraph
from dgraph.graph.stored_graph import Graph
from dgraph.service.ranks import graph_store
from dgraph.service.ranks.memory_operations import refuse_large
from dgraph.service.ranks.rank_state import RankState, Request

ONE_THREAD = {"auto": Auto(threads=1), "cpu": Cpu(threads=1)}
"""Devices of small graphs: a GPU as before, but one CPU thread."""

SMALL = 1 << 20
"""Arcs up to which CPU rounds run on one thread: the front needs cores, too, and a team waits for each other's."""


def load(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Load a graph, and write to the folder ``store`` what :func:`reopen` needs."""
    observer.phase("load", request["source"])
    options = request.get("options") or {}
    refuse_large(state, request["source"], options, observer)
    graph = state.with_room(lambda: graph_store.load(request["source"], options, state.device, state.comm))
    return _stored(state, request, graph, {"source": request["source"], "options": options}, observer)


def table(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Load a graph from a file of edges that the front received; ``store`` is as of :func:`load`."""
    observer.phase("load", request["format"])
    options, store, comm = request.get("options") or {}, Path(request["store"]), state.comm
    with graph_store.whole_or_nothing(store, comm):
        file = graph_store.take_table(Path(request["path"]), request["format"], store, comm)
        graph = state.with_room(lambda: graph_store.load(str(file), options, state.device, comm))
        source = {"source": file.name, "inside": True, "options": options}
        answer = _stored(state, request, graph, source, observer)
    graph_store.forget_table(file, store, comm)
    return answer


def change(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Add and remove edges; the result is another version, and the folder ``store`` holds it."""
    name, base = request["graph"], request["version"]
    observer.phase("change", name)
    graph, store = state.graphs.find(name, base), Path(request["store"])
    changed = state.with_room(lambda: graph_store.changed(graph, Path(request["path"])), (name, base))
    state.check(observer)
    with graph_store.whole_or_nothing(store, state.comm):
        kept = graph_store.keep_change(changed, state.graphs.stores[name, base], Path(request["path"]), store)
    return _held(state, name, request["new_version"], kept, store, observer)


def reopen(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Open a graph that ``load``, ``table`` or ``change`` wrote."""
    observer.phase("open", request["graph"])
    store = Path(request["store"])
    graph = state.with_room(lambda: graph_store.open_stored(store, state.device, state.comm))
    return _held(state, request["graph"], request["version"], graph, store, observer)


def reopened(state: RankState, store: Path) -> Graph:
    """Open a graph that was closed for others."""
    graph = state.with_room(lambda: graph_store.open_stored(store, state.device, state.comm))
    return _settled(state, graph, Progress())[0]


def drop(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Close one version of a graph, or all."""
    state.graphs.drop(request["graph"], request.get("version"))
    return {}


def _stored(
    state: RankState, request: Request, graph: Graph, source: dict[str, Any], observer: Progress
) -> dict[str, Any]:
    """Write what a restart needs of a loaded graph, and hold it."""
    state.check(observer)
    observer.phase("store", request["graph"])
    store = Path(request["store"])
    with graph_store.whole_or_nothing(store, state.comm):
        graph_store.keep(graph, source, store)
    return _held(state, request["graph"], request["version"], graph, store, observer)


def _held(state: RankState, name: str, version: int, graph: Graph, store: Path, observer: Progress) -> dict[str, Any]:
    """Settle a graph on the ranks, hold it, and describe it."""
    comm = state.comm
    graph, local, policy = _settled(state, graph, observer)
    state.graphs.hold(name, version, graph, store)
    bytes_held = _array_bytes(local, local.out, *(getattr(local, name, None) for name in ("built", "vertices")))
    facts = {
        "n": graph.n, "m": graph.m, "arcs": graph.arcs, "directed": graph.directed,
        "weight_type": None if graph.weight_type is None else graph.weight_type.name,
        "ids": "integer" if graph.ids.names is None else "string",
        "policy": policy, "fingerprint": graph.fingerprint(), **plain(asdict(graph.facts)),
    }  # fmt: skip
    by_rank = comm.allgather(np.array([bytes_held], np.int64))[:, 0].tolist()
    return {"facts": facts, "bytes_by_rank": by_rank, "columns": list(graph.columns)}


def _settled(state: RankState, graph: Graph, observer: Progress) -> tuple[Graph, LocalGraph, str]:
    """Partition a graph, and copy it to the ranks' GPUs where its runs go there; return it, its part and the policy."""
    if state.device in ONE_THREAD and graph.arcs <= SMALL:
        graph = graph.on(device=ONE_THREAD[state.device])
    record = Record(state.comm, [])
    local = local_graph(graph, record, observer)
    graph.drop_rows()
    _upload(graph, local, record, observer)
    return graph, local, next(choice["taken"] for choice in record.choices if choice["what"] == "policy")


def _upload(graph: Graph, local: LocalGraph, record: Record, observer: Progress) -> None:
    """Copy a graph to this rank's GPU, if its runs go there, so that the first job finds it; collective."""
    backend, _ = opened(graph, Options(), record, observer)
    try:
        backend.prepare(local, graph.comm)
        with suppress(OutOfMemory):  # a job evicts other graphs, or is refused with the figures
            backend.upload(local)
    finally:
        backend.leave()


def _array_bytes(*holders: Any) -> int:
    """Return the bytes of the arrays, here or on a GPU, that are attributes of objects; an array counts once."""
    arrays = {
        id(value): value.nbytes
        for holder in holders
        if holder is not None
        for value in vars(holder).values()
        if hasattr(value, "nbytes")
    }
    return sum(arrays.values())
