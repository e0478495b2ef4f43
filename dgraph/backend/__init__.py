"""Backends: what runs a program's rounds on one rank. Each gives a program a ``Machine`` (``interface.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dgraph.backend.interface import Backend
from dgraph.backend.schedule_options import DEVICE, HOST
from dgraph.backend.transport_names import AUTO, MPI_HOST, TRANSPORTS, Connection, connect
from dgraph.errors import UsageError, unknown
from dgraph.program.traversal import Traversal

if TYPE_CHECKING:
    from dgraph.backend.cuda.gpu_options import Options

__all__ = ["BACKENDS", "Backend", "Connection", "backend", "connect"]

BACKENDS = ("auto", "cpu", "cuda")


def backend(
    name: str | Backend,
    threads: int | None,
    ranks_here: int,
    place: int = 0,
    alone: bool = True,
    *,
    masks: Sequence[int] = (),
    schedule: str | None = None,
    gpus: str | None = None,
    record: str | None = None,
    local_rounds: bool = False,
    device: object = None,
    held: Backend | None = None,
    host_rounds: bool = False,
    overlap: bool = False,
    across_limit: int | None = None,
    **choices: object,
) -> Backend:
    """The backend of this name; "auto" is cuda where there is a GPU and CuPy, else cpu.

    Args:
        name: "auto", "cpu", "cuda", or a backend that is made already.
        threads: CPU threads a rank; None: the cores of this node, divided among its ranks.
        ranks_here: ranks that share this node.
        place: this rank's number among them, which chooses its GPU.
        alone: whether there is no other rank on any node.
        masks: the cores that each rank of this node may use, a bit each.
        schedule: see :class:`dgraph.backend.cuda.gpu_options.Options`.
        gpus: "0,1,2,3": the GPU of each rank of this node, by place.
        record: what a GPU run records beside: "load", "time" and "ranges", with commas between them.
        local_rounds: GPUs run rounds of their own between exchanges.
        device: the GPU that a graph was built on: no other can work on it.
        held: the backend that has the graph on its GPU since an earlier run.
        host_rounds: hosts agree on the ends of broad rounds, where GPUs could.
        overlap: GPUs exchange and walk edges inside ranks at the same time.
        across_limit: vertices and edges a rank of a round up to which GPUs stay in one kernel; None: as measured.
        choices: options of schedules, see ``dgraph.backend.schedule_options``; None: not given.

    Raises:
        UsageError: an unknown name, no GPU or no CuPy where they were asked for, options of the other backend.
    """
    if not isinstance(name, str):
        return name
    if threads is not None and threads < 1:
        raise UsageError(f"{threads} threads cannot work; give 1 or more, or leave --threads out")
    given = {
        "schedule": schedule,
        "record": record,
        "local_rounds": local_rounds or None,
        "host_rounds": host_rounds or None,
        "overlap": overlap or None,
        "across_limit": across_limit,
        **choices,
    }
    if _takes_gpu(name, gpus=gpus, **given):
        from dgraph.backend.cuda.backend import CudaBackend

        if isinstance(held, CudaBackend) and held.has(gpus, place, ranks_here):
            gpu = held.choosing(_options(**given))
        else:
            gpu = CudaBackend(place, ranks_here, alone, _options(**given), device, gpus)
        gpu.why = "asked for" if name == "cuda" else "a GPU is there"
        return gpu
    if device is not None:
        raise UsageError("the graph was built on GPUs, and this run has none; load it with build='host'")
    from dgraph.backend.cpu.backend import CpuBackend

    cpu = CpuBackend(threads, ranks_here, masks)
    cpu.why = "asked for" if name == "cpu" else "there is no GPU, or no CuPy to reach it"
    return cpu


def refuse_early(
    name: str, transport: str = AUTO, traversal: Traversal | None = None, *, gpus: str | None = None, build: str = HOST,
    **given: object,
) -> None:  # fmt: skip
    """Refuse what :func:`backend` and :func:`connect` would, as far as one process can tell before anything is loaded.

    Args:
        way: how the algorithm wants to be walked, where it has a say.
        build: where the graph is to be built.
        given: as for :func:`backend`.

    Raises:
        UsageError: an option, or a GPU that is not there.
    """
    if transport not in (AUTO, *TRANSPORTS):
        raise unknown("transport", transport, (AUTO, *TRANSPORTS))
    asked = {
        "transport": None if transport in (AUTO, MPI_HOST) else transport,
        "build": build if build == DEVICE else None,
    }
    if _takes_gpu(name, gpus=gpus, **asked, **given):
        from dgraph.backend.cuda.device.device import some

        some()
        _options(**given)
    elif traversal is not None:
        traversal.refuse_without_gpu()


def _options(**given: object) -> Options:
    from dgraph.backend.cuda.gpu_options import Options, recording

    wanted = {key: value for key, value in given.items() if value is not None}
    return Options(**(wanted | recording(wanted.pop("record", None))))  # type: ignore[arg-type]


def _takes_gpu(name: str, **about_gpus: object) -> bool:
    """Whether the backend of this name is cuda here; options that are about GPUs are refused where it is not.

    Raises:
        UsageError: an unknown name, or such an option.
    """
    if name not in BACKENDS:
        raise unknown("backend", name, BACKENDS)
    if name == "cuda" or (name == "auto" and _has_gpu()):
        return True
    for option, value in about_gpus.items():
        if value is not None:
            raise UsageError(
                f"--{option.replace('_', '-')} is about GPUs, and this run has none; leave it out, or see why "
                "--backend cuda fails"
            )
    return False


def _has_gpu() -> bool:
    if find_spec("cupy") is None:
        return False
    from dgraph.backend.cuda.device.device import count

    return count() > 0
