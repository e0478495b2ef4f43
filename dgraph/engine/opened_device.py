"""A run's device: the backend of the graph's device, connected to those of the other ranks."""

from __future__ import annotations

import os
from typing import Any

from dgraph._support.affinity import mask
from dgraph.backend import Backend, backend, connect
from dgraph.comm.hosts import FAKE, ranks_here
from dgraph.engine.rounds.progress import Progress
from dgraph.engine.rounds.record import Record
from dgraph.engine.run_options import Options
from dgraph.graph.devices import described
from dgraph.graph.handle import Graph

_cpus: dict[int, Backend] = {}
"""Backend of this process' last run on CPUs, by the cores that it may use."""

MOST_GPUS = 16
"""GPUs that the report's line about the choice of GPUs names; its JSON has them all."""


class DeviceBlock:
    """Block of a run, at whose end its backend is left, once it is opened, and optimises what was compiled quickly."""

    backend: Backend | None = None

    def __enter__(self) -> DeviceBlock:
        return self

    def __exit__(self, *error: object) -> None:
        if self.backend is not None:
            self.backend.leave()
            self.backend.optimise()


def still_open(graph: Graph, options: Options) -> tuple[bool, bool]:
    """Return (the graph's device is open for these options, its GPUs exchange messages); not collective."""
    kept, _, _, ready = _kept(graph, options)
    return ready, ready and kept is not None and kept.repeats


def opened(
    graph: Graph, options: Options, record: Record, progress: Progress, ready: bool | None = None
) -> tuple[Backend, int]:
    """Open the graph's device and join the ranks; return the backend and this rank's index on its node; collective.

    Args:
        graph: of the run.
        options: of the run.
        record: receives the choices.
        progress: prints them.
        ready: :func:`still_open` is true of the device on all ranks; None: ranks have not agreed on that.
    """
    record.describe("graph", **vars(graph.facts))
    backend, place = _opened(graph, options, record, progress, ready)
    if graph.building is not None and backend.put is not None:
        record.choose("build", *graph.building)
    return backend, place


def _kept(graph: Graph, options: Options) -> tuple[Backend | None, tuple, bool, bool]:
    """Return the backend of an earlier run, what this run asks of it, if a name was given for it, if it is open so."""
    comm, device, kept = graph.comm, described(graph.device), graph.kept_backend
    named = not isinstance(device, Backend)
    if not named:
        kept = device
    elif kept is None and graph.built_on is None:
        kept = _cpus.get(mask())
    ranks = (comm, os.environ.get(FAKE)) if comm.size > 1 else ()
    asked = device if named else _joining(device), options, *ranks
    return kept, asked, named, kept is not None and kept.opened is not None and kept.opened[0] == asked


def _joining(device: Any) -> tuple[str, bool]:
    """Return the transport that a device names, and True if its ranks may share a GPU."""
    return getattr(device, "transport", "auto"), getattr(device, "share", False)


def _opened(
    graph: Graph, options: Options, record: Record, progress: Progress, ready: bool | None
) -> tuple[Backend, int]:
    comm = graph.comm
    kept, asked, named, is_open = _kept(graph, options)
    if ready is None:
        ready = not comm.total(not is_open)
    if ready:
        assert kept is not None
        assert kept.opened is not None
        kept.reopen()
        _, record.gpu, choices, warnings, place = kept.opened
        record.ranges = kept.ranges
        for choice in choices:
            record.choose(*choice)
        for warning in warnings:
            record.warn(warning)
        return kept, place
    here, masks, device = ranks_here(comm), comm.allgather_cached("mask", mask), described(graph.device)
    with comm.together():
        engine = backend(
            device, len(here), here.index(comm.rank), comm.size == 1,
            masks=[masks[rank] for rank in here], options=options.gpu_keywords(), named=options.named(),
            built_on=graph.built_on, kept=graph.kept_backend,
        )  # fmt: skip
    joined = connect(engine, comm, *_joining(device))
    record.ranges = engine.ranges
    choices = [("backend", engine.name, engine.why), ("threads", str(engine.threads), engine.reason)]
    if joined.gpus:
        record.gpu = joined.gpus[comm.rank]
        numbers = ", ".join(str(gpu["number"]) for gpu in joined.gpus)
        choices.append(("gpus", numbers, gpus_by_rank(joined.gpus)))
    choices.append(("transport", joined.transport, joined.reason))
    for choice in choices:
        record.choose(*choice)
    if joined.gpus and comm.size > 1:
        progress.line(f"transport {joined.transport}: {joined.reason}")
    warnings = [warning for warning in (engine.warning, *joined.warnings) if warning]
    for warning in warnings:
        record.warn(warning)
        progress.line(warning)
    engine.opened = asked, record.gpu, choices, warnings, here.index(comm.rank)
    if named:
        if engine.keeps:
            graph.keep_backend(engine)
        else:
            _cpus.clear()
            _cpus[mask()] = engine
    return engine, here.index(comm.rank)


def gpus_by_rank(gpus: list[dict]) -> str:
    """Return how ranks came to their GPUs and which GPU each rank has; at most ``MOST_GPUS`` ranks are listed."""
    named = [f"rank {rank} {gpu['name']} {gpu['uuid']}" for rank, gpu in enumerate(gpus[:MOST_GPUS])]
    more = [f"{len(gpus) - MOST_GPUS} more"] if len(gpus) > MOST_GPUS else []
    return f"{', '.join(dict.fromkeys(gpu['how'] for gpu in gpus))}: {', '.join(named + more)}"
