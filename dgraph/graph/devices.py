"""Devices: where the rounds of a graph run. A description only; ``dgraph/backend`` opens the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dgraph._support.arguments import choice, flag, integer, real, text
from dgraph._support.sizes import parse_size
from dgraph.errors import UsageError, unknown

ALLOCATORS = ("pool", "cupy")


def _check_gpu(device: Cuda | Auto) -> None:
    if device.memory is not None:
        memory_limit(device.memory, 1)
    if device.gpus is not None:
        text("gpus", device.gpus, more=", or None")
    text("transport", device.transport)
    flag("share", device.share)
    choice("allocator", device.allocator, ALLOCATORS)


def memory_limit(memory: float | str, total: int) -> int:
    """Return a limit of GPU memory in bytes.

    Args:
        memory: bytes, a text such as "20GiB", or a share of the GPU as a float between 0 and 1.
        total: bytes of the GPU.

    Raises:
        UsageError: not a size, or not positive.
    """
    if isinstance(memory, float) and 0 < memory <= 1:
        return int(memory * total)
    size = 0
    if isinstance(memory, str):
        try:
            size = parse_size(text("memory", memory))
        except UsageError as refused:
            raise UsageError(f"memory: {refused}") from None
    elif real("memory", memory, 0) < 2**63:
        size = int(memory)
    if size < 1:
        raise UsageError(f"memory = {memory!r} is not a limit; give bytes, '20GiB', or a share such as 0.5")
    return size


def _check_threads(threads: int | None) -> None:
    if threads is not None and integer("threads", threads, more=", or None") < 1:
        raise UsageError(f"{threads} threads cannot work; give 1 or more, or leave --threads (threads=) out")


@dataclass(frozen=True)
class Cpu:
    """CPU threads.

    Attributes:
        threads: threads a rank; None: the cores of the node divided by its ranks.
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        _check_threads(self.threads)


@dataclass(frozen=True)
class Cuda:
    """One NVIDIA GPU a rank.

    Attributes:
        gpus: "0,1,2,3": the GPU number of each rank of a node, in rank order; None: GPUs are taken in turn.
        transport: carrier of messages between GPUs: "auto", "p2p", "nccl", "mpi-device" or "mpi-host".
        share: True lets several ranks use one GPU.
        memory: most GPU memory of the arrays and messages of this process' graphs: bytes, "20GiB", or a share such as
            0.5; None: all that is free. A run that cannot fit is refused, with figures. CUDA itself takes some more.
        allocator: "pool", a memory pool of dgraph's own, which keeps freed blocks for the next run; or "cupy", the
            allocator that the process set in CuPy, such as RMM's, which gets them back at once. What is free in a pool
            behind it is not known, so give ``memory``, too. Messages between GPUs are not allocated by it.
    """

    gpus: str | None = None
    transport: str = "auto"
    share: bool = False
    memory: float | str | None = None
    allocator: str = "pool"

    def __post_init__(self) -> None:
        _check_gpu(self)


@dataclass(frozen=True)
class Auto:
    """A GPU where a rank has one, as :class:`Cuda` describes it, else CPU threads, as :class:`Cpu` describes them."""

    threads: int | None = None
    gpus: str | None = None
    transport: str = "auto"
    share: bool = False
    memory: float | str | None = None
    allocator: str = "pool"

    def __post_init__(self) -> None:
        _check_threads(self.threads)
        _check_gpu(self)


DEVICES: dict[str, type] = {"auto": Auto, "cpu": Cpu, "cuda": Cuda}

Device = str | Auto | Cpu | Cuda | Any
"""A word of ``DEVICES``, an :class:`Auto`, :class:`Cpu` or :class:`Cuda`, or a backend that exists already."""


def described(device: Device) -> Any:
    """Return the description that a word stands for; other devices unchanged.

    Raises:
        UsageError: an unknown word, or an object of another type.
    """
    if isinstance(device, str):
        if device.lower() == "gpu":
            raise UsageError(f"unknown device {device!r}: it is called 'cuda'")
        if device not in DEVICES:
            raise unknown("device", device, DEVICES)
        return DEVICES[device]()
    if not isinstance(device, (Auto, Cpu, Cuda)) and not hasattr(device, "machine"):
        raise UsageError(f"device = {device!r} is not a device; give 'auto', 'cpu', 'cuda', Cpu(…) or Cuda(…)")
    return device
