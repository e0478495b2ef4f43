"""Memory that other processes and the network may touch: whole allocations, pinned memory, streams of copies.

Arrays of a machine come from a pool (``device.py``); nothing here does, because an IPC handle opens a whole allocation.
[CUDA Runtime API, sections 6.10 and 6.12]
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any
from uuid import UUID

import numpy as np

from dgraph.errors import InternalError

WHOLE = 2 << 20
"""Bytes of the driver's blocks: allocations of whole blocks share them with no other."""

ANY_DIRECTION = 4
"""cudaMemcpyDefault: addresses tell."""

MPS_ENABLED = 133
"""cudaDevAttrMpsEnabled."""


class IpcMemory:
    """Of one GPU. Streams and events are CuPy's; ``None`` for a stream is the current one.

    Args:
        nccl: what gives CuPy's module for NCCL, or None where there is none.
        give_back: what makes room where there is no memory left.

    Attributes:
        names_are_bytes: whether CuPy's NCCL takes a unique id as bytes; before CuPy 14 it is a tuple of signed bytes.
    """

    def __init__(self, xp: Any, number: int, nccl: Callable[[], Any], give_back: Callable[[], None]):
        self.nccl, self._give_back = nccl, give_back
        self.xp, self.runtime, self.number = xp, xp.cuda.runtime, number
        self.names_are_bytes = int(xp.__version__.split(".")[0]) >= 14
        self._uuids: dict[int, str] = {}

    def malloc(self, size: int) -> int:
        """The address of ``size`` zeros or more."""
        size = -(-size // WHOLE) * WHOLE
        try:
            address = int(self.runtime.malloc(size))
        except self.runtime.CUDARuntimeError:  # the pools of arrays keep what these left
            self._give_back()
            address = int(self.runtime.malloc(size))
        self.runtime.memset(address, 0, size)
        self.runtime.deviceSynchronize()
        return address

    def use(self) -> None:
        """Make it this thread's GPU."""
        self.runtime.setDevice(self.number)

    def free(self, address: int) -> None:
        self.runtime.free(address)

    def share(self, address: int) -> bytes:
        """A handle by which another process of this host can :meth:`open` the allocation."""
        return bytes(self.runtime.ipcGetMemHandle(address))

    def open(self, handle: bytes) -> int:
        """The address here of another process's allocation. Raises ``RuntimeError`` where the driver refuses."""
        return int(self.runtime.ipcOpenMemHandle(handle))

    def close(self, address: int) -> None:
        self.runtime.ipcCloseMemHandle(address)

    def pinned(self, size: int) -> np.ndarray:
        """Host memory that copies reach at full speed, as bytes."""
        return np.frombuffer(self.xp.cuda.alloc_pinned_memory(size), np.uint8, size)

    def stream(self, urgent: bool = False) -> Any:
        """``urgent``: its kernels' blocks go before those of others that wait for room."""
        return self.xp.cuda.Stream(non_blocking=True, priority=-1 if urgent else None)

    def event(self) -> Any:
        return self.xp.cuda.Event(disable_timing=True)

    def record(self, event: Any, stream: Any = None) -> None:
        """``event`` is reached when all that was given to ``stream`` so far is done."""
        event.record(stream or self.xp.cuda.get_current_stream())

    def reached(self, event: Any) -> bool:
        return bool(event.done)

    def hold(self, event: Any, stream: Any = None) -> None:
        """What is given to ``stream`` from now on waits for ``event``."""
        (stream or self.xp.cuda.get_current_stream()).wait_event(event)

    def copy(self, to: int, source: int, size: int, stream: Any = None) -> None:
        """Copy ``size`` bytes between addresses of GPUs or pinned memory, in the order of ``stream``."""
        stream = stream or self.xp.cuda.get_current_stream()
        self.runtime.memcpyAsync(to, source, size, ANY_DIRECTION, stream.ptr)

    def uuid(self, number: int | None = None) -> str:
        """Of this GPU, or of another that this process sees; as ``nvidia-smi -L`` tells it."""
        number = self.number if number is None else number
        if number not in self._uuids:
            found, device = ctypes.create_string_buffer(16), ctypes.c_int()
            driver = ctypes.CDLL("libcuda.so.1")
            driver.cuDeviceGet(ctypes.byref(device), number)
            if driver.cuDeviceGetUuid_v2(found, device):
                raise InternalError(f"the driver does not tell the UUID of GPU {number}")
            self._uuids[number] = f"GPU-{UUID(bytes=found.raw)}"
        return self._uuids[number]

    def reaches(self, uuid: str) -> bool | None:
        """Whether this GPU can address another one's memory; None where this process does not see the other."""
        for other in range(self.runtime.getDeviceCount()):
            if self.uuid(other) == uuid:
                return bool(self.runtime.deviceCanAccessPeer(self.number, other))
        return None

    def under_mps(self) -> bool:
        """Whether the Multi-Process Service stands between this process and the GPU."""
        try:
            return bool(self.runtime.deviceGetAttribute(MPS_ENABLED, self.number))
        except self.runtime.CUDARuntimeError:  # a runtime older than the question
            return False
