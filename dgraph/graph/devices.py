"""Devices: where the rounds of a graph run. A description only; ``dgraph/backend`` opens the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dgraph._support.byte_sizes import parse_bytes
from dgraph.errors import UsageError, unknown

ALLOCATORS = ("pool", "cupy")

Memory = int | float | str | None
"""Limit of memory: bytes, a share of the whole, a size such as "20GiB"; None: no limit."""


def _check_threads(threads: int | None) -> None:
    if threads is not None and threads < 1:
        raise UsageError(f"{threads} threads cannot work; give 1 or more, or leave --threads (threads=) out")


def _check_memory(memory: Memory, allocator: str) -> None:
    if isinstance(memory, str):
        parse_bytes(memory)
    elif memory is not None and (
        isinstance(memory, bool) or not memory > 0 or (isinstance(memory, float) and memory > 1)
    ):
        raise UsageError(
            f"memory={memory!r} limits nothing; give bytes, a size such as '20GiB', or a share such as 0.5"
        )
    if allocator not in ALLOCATORS:
        raise unknown("allocator", allocator, ALLOCATORS)


def bytes_allowed(memory: Memory, total: int) -> int | None:
    """Return ``memory`` of a :class:`Cuda` in bytes, for a GPU of ``total`` bytes; None if there is no limit."""
    if isinstance(memory, str):
        return parse_bytes(memory)
    return int(memory * total) if isinstance(memory, float) else memory


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
        memory: most GPU memory that dgraph's arrays and messages take in this process: bytes, a size such as "20GiB",
            or a float, a share of the GPU's memory; None: what is free. A run that needs more is refused before it
            allocates. CUDA's own memory (context, machine code) is not in it.
        allocator: "pool", a memory pool of dgraph's own; or "cupy", the allocator that the process has set for CuPy,
            such as RMM's. It gets freed memory back at once. Messages between GPUs are not allocated by it. What is
            free in a pool behind it is unknown, so give ``memory``, too.

    Raises:
        UsageError: a limit that is not a size, or an unknown allocator.
    """

    gpus: str | None = None
    transport: str = "auto"
    share: bool = False
    memory: Memory = None
    allocator: str = "pool"

    def __post_init__(self) -> None:
        _check_memory(self.memory, self.allocator)


@dataclass(frozen=True)
class Auto:
    """A GPU where a rank has one, as :class:`Cuda` describes it, else CPU threads, as :class:`Cpu` describes them."""

    threads: int | None = None
    gpus: str | None = None
    transport: str = "auto"
    share: bool = False
    memory: Memory = None
    allocator: str = "pool"

    def __post_init__(self) -> None:
        _check_threads(self.threads)
        _check_memory(self.memory, self.allocator)


DEVICES: dict[str, type] = {"auto": Auto, "cpu": Cpu, "cuda": Cuda}

Device = str | Auto | Cpu | Cuda | Any
"""A word of ``DEVICES``, an :class:`Auto`, :class:`Cpu` or :class:`Cuda`, or a backend that exists already."""


def described(device: Device) -> Any:
    """Return the description that a word stands for; other devices unchanged.

    Raises:
        UsageError: an unknown word, or an object of another type.
    """
    if isinstance(device, str):
        if device not in DEVICES:
            raise unknown("device", device, DEVICES)
        return DEVICES[device]()
    if not isinstance(device, (Auto, Cpu, Cuda)) and not hasattr(device, "machine"):
        raise UsageError(f"device = {device!r} is not a device; give 'auto', 'cpu', 'cuda', Cpu(…) or Cuda(…)")
    return device
