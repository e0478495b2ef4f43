"""Operations on graphs: load, open, drop, change, and what is known of them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.engine.placement import local_graph
from dgraph.engine.rounds.progress import Progress
from dgraph.engine.rounds.timings import Trace, plain
from dgraph.graph.stored_graph import Graph
from dgraph.service.ranks import graph_store
from dgraph.service.ranks.rank_state import RankState, Request


def load(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Load a graph and write it to the folder ``store``."""
    observer.phase("load", request["source"])
    options = request.get("options") or {}
    graph = graph_store.load(request["source"], options, Path(request["store"]), state.device, state.comm)
    return _held(state, request, request["version"], graph, observer)


def table(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Load a graph from a file of edges that the front received."""
    observer.phase("load", request["format"])
    options, path, store = request.get("options") or {}, Path(request["path"]), Path(request["store"])
    graph = graph_store.load_table(path, request["format"], options, store, state.device, state.comm)
    return _held(state, request, request["version"], graph, observer)


def reopen(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Open a graph that ``load``, ``table`` or ``change`` wrote."""
    observer.phase("open", request["graph"])
    graph = graph_store.open_stored(Path(request["store"]), state.device, state.comm)
    return _held(state, request, request["version"], graph, observer)


def drop(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Close one version of a graph, or all."""
    state.graphs.drop(request["graph"], request.get("version"))
    return {}


def _held(state: RankState, request: Request, version: int, graph: Graph, observer: Progress) -> dict[str, Any]:
    """Partition a graph, keep it, and describe it."""
    comm = state.comm
    trace = Trace(comm, [])
    local = local_graph(graph, trace, observer)
    policy = next(choice["taken"] for choice in trace.choices if choice["what"] == "policy")
    state.graphs.hold(request["graph"], version, graph)
    held = _array_bytes(local, local.out, graph.__dict__.get("_rows"))
    facts = {
        "n": graph.n, "m": graph.m, "arcs": graph.arcs, "directed": graph.directed,
        "weight_type": None if graph.weight_type is None else graph.weight_type.name,
        "ids": "integer" if graph.ids.names is None else "string",
        "policy": policy, "fingerprint": graph.fingerprint(), **plain(asdict(graph.facts)),
    }  # fmt: skip
    return {"facts": facts, "bytes_by_rank": comm.allgather(np.array([held], np.int64))[:, 0].tolist()}


def _array_bytes(*holders: Any) -> int:
    """Return the bytes of the arrays that are attributes of objects; an array counts once."""
    arrays = {
        id(value): value.nbytes
        for holder in holders
        if holder is not None
        for value in vars(holder).values()
        if isinstance(value, np.ndarray)
    }
    return sum(arrays.values())
