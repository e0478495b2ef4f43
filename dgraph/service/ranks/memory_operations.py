"""Operations on memory: the estimate of a run on a graph that is there, and what each rank uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dgraph.algorithms import ALGORITHMS
from dgraph.backend import has_gpu
from dgraph.backend.build import is_large
from dgraph.comm.hosts import ranks_here
from dgraph.comm.memory import free_memory
from dgraph.engine.rounds.progress import Progress
from dgraph.errors import OutOfMemory, UsageError, unknown
from dgraph.graph.build.simplify import removable
from dgraph.graph.generate import is_generator
from dgraph.graph.stored_graph import Graph
from dgraph.service.ranks.rank_state import RankState, Request

SHAPING = ("k", "variant", "return_predecessors", "weighted")
"""Parameters on which the memory of a run depends."""


def estimate(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Estimate the memory that a run takes beside the graph, or a load takes, and compare it with what is free."""
    comm = state.comm
    graph = None if request.get("source") is not None else state.graph(request)
    needed = 0
    with comm.together():
        if comm.rank == 0:
            needed = _needed(state, request, graph)
    needed = comm.largest(needed)
    on_gpu = graph is not None and graph.kept_backend is not None
    while True:
        free = graph.kept_backend.device.free(needed) if on_gpu else free_memory()  # type: ignore[union-attr]
        free = free // len(ranks_here(comm)) if free is not None and not on_gpu else free
        available = comm.allgather(np.array([-1 if free is None else free], np.int64))[:, 0].tolist()
        fits = all(available_bytes < 0 or needed <= available_bytes for available_bytes in available)
        if fits or not on_gpu or not state.graphs.evict((request["graph"], request["version"])):
            break
    return {
        "bytes_by_rank": [needed] * comm.size,
        "available_by_rank": [None if available_bytes < 0 else available_bytes for available_bytes in available],
        "fits": fits,
    }


def refuse_large(state: RankState, source: str, options: dict[str, Any], observer: Progress) -> None:
    """Refuse a generator whose graph the hosts cannot hold, unless GPUs may build it; collective.

    Raises:
        OutOfMemory: with the figures.
    """
    on_gpus = state.device != "cpu" and is_generator(source) and is_large(source, state.device, "auto")
    if not is_generator(source) or (on_gpus and not state.comm.total(not has_gpu())):
        return
    plan = estimate(state, {"source": source, "options": options}, observer)
    if not plan["fits"]:
        free = min(available for available in plan["available_by_rank"] if available is not None)
        raise OutOfMemory(
            f"{source} needs up to {plan['bytes_by_rank'][0]:,} bytes on each of {state.comm.size} ranks, and a rank "
            f"has {free:,}; name a smaller graph, drop others, or start more ranks on more hosts"
        )


def memory(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Return the memory that each rank uses, in bytes."""
    on_gpu = next((graph for graph in state.graphs if graph.kept_backend is not None), None)
    return {"by_rank": state.comm.allgather_json(_used(on_gpu))}


def _needed(state: RankState, request: Request, graph: Graph | None) -> int:
    """Return the most bytes that a rank takes beside what it holds now."""
    from dgraph.tools.estimate import Shape, kept_parts, shape_of
    from dgraph.tools.estimate import estimate as plan_of

    name, parameters = request.get("algorithm") or "bfs", request.get("parameters") or {}
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    work = ALGORITHMS[name]
    shaping = {key: parameters[key] for key in SHAPING if parameters.get(key) is not None}
    shaping |= {"source": 0} if work.needs_source else {}
    if graph is None:
        source, options = request["source"], request.get("options") or {}
        if not is_generator(source):
            raise UsageError(f"{source} is a file; only a generator's memory is known before it is loaded; load it")
        shape = shape_of(source, **options)
    else:
        weight = graph.weight_type.itemsize if graph.weight_type is not None and work.weighted else 0
        skewed = graph.facts.largest_degree * graph.n > 64 * graph.arcs
        kept = kept_parts(*removable(graph.facts))
        shape = Shape(graph.n, graph.m, graph.directed, weight, skewed=skewed, kept=kept)
    plan = plan_of(name, shape, state.comm.size, parameters=shaping, undirected=work.undirected)
    if graph is None:
        return max(plan.load, plan.build, plan.rounds)
    if graph.kept_backend is not None:
        return plan.gpu.state + plan.gpu.messages + plan.gpu.incoming
    remade = (work.undirected and graph.directed) or set(shape.kept) & set(work.edge_rule.stripped)
    return plan.rounds if remade else max(plan.rounds - plan.graph, 0)


def _used(graph: Graph | None) -> dict[str, int]:
    """Return this rank's memory: of the GPU that holds ``graph``, and of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    engine = graph.kept_backend if graph is not None else None
    used, total = (0, 0) if engine is None else (engine.device.taken(), engine.device.total())
    return {"device_used": used, "device_total": total, "host_used": pages << 12}
