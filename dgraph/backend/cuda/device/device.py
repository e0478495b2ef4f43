"""This rank's GPU through CuPy: arrays, modules, streams. The only file that imports CuPy."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dgraph._support.affinity import cores
from dgraph._support.cache import folder
from dgraph.backend.cuda.codegen.control_block import BLOCK
from dgraph.backend.cuda.device import optimiser, pools, prebuilt
from dgraph.backend.cuda.device.compiled_module import Module
from dgraph.backend.cuda.device.downloads import Downloads
from dgraph.backend.cuda.device.ipc_memory import IpcMemory
from dgraph.backend.cuda.device.machine_code import MachineCode, quick
from dgraph.backend.cuda.device.uploads import PIECE, SLOTS, Pinned, Reader, Uploads
from dgraph.comm.base import Make
from dgraph.comm.forks import began
from dgraph.errors import UsageError, option
from dgraph.graph.devices import memory_limit

LARGE = SLOTS * PIECE
"""Bytes from which on threads upload an array if their pinned memory does not exist: the driver is done before."""


NOT_INITIALIZED = 3
"""``cudaErrorInitializationError``."""


def cupy():
    """Return CuPy.

    Raises:
        UsageError: CuPy is not installed.
    """
    try:
        import cupy
    except ImportError as error:
        raise UsageError(
            f"the GPU backend needs CuPy, and {error}; "
            "pip install 'dgraph-analytics[cuda13]' (or [cuda12], as your driver has it)"
        ) from error
    return cupy


def nccl() -> Any:
    """Return CuPy's NCCL module; None where it or NCCL is missing."""
    try:
        from cupy.cuda import nccl
    except ImportError:
        return None
    return nccl if nccl.available else None


def count() -> int:
    """Return how many GPUs this process sees; 0 where there is no driver.

    Raises:
        UsageError: CuPy is not installed, or this process was forked from one that uses CUDA.
    """
    cp = cupy()
    try:
        number = int(cp.cuda.runtime.getDeviceCount())
    except cp.cuda.runtime.CUDARuntimeError as error:
        if error.status == NOT_INITIALIZED:
            raise UsageError(
                "CUDA cannot start here, as in a process that was forked from one that uses it; start this process "
                f"with multiprocessing.get_context('spawn'), or use {option('backend', 'cpu')}"
            ) from error
        return 0
    began("CUDA")
    return number


def visible_gpus() -> int:
    """Return how many GPUs this process sees, 1 or more.

    Raises:
        UsageError: CuPy is not installed, or sees none.
    """
    number = count()
    if not number:
        raise UsageError(
            "backend cuda needs an NVIDIA GPU with its driver, and CuPy sees none here "
            f"(CUDA_VISIBLE_DEVICES may hide it); use {option('backend', 'cpu')}, or run where there is one"
        )
    return number


def profiled() -> bool:
    """Return True if Nsight Systems or Nsight Compute started this process, by the libraries that they inject."""
    return any(name in os.environ for name in ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"))


_pinned: dict[int, Pinned] = {}
"""Number of a GPU → pinned memory of its uploads, which every load and graph would else pin anew: 20 ms."""


class CudaDevice:
    """One GPU.

    Attributes:
        name: product name.
        architecture: compilation target, such as ``sm_90``.
        code: machine code in the cache folder.
        blocks: number of multiprocessors.
        xp: module whose functions work on its arrays: CuPy.
        threads: threads of a block.
        allocator: "pool" or "cupy", see :class:`dgraph.Cuda`.
        limit: most bytes that the arrays and messages of this process' graphs may take; None: no limit.
        raw: memory that other processes may access.
        peak: largest number of bytes that our arrays took at once.
        ranged: True if rounds and phases get names for a profiler.
        texts: signature of a program → module → its text, of this process.
    """

    texts: ClassVar[dict[tuple, dict[tuple, str]]] = {}

    def __init__(self, number: int, allocator: str = "pool"):
        self.xp: Any = cupy()
        self.number = number
        self._device = self.xp.cuda.Device(number)
        self._device.use()
        facts = self.xp.cuda.runtime.getDeviceProperties(number)
        self.name, self.blocks = facts["name"].decode(), int(facts["multiProcessorCount"])
        self.threads = BLOCK
        self.architecture = f"sm_{facts['major']}{facts['minor']}"
        driver = self.xp.cuda.runtime.driverGetVersion()
        self.code = MachineCode(self.architecture, prebuilt.folder(self.architecture, driver))
        self.allocator = allocator
        self.limit: int | None = None
        self.pool = pools.pool_of(self, allocator)
        self.raw = IpcMemory(self.xp, number, nccl, partial(pools.drop_caches, self.xp, number, weakref.ref(self)))
        self._downloads = Downloads(self.raw, self.address, cores())
        self._uploads = Uploads(self.raw, self.address, cores(), _pinned.setdefault(number, Pinned()))
        self.peak, self.ranged = 0, profiled()
        self._events: list = []
        self._modules: dict[tuple[str, str], Module] = {}
        self._landing: dict[int, tuple] = {}
        self._total: int | None = None

    def use(self) -> None:
        """Make this GPU current for the calling thread, and its pool CuPy's allocator."""
        self._device.use()
        pools.enter(self)

    @contextmanager
    def using(self) -> Iterator[None]:
        """Make this GPU current, and its pool CuPy's allocator for the body."""
        self._device.use()
        with pools.entered(self):
            yield

    def leave(self) -> None:
        """Set CuPy's allocator back to the process' own."""
        pools.leave(self.xp)

    def optimise(self) -> None:
        """Have quickly compiled kernels optimised in the background, for later runs."""
        if self.code.lacks():
            optimiser.start(folder())

    def cap(self, memory: float | str | None) -> None:
        """Set the most memory of this process' graphs and runs, see :class:`dgraph.Cuda`; None: no limit."""
        self.limit = None if memory is None else memory_limit(memory, int(self._device.mem_info[1]))
        if self.limit is None:
            self.pool.set_limit(size=0)

    def allocate(self, size: int) -> Any:
        """Allocate memory for a CuPy array, after eviction of caches if needed."""
        if self.limit is not None:
            self.pool.set_limit(size=max(self.limit - self.elsewhere() - self.raw.held_bytes(), 1))
        for remedy in (self.give_back, self.drop_caches):
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
        """Return the bytes that can be allocated; if fewer than ``wanted``, after eviction of caches."""
        free = self._free()
        for remedy in (self.give_back, self.drop_caches):
            if free < wanted:
                remedy()
                free = self._free()
        return free

    def spares(self, size: int) -> bool:
        """Return True if ``size`` bytes can be allocated without eviction; the driver is asked only if it has to be."""
        return (self.limit is None and self.pool.free_bytes() >= size) or self._free() >= size

    def _free(self) -> int:
        allowed = None if self.limit is None else self.limit - self.elsewhere() - self.used() - self.raw.held_bytes()
        if allowed is not None and self.allocator == "cupy":
            return max(allowed, 0)  # the allocator may have a pool, of which the driver says nothing
        free = int(self._device.mem_info[0]) + self.pool.free_bytes()
        return free if allowed is None else max(min(free, allowed), 0)

    def give_back(self) -> None:
        """Return unused memory of this process to the GPU."""
        pools.give_back(self.xp, self.number)

    def drop_caches(self) -> None:
        """Evict other graphs that are cached on the GPU, then :meth:`give_back`."""
        pools.drop_caches(self.xp, self.number, weakref.ref(self))

    def elsewhere(self) -> int:
        """Return the bytes of this GPU that this process' other devices hold, for other graphs."""
        return pools.held_by_others(self.number, self.pool)

    def used(self) -> int:
        """Return the bytes of our arrays now; ``peak`` is their maximum since :meth:`forget_peak`."""
        return self.pool.used_bytes()

    def held_bytes(self) -> int:
        """Return the bytes that our pool took from the GPU, used or not."""
        return self.pool.total_bytes()

    def forget_peak(self) -> None:
        """Restart ``peak`` from the present use."""
        self.peak = self.used()

    def taken(self) -> int:
        """Return the bytes of the GPU's memory that any process or machine code holds."""
        free, total = self._device.mem_info
        return int(total - free)

    def total(self) -> int:
        """Return the bytes of the GPU's memory."""
        if self._total is None:
            self._total = int(self._device.mem_info[1])
        return self._total

    def put(self, array, kind: np.dtype | None = None):
        """Return an array on this GPU; an array that is there already is returned itself.

        CuPy copies an array to pinned memory first; threads copy a large one through a little of it.

        Args:
            array: on the host, or on this GPU.
            kind: dtype of the copy, which holds the values; None: that of the array.
        """
        if not isinstance(array, np.ndarray) or array.nbytes < (PIECE if self._uploads.pinned.slots else LARGE):
            return self.xp.asarray(array, kind)
        up, host = self.xp.empty(array.shape, kind or array.dtype), np.ascontiguousarray(array).reshape(-1)

        def read(place: np.ndarray, first: int) -> None:
            piece, first = place.view(up.dtype), first // up.itemsize
            piece[:] = host[first : first + piece.size]

        self.fill(up, read)
        return up

    def get(self, array) -> np.ndarray:
        """Return a copy of an array on the host."""
        return self.xp.asnumpy(array)

    def download(
        self, pieces: Iterable[Any], convert: Callable[[np.ndarray], np.ndarray], size: int, make: Make = np.empty
    ) -> np.ndarray:
        """Return ``convert`` of arrays as one host array of ``size`` values, see :meth:`Downloads.fetch`."""
        return self._downloads.fetch(pieces, convert, size, make)

    def fill(self, array, read: Reader) -> None:
        """Fill a contiguous array with bytes that threads read, see :meth:`Uploads.fill`."""
        self._uploads.fill(array, read)

    def streamed(self, size: int, read: Reader) -> AbstractContextManager[Callable[[Any], None]]:
        """Return a context that fills arrays with bytes that threads read ahead, see :meth:`Uploads.streamed`."""
        return self._uploads.streamed(size, read)

    @staticmethod
    def address(array) -> int:
        """Return the address of an array in GPU memory."""
        return int(array.data.ptr)

    def read(self, array) -> np.ndarray:
        """Return a small array's values through pinned memory, valid until the next read of as many bytes; waits."""
        return self.reading(array)()

    def reading(self, array) -> Callable[[], np.ndarray]:
        """Begin to :meth:`read`, in stream order; return the function that waits."""
        if array.nbytes not in self._landing:
            memory = self.xp.cuda.alloc_pinned_memory(array.nbytes)
            self._landing[array.nbytes] = memory, np.frombuffer(memory, np.uint8, array.nbytes)
        memory, host = self._landing[array.nbytes]
        stream = self.xp.cuda.get_current_stream()
        runtime = self.xp.cuda.runtime
        runtime.memcpyAsync(memory.ptr, array.data.ptr, array.nbytes, runtime.memcpyDeviceToHost, stream.ptr)

        def values() -> np.ndarray:
            stream.synchronize()
            return host.view(array.dtype)

        return values

    def write(self, array, values: np.ndarray) -> None:
        """Fill a small contiguous array, in stream order; the driver copies small sizes at once."""
        values = np.ascontiguousarray(values)
        stream, runtime = self.xp.cuda.get_current_stream(), self.xp.cuda.runtime
        runtime.memcpyAsync(array.data.ptr, values.ctypes.data, array.nbytes, runtime.memcpyHostToDevice, stream.ptr)

    def copy(self, array, values) -> None:
        """Fill a contiguous array from another one on this GPU, of the same size and dtype, in stream order."""
        stream, runtime = self.xp.cuda.get_current_stream(), self.xp.cuda.runtime
        kind = runtime.memcpyDeviceToDevice
        runtime.memcpyAsync(array.data.ptr, values.data.ptr, array.nbytes, kind, stream.ptr)

    def sort(self, array) -> None:
        """Sort a contiguous array of integers in place; takes scratch memory of the same size."""
        array.sort()

    def clear(self, array) -> None:
        """Zero an array, in stream order."""
        array.data.memset_async(0, array.nbytes, self.xp.cuda.get_current_stream())

    def wait(self) -> None:
        """Wait until all work of the current stream is done."""
        self.xp.cuda.get_current_stream().synchronize()

    def on(self, stream: Any) -> Any:
        """Return a context in which kernels go to a stream of :meth:`IpcMemory.stream`."""
        return stream

    def mark(self):
        """Record an event for timing in the stream; see :meth:`between`."""
        event = self._events.pop() if self._events else self.xp.cuda.Event()
        event.record()
        return event

    def between(self, before, after) -> float:
        """Return the seconds between two events of :meth:`mark` that the GPU has passed, and recycle both."""
        seconds = self.xp.cuda.get_elapsed_time(before, after) / 1000
        self._events += before, after
        return seconds

    def push(self, name: str) -> None:
        """Begin a named range of a profiler; only where ``ranged``."""
        self.xp.cuda.nvtx.RangePush(name)

    def pop(self) -> None:
        """End the innermost range."""
        self.xp.cuda.nvtx.RangePop()

    def module(self, text: str, name: str) -> Module:
        """Load a text's kernels, compiled once for all processes that share the cache folder.

        Quickly compiled ones are loaded again once they are optimised.
        """
        module = self._modules.get((text, name))
        if module is None or (not module.optimised and self.ready(text, name)):
            module = self._modules[text, name] = Module(self.xp, *self.code.load(text, name))
        return module

    @property
    def quick(self) -> list[str]:
        """Names of loaded modules that were compiled quickly, and are not optimised yet."""
        return [key[1] for key, module in self._modules.items() if not (module.optimised or self.ready(*key))]

    def compiled(self, text: str, name: str) -> bool:
        """Return True if the text's machine code is loaded or in the cache folder."""
        return (text, name) in self._modules or self.code.exists(text, name)

    @property
    def postpones(self) -> bool:
        """True if a first run does without large modules, which are compiled in the background."""
        return quick()

    def ready(self, text: str, name: str) -> bool:
        """Return True if the text's optimised machine code is in the cache folder."""
        return self.code.optimised(text, name)

    def postpone(self, texts: Iterable[tuple[str, str]]) -> None:
        """Have (text, name) pairs compiled in the background, see :meth:`MachineCode.postpone`."""
        self.code.postpone(texts)

    def prepare(self, texts: Iterable[tuple[str, str]]) -> None:
        """Compile (text, name) pairs in parallel, see :meth:`MachineCode.prepare`."""
        self.code.prepare(wanted for wanted in texts if wanted not in self._modules)
