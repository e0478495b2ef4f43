"""Backends: what runs a program's rounds on one rank. Each gives a program a ``Machine`` (``interface.py``).

:func:`backend` opens the device that a graph names; :func:`~dgraph.backend.transport_names.connect` joins the ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dgraph._support import affinity
from dgraph.backend.backend_base import Backend
from dgraph.backend.schedule_options import DEVICE, HOST
from dgraph.backend.transport_names import AUTO, MPI_HOST, TRANSPORTS, Connection, connect
from dgraph.errors import UsageError, option, unknown
from dgraph.graph.devices import Auto, Cpu, Cuda, Device, described
from dgraph.program.traversal import Traversal

if TYPE_CHECKING:
    from dgraph.backend.cuda.gpu_options import GpuPlan

__all__ = ["Backend", "Connection", "backend", "connect", "has_gpu", "refuse_early"]


def backend(
    device: Device = "auto",
    ranks_here: int = 1,
    place: int = 0,
    alone: bool = True,
    *,
    masks: Sequence[int] = (),
    options: Mapping[str, Any] | None = None,
    named: Mapping[str, str] | None = None,
    built_on: object = None,
    kept: Backend | None = None,
) -> Backend:
    """Open a device; "auto" is a GPU where there is one and CuPy, else the CPU.

    Args:
        device: as of :data:`dgraph.graph.devices.Device`; a backend is returned unchanged.
        ranks_here: ranks that share this node.
        place: index of this rank among them, which chooses its GPU.
        alone: True if there is no other rank on any node.
        masks: the cores that each rank of this node may use, a bit each.
        options: keywords of the GPU backend, see :meth:`dgraph.engine.run_options.Options.gpu_keywords`.
        named: the same as the user wrote them, for the error where there is no GPU.
        built_on: the GPU that a graph was built on: no other can run on it.
        kept: the backend that has the graph on its GPU since an earlier run.

    Raises:
        UsageError: an unknown device, no GPU or no CuPy where one was named, GPU options on the CPU.
    """
    wanted = described(device)
    if isinstance(wanted, Backend):
        return wanted
    if _takes_gpu(wanted, named or {}):
        from dgraph.backend.cuda.backend import CudaBackend

        chosen = _options(options or {})
        if isinstance(kept, CudaBackend) and kept.has(wanted.gpus, place, ranks_here, wanted.allocator):
            gpu = kept.choosing(chosen)
        else:
            gpu = CudaBackend(place, ranks_here, alone, chosen, built_on, wanted.gpus, wanted.allocator)
            mine = affinity.mask()
            gpu.host_threads = affinity.share(masks or [mine] * ranks_here, mine)
        gpu.device.cap(wanted.memory)
        gpu.why = "a GPU is there" if isinstance(wanted, Auto) else "asked for"
        return gpu
    from dgraph.backend.cpu.backend import CpuBackend

    cpu = CpuBackend(wanted.threads, ranks_here, masks)
    cpu.why = "asked for" if isinstance(wanted, Cpu) else "there is no GPU, or no CuPy to reach it"
    return cpu


def refuse_early(
    device: Device, options: Mapping[str, Any], named: Mapping[str, str], traversal: Traversal | None = None,
    build: str = HOST,
) -> None:  # fmt: skip
    """Refuse what :func:`backend` and :func:`connect` would, as far as one process knows before a graph is loaded.

    Args:
        device: as of :func:`backend`.
        options: as of :func:`backend`.
        named: as of :func:`backend`.
        traversal: how the algorithm's variant goes over edges, where it has one.
        build: where the graph is to be built.

    Raises:
        UsageError: an option of GPUs without a GPU, or an unknown transport.
    """
    wanted, named = described(device), dict(named)
    transport = getattr(wanted, "transport", AUTO)
    if transport not in (AUTO, *TRANSPORTS):
        raise unknown("transport", transport, (AUTO, *TRANSPORTS))
    if transport not in (AUTO, MPI_HOST):
        named["transport"] = transport
    if build == DEVICE:
        named["build"] = build
    if _takes_gpu(wanted, named):
        from dgraph.backend.cuda.device.device import visible_gpus

        visible_gpus()
        _options(options)
    elif traversal is not None:
        traversal.refuse_without_gpu()


def _options(keywords: Mapping[str, Any]) -> GpuPlan:
    """Return the GPU backend's options from its keywords."""
    from dgraph.backend.cuda.gpu_options import GpuPlan

    return GpuPlan(**keywords)


def _takes_gpu(wanted: Auto | Cpu | Cuda, named: Mapping[str, str]) -> bool:
    """Return True if the device is a GPU here.

    Raises:
        UsageError: it is not, and an option of GPUs was given.
    """
    if isinstance(wanted, Cuda) or (isinstance(wanted, Auto) and has_gpu()):
        return True
    about = {"gpus": getattr(wanted, "gpus", None), "gpu_memory": getattr(wanted, "memory", None)}
    gpus = {name: value for name, value in about.items() if value is not None}
    for name, value in (gpus | dict(named)).items():
        raise UsageError(
            f"{option(name, value)} is about GPUs, and this run has none; leave it out, or see why "
            f"{option('backend', 'cuda')} fails"
        )
    return False


@cache
def _has_cupy() -> bool:
    return find_spec("cupy") is not None


def has_gpu() -> bool:
    """Return True if this process sees a GPU, and has CuPy to reach it."""
    if not _has_cupy():
        return False
    from dgraph.backend.cuda.device.device import count

    return count() > 0
