"""The GPU of this rank through CuPy: memory, modules, launches. The only file that imports it."""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from dgraph._support.cache import folder, publish
from dgraph.backend.affinity import cores
from dgraph.backend.cuda.codegen.control_block import BLOCK
from dgraph.backend.cuda.device import nvrtc, pools
from dgraph.backend.cuda.device.compiled_module import Module
from dgraph.backend.cuda.device.ipc_memory import IpcMemory
from dgraph.comm.forks import began
from dgraph.errors import UsageError

LARGE = 2 << 30
"""Bytes of an array from which on the host does not hold it a second time while it goes up."""


NOT_INITIALIZED = 3
"""``cudaErrorInitializationError``."""


def cupy():
    """CuPy, or an error that says how to get it."""
    try:
        import cupy
    except ImportError as error:
        raise UsageError(
            f"the GPU backend needs CuPy, and {error}; "
            "pip install 'dgraph-analytics[cuda13]' (or [cuda12], as your driver has it)"
        ) from error
    return cupy


def nccl() -> Any:
    """CuPy's module for NCCL, or None where it or NCCL is not there."""
    try:
        from cupy.cuda import nccl
    except ImportError:
        return None
    return nccl if nccl.available else None


def count() -> int:
    """GPUs that this process sees; 0 where there is no driver.

    Raises:
        UsageError: CuPy is not installed, or this process was forked from one that uses CUDA.
    """
    cp = cupy()
    try:
        found = int(cp.cuda.runtime.getDeviceCount())
    except cp.cuda.runtime.CUDARuntimeError as error:
        if error.status == NOT_INITIALIZED:
            raise UsageError(
                "CUDA cannot start here, as in a process that was forked from one that uses it; start this process "
                "with multiprocessing.get_context('spawn'), or use --backend cpu"
            ) from error
        return 0
    began("CUDA")
    return found


def some() -> int:
    """GPUs that this process sees, 1 or more.

    Raises:
        UsageError: CuPy is not installed, or sees none.
    """
    found = count()
    if not found:
        raise UsageError(
            "backend cuda needs an NVIDIA GPU with its driver, and CuPy sees none here "
            "(CUDA_VISIBLE_DEVICES may hide it); use --backend cpu, or run where there is one"
        )
    return found


def profiled() -> bool:
    """Whether Nsight Systems or Nsight Compute started this process: they announce what they inject."""
    return any(name in os.environ for name in ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"))


class CudaDevice:
    """One GPU.

    Attributes:
        name: as its maker calls it.
        architecture: what to compile for, as ``sm_90``.
        blocks: multiprocessors.
        xp: the module whose functions work on its arrays.
        threads: of a block.
        raw: memory that other processes may touch.
        peak: the most bytes that our arrays took at once.
        ranged: whether rounds and phases get names for a profiler.
    """

    def __init__(self, number: int):
        self.xp: Any = cupy()
        self.number = number
        self._device = self.xp.cuda.Device(number)
        self._device.use()
        facts = self.xp.cuda.runtime.getDeviceProperties(number)
        self.name, self.blocks = facts["name"].decode(), int(facts["multiProcessorCount"])
        self.threads = BLOCK
        self.architecture = f"sm_{facts['major']}{facts['minor']}"
        self.pool = pools.pool_of(self)
        self.raw = IpcMemory(self.xp, number, nccl, partial(pools.make_room, self.xp, number, weakref.ref(self)))
        self.peak, self.ranged = 0, profiled()
        self._events: list = []
        self.texts: dict[tuple, dict[tuple, str]] = {}
        self._modules: dict[tuple[str, str], Module] = {}
        self._keys: dict[str, str] = {}
        self._landing: dict[int, tuple] = {}

    def use(self) -> None:
        """Make this thread's new arrays lie on this GPU, in our own pool."""
        self._device.use()
        self.xp.cuda.set_allocator(pools.allocator(self))

    def allocate(self, size: int) -> Any:
        """Memory of an array, for CuPy."""
        for remedy in (self.give_back, self.make_room):
            try:
                memory = self.pool.malloc(size)
                break
            except MemoryError:
                remedy()
        else:
            memory = self.pool.malloc(size)
        self.peak = max(self.peak, self.pool.used_bytes())
        return memory

    def free(self, wanted: int = 0) -> int:
        """Bytes that can still be allocated; where they are fewer than ``wanted``, after :meth:`give_back`, and then
        after graphs of earlier runs have left."""
        for remedy in (self.give_back, self.make_room):
            if self._free() < wanted:
                remedy()
        return self._free()

    def _free(self) -> int:
        return int(self._device.mem_info[0]) + self.pool.free_bytes()

    def give_back(self) -> None:
        """Return to the GPU what this process no longer uses of its memory."""
        pools.give_back(self.xp, self.number)

    def make_room(self) -> None:
        """And what it keeps there for later; not the graph that this device works on."""
        pools.make_room(self.xp, self.number, weakref.ref(self))

    def elsewhere(self) -> int:
        """Bytes of this GPU that other devices of this process hold: those of other graphs."""
        return pools.held(self.number, self.pool)

    def used(self) -> int:
        """Bytes of our arrays now; ``peak`` is the most they ever were, until :meth:`forget_peak`."""
        return self.pool.used_bytes()

    def held(self) -> int:
        """Bytes that our pool took from the GPU: what arrays use, and what they left."""
        return self.pool.total_bytes()

    def forget_peak(self) -> None:
        """Begin ``peak`` again from now."""
        self.peak = self.used()

    def taken(self) -> int:
        """Bytes of the GPU's memory that somebody holds: we, our machine code, other processes."""
        free, total = self._device.mem_info
        return int(total - free)

    def put(self, array):
        """An array on this GPU; one that lies there is returned as it is. CuPy copies an array to pinned memory first:
        a large one goes up without that, in the driver's pieces."""
        if isinstance(array, np.ndarray) and array.nbytes >= LARGE:
            up = self.xp.empty(array.shape, array.dtype)
            up.set(array)
            return up
        return self.xp.asarray(array)

    def get(self, array) -> np.ndarray:
        """A copy on the host."""
        return self.xp.asnumpy(array)

    def address(self, array) -> int:
        return int(array.data.ptr)

    def read(self, array) -> np.ndarray:
        """A small array's values now, through pinned memory; valid until the next call with an array of this size."""
        if array.nbytes not in self._landing:
            memory = self.xp.cuda.alloc_pinned_memory(array.nbytes)
            self._landing[array.nbytes] = memory, np.frombuffer(memory, np.uint8, array.nbytes)
        _, host = self._landing[array.nbytes]
        stream = self.xp.cuda.get_current_stream()
        runtime = self.xp.cuda.runtime
        runtime.memcpyAsync(host.ctypes.data, array.data.ptr, array.nbytes, runtime.memcpyDeviceToHost, stream.ptr)
        stream.synchronize()
        return host.view(array.dtype)

    def write(self, array, values: np.ndarray) -> None:
        """Fill a small contiguous array, in the order of the stream; the driver copies so few bytes at once."""
        values = np.ascontiguousarray(values)
        stream, runtime = self.xp.cuda.get_current_stream(), self.xp.cuda.runtime
        runtime.memcpyAsync(array.data.ptr, values.ctypes.data, array.nbytes, runtime.memcpyHostToDevice, stream.ptr)

    def sort(self, array) -> None:
        """Put a contiguous array of integers into ascending order, in place; it takes as much memory again."""
        array.sort()

    def clear(self, array) -> None:
        """Zero an array, in the order of the stream."""
        array.data.memset_async(0, array.nbytes, self.xp.cuda.get_current_stream())

    def wait(self) -> None:
        self.xp.cuda.get_current_stream().synchronize()

    def on(self, stream: Any) -> Any:
        """A context in which kernels are given to a stream of :meth:`Raw.stream`."""
        return stream

    def mark(self):
        """A moment in the stream; see :meth:`between`."""
        event = self._events.pop() if self._events else self.xp.cuda.Event()
        event.record()
        return event

    def between(self, before, after) -> float:
        """Seconds from one mark to another that the GPU has passed; they are not used again."""
        seconds = self.xp.cuda.get_elapsed_time(before, after) / 1000
        self._events += before, after
        return seconds

    def push(self, name: str) -> None:
        """Begin a range that a profiler shows by its name; call it only where ``ranged``."""
        self.xp.cuda.nvtx.RangePush(name)

    def pop(self) -> None:
        """End the last range that began."""
        self.xp.cuda.nvtx.RangePop()

    def module(self, text: str, name: str) -> Module:
        """The text's kernels; compiled once for all processes that share the cache folder."""
        found = self._modules.get((text, name))
        if found is None:
            path = self._path(text, name)
            self._compile(path, text, name)
            found = self._modules[text, name] = Module(self.xp, path.read_bytes())
        return found

    def compiled(self, text: str, name: str) -> bool:
        """Whether the text's machine code lies in the cache folder."""
        return (text, name) in self._modules or self._path(text, name).exists()

    def prepare(self, texts: Iterable[tuple[str, str]]) -> None:
        """Compile texts, each with its name, side by side: NVRTC releases the interpreter lock."""
        found = {self._path(*wanted): wanted for wanted in texts if wanted not in self._modules}
        missing = {path: wanted for path, wanted in found.items() if not path.exists()}
        if missing:
            with ThreadPoolExecutor(min(len(missing), cores())) as pool:
                list(pool.map(lambda path: self._compile(path, *missing[path]), missing))

    def _path(self, text: str, name: str) -> Path:
        """Of a text's machine code in the cache folder."""
        if text not in self._keys:
            whole = "\n".join([text, self.architecture, _compiler()])
            self._keys[text] = hashlib.sha256(whole.encode()).hexdigest()[:24]
        return folder() / f"{name}_{self.architecture}_{self._keys[text]}.cubin"

    def _compile(self, path: Path, text: str, name: str) -> None:
        if not path.exists():
            publish(path, nvrtc.compiled(text, self.architecture, name))


@cache
def _compiler() -> str:
    return f"{nvrtc.version()} {nvrtc.OPTIONS}"
