"""Memory that other processes and the network may access: whole allocations, pinned memory, streams of copies.

Arrays of a machine come from a pool (``device.py``); memory here does not, because an IPC handle opens a whole
allocation. [CUDA Runtime API, sections 6.10 and 6.12]
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any
from uuid import UUID

import numpy as np

from dgraph.errors import InternalError

WHOLE = 2 << 20
"""Bytes of the driver's blocks. An allocation of whole blocks shares them with no other."""

ANY_DIRECTION = 4
"""``cudaMemcpyDefault``: the addresses determine the direction."""

MPS_ENABLED = 133
"""``cudaDevAttrMpsEnabled``."""


class IpcMemory:
    """Shareable memory of one GPU. Streams and events are CuPy's; ``None`` for a stream is the current one.

    Args:
        xp: CuPy, or a module like it.
        number: number of the GPU.
        nccl: function that returns CuPy's NCCL module, or None where there is none.
        give_back: function that frees cached memory.

    Attributes:
        names_are_bytes: True if CuPy's NCCL takes a unique id as bytes; before CuPy 14 it is a tuple of signed bytes.
    """

    def __init__(self, xp: Any, number: int, nccl: Callable[[], Any], give_back: Callable[[], None]):
        self.nccl, self._give_back = nccl, give_back
        self.xp, self.runtime, self.number = xp, xp.cuda.runtime, number
        self.names_are_bytes = int(xp.__version__.split(".")[0]) >= 14
        self._uuids: dict[int, str] = {}
        self._sizes: dict[int, int] = {}

    def malloc(self, size: int) -> int:
        """Allocate ``size`` zeroed bytes or more and return their address."""
        size = -(-size // WHOLE) * WHOLE
        try:
            address = int(self.runtime.malloc(size))
        except self.runtime.CUDARuntimeError:  # pools of arrays may hold unused memory
            self._give_back()
            address = int(self.runtime.malloc(size))
        self._sizes[address] = size
        self.runtime.memset(address, 0, size)
        self.runtime.deviceSynchronize()
        return address

    def use(self) -> None:
        """Make this GPU the current one of the calling thread."""
        self.runtime.setDevice(self.number)

    def free(self, address: int) -> None:
        """Free an allocation of :meth:`malloc`."""
        self.runtime.free(address)
        self._sizes.pop(address, None)

    def held_bytes(self) -> int:
        """Return the bytes of the allocations of :meth:`malloc`."""
        return sum(self._sizes.values())

    def share(self, address: int) -> bytes:
        """Return a handle by which another process of this host can :meth:`open` an allocation."""
        return bytes(self.runtime.ipcGetMemHandle(address))

    def open(self, handle: bytes) -> int:
        """Map another process' allocation and return its address here.

        Raises:
            RuntimeError: the driver refuses.
        """
        return int(self.runtime.ipcOpenMemHandle(handle))

    def close(self, address: int) -> None:
        """Unmap an address of :meth:`open`."""
        self.runtime.ipcCloseMemHandle(address)

    def pinned(self, size: int) -> np.ndarray:
        """Allocate pinned host memory, as uint8."""
        return np.frombuffer(self.xp.cuda.alloc_pinned_memory(size), np.uint8, size)

    def stream(self, urgent: bool = False) -> Any:
        """Create a stream.

        Args:
            urgent: give its kernels' blocks priority over those of other streams.
        """
        return self.xp.cuda.Stream(non_blocking=True, priority=-1 if urgent else None)

    def event(self) -> Any:
        """Create an event without timing."""
        return self.xp.cuda.Event(disable_timing=True)

    def record(self, event: Any, stream: Any = None) -> None:
        """Record ``event`` behind all work of ``stream`` so far."""
        event.record(stream or self.xp.cuda.get_current_stream())

    def reached(self, event: Any) -> bool:
        """Return True if the work in front of a recorded event is done."""
        return bool(event.done)

    def wait(self, event: Any) -> None:
        """Wait until the work in front of a recorded event is done."""
        event.synchronize()

    def hold(self, event: Any, stream: Any = None) -> None:
        """Make later work of ``stream`` wait for ``event``."""
        (stream or self.xp.cuda.get_current_stream()).wait_event(event)

    def copy(self, to: int, source: int, size: int, stream: Any = None) -> None:
        """Copy ``size`` bytes between addresses of GPUs or pinned memory, in stream order."""
        stream = stream or self.xp.cuda.get_current_stream()
        self.runtime.memcpyAsync(to, source, size, ANY_DIRECTION, stream.ptr)

    def uuid(self, number: int | None = None) -> str:
        """Return the UUID of this GPU, or of another visible one, as ``nvidia-smi -L`` prints it.

        Raises:
            InternalError: the driver refuses.
        """
        number = self.number if number is None else number
        if number not in self._uuids:
            raw_uuid, device = ctypes.create_string_buffer(16), ctypes.c_int()
            driver = ctypes.CDLL("libcuda.so.1")
            driver.cuDeviceGet(ctypes.byref(device), number)
            if driver.cuDeviceGetUuid_v2(raw_uuid, device):
                raise InternalError(f"the driver does not return the UUID of GPU {number}")
            self._uuids[number] = f"GPU-{UUID(bytes=raw_uuid.raw)}"
        return self._uuids[number]

    def can_access(self, uuid: str) -> bool | None:
        """Return True if this GPU can address another's memory; None where this process does not see the other."""
        for other in range(self.runtime.getDeviceCount()):
            if self.uuid(other) == uuid:
                return bool(self.runtime.deviceCanAccessPeer(self.number, other))
        return None

    def under_mps(self) -> bool:
        """Return True if this process reaches the GPU through the Multi-Process Service."""
        try:
            return bool(self.runtime.deviceGetAttribute(MPS_ENABLED, self.number))
        except self.runtime.CUDARuntimeError:  # the runtime is older than the attribute
            return False
