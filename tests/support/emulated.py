"""Emulated GPU: the same kernels, compiled as C++ and stepped through thread by thread (``emulate.h``)."""

from __future__ import annotations

import _ctypes
import ctypes
import fcntl
import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
import weakref
from contextlib import contextmanager, nullcontext
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np
import pytest
from emulated_raw import Raw

import dgraph.algorithms  # noqa: F401 - enters the folder of their kernels
from dgraph.algorithms.sssp_parts import gather_near_hubs
from dgraph.backend.cuda import gpu_options
from dgraph.backend.cuda.device.compiled_module import Environment
from dgraph.backend.cuda.device.downloads import Downloads
from dgraph.backend.cuda.device.uploads import Pinned, Uploads
from dgraph.backend.cuda.device_graph import device_graph
from dgraph.backend.cuda.gathered import small_replica
from dgraph.graph.devices import memory_limit

HERE = Path(__file__).parent
THREADS = 64
COMPILER = shutil.which("g++")
FLAGS = "-std=c++17", "-w", "-fPIC", "-fno-strict-aliasing", "-U_FORTIFY_SOURCE", "-ffp-contract=off"
LIBRARY = "-O0", "-shared", "-Wl,-Bsymbolic", "-nodefaultlibs", "-lc", "-lgcc"

gpu_options.SMALL_GRAPH = gather_near_hubs.FEW = 0  # searches of the small graphs of tests pull and gather, too

device_graph.LEAST_SHARED = small_replica.FEW = 0  # GPUs gather replicas of small graphs, and share work, too

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="g++ is not there to compile the kernels as C++")


def backend(**options):
    """Return a GPU backend on an emulated GPU, whose threads run in a random order."""
    from dgraph.backend.cuda.backend import CudaBackend
    from dgraph.backend.cuda.gpu_options import GpuPlan
    from dgraph.backend.cuda.transports import selftest
    from dgraph.comm import world

    selftest.SIZES, selftest.TURNS = (64, 20_000), 4  # the self-test's usual sizes take too long here

    return CudaBackend(0, 1, world().size == 1, GpuPlan(**options), Device(blocks=2, seed=1))


@cache
def _folder() -> Path:
    """Return the folder of compiled kernels, kept and shared by this user's processes; others must not write to it."""
    path = Path(tempfile.gettempdir(), f"dgraph-emulated-{os.getuid()}")
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.stat()
    if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{path} can be written by others")
    return path


@cache
def _compiled(text: str) -> Path:
    return _made(f'#include "{HERE / "emulate.h"}"\n{text}', ".so", _threads(), *LIBRARY)


@cache
def _threads() -> Path:
    """Return the compiled object file that all libraries share."""
    return _made(f'#include "{HERE / "emulate.cpp"}"', ".o", "-c", "-O2")


def _made(text: str, suffix: str, *flags: str | Path) -> Path:
    """Return the file that ``text`` compiles to.

    Processes that need the same file wait for the one that compiles it.
    """
    headers = [(HERE / name).read_text() for name in ("emulate.h", "emulate.cpp")]
    whole = "\n".join(map(str, [COMPILER, *FLAGS, *flags, *headers, text]))
    path = _folder() / hashlib.sha256(whole.encode()).hexdigest()[:20]
    library = path.with_suffix(suffix)
    if library.exists():
        return library
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if library.exists():
            return library
        source, draft = path.with_suffix(".cpp"), path.with_suffix(".new")
        source.write_text(text)
        command = [COMPILER, *FLAGS, "-o", draft, source, *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{source}:\n{done.stderr[:4000]}")
        draft.rename(library)
        source.unlink()
    return library


class Garbage:
    """NumPy, except that ``empty`` fills arrays with garbage."""

    def __getattr__(self, name: str):
        return getattr(np, name)

    def empty(self, *shape_and_dtype):
        array = np.empty(*shape_and_dtype)
        array.view(np.uint8)[...] = 0xA5
        return array


class Device:
    """Interface of ``CudaDevice`` over NumPy arrays.

    Attributes:
        mutants: pairs (old, new) of replacements in kernel texts.
        changed: the pairs whose old text some kernel contained.
    """

    name, architecture, xp, threads, ranged = "emulated", "emulated", Garbage(), THREADS, False
    peak, limit, allocator, quick, postpones = 0, None, "pool", (), False

    def __init__(self, blocks: int = 2, seed: int = 0, memory: int = 1 << 30, mutant: tuple | None = None):
        self.blocks, self.seed, self.memory = blocks, seed, memory
        self.mutants = () if mutant is None else (mutant,) if isinstance(mutant[0], str) else mutant
        self.changed: set[tuple[str, str]] = set()
        self.texts: dict[tuple, dict[tuple, str]] = {}
        self._modules: dict[str, Module] = {}
        self.raw, self.number = Raw(), 0
        self._downloads = Downloads(self.raw, self.address, 2)
        self._uploads = Uploads(self.raw, self.address, 2, Pinned())
        self.ranges: list[str] = []
        self.stream = None

    def use(self):
        pass

    def leave(self):
        pass

    optimise = leave

    def using(self):
        return nullcontext()

    def cap(self, memory):
        self.limit = None if memory is None else memory_limit(memory, self.memory)

    def free(self, wanted: int = 0) -> int:
        return self.memory if self.limit is None else min(self.memory, self.limit)

    def spares(self, size: int) -> bool:
        return self.free() >= size

    def used(self) -> int:
        return 0

    held_bytes = taken = elsewhere = used

    def total(self) -> int:
        return self.memory

    def forget_peak(self):
        pass

    def put(self, array, kind=None):
        return np.array(array, kind)

    def get(self, array):
        return np.array(array)

    def read(self, array):
        return self.reading(array)()

    def reading(self, array):
        copied = np.array(array)
        return lambda: copied

    def download(self, pieces, convert, size, make=np.empty):
        return self._downloads.fetch(pieces, convert, size, make)

    def fill(self, array, read):
        self._uploads.fill(array, read)

    def streamed(self, size, read):
        return self._uploads.streamed(size, read)

    def write(self, array, values):
        array[...] = np.asarray(values).view(array.dtype)

    def copy(self, array, values):
        array[...] = values

    @staticmethod
    def address(array) -> int:
        return array.ctypes.data

    def sort(self, array):
        array.sort()

    def clear(self, array):
        array.fill(0)

    def wait(self):
        pass

    @contextmanager
    def on(self, stream):
        self.stream = stream
        yield
        self.stream = None

    def mark(self):
        return time.perf_counter()

    def between(self, before, after):
        return after - before

    def push(self, name):
        self.ranges.append(name)

    def pop(self):
        self.ranges.append("")

    def module(self, text: str, name: str):
        for mutant in self.mutants:
            if mutant[0] in text:
                self.changed.add(mutant)
            text = text.replace(*mutant)
        if text not in self._modules:
            sizes = re.sub(r"#define (BLOCK|HUB_BLOCK|TILE_BLOCK|WINDOW_BLOCK) [0-9]+", rf"#define \1 {THREADS}", text)
            self._modules[text] = Module(sizes, self)
        return self._modules[text]

    def compiled(self, text: str, name: str) -> bool:
        return text in self._modules

    def prepare(self, texts):
        """Do nothing: a module is compiled when one of its kernels is launched."""


class Module(Environment):
    owner: object = None

    def __init__(self, text: str, device: Device):
        self.text, self.device = text, weakref.proxy(device)  # no reference cycle, as on a GPU
        self.words: np.ndarray | None = None

    @cached_property
    def library(self):
        """Shared library, compiled at the first launch: most modules that a run prepares are never launched."""
        with tempfile.NamedTemporaryFile(dir=_folder(), suffix=".own") as own:  # a device has its own ``env``
            shutil.copyfile(_compiled(self.text), own.name)
            library = ctypes.CDLL(own.name)
        # Unload it: a process has 65,530 memory mappings by default, and libraries and code of Numba need some.
        weakref.finalize(self, _ctypes.dlclose, library._handle)
        return library

    def _upload(self, words: np.ndarray) -> None:
        self.words = words.copy()

    def _tell(self) -> None:
        """Copy the last environment into the library, unless its kernels already have it."""
        if self.words is None:
            return
        env = ctypes.addressof(ctypes.c_char.in_dll(self.library, "env"))
        ctypes.memmove(env, self.words.ctypes.data, self.words.nbytes)
        self.words = None

    def resident(self, kernel: str) -> int:
        return 1

    def launch(self, kernel: str, blocks: int, argument: int = 0, cooperative: bool = False) -> None:
        run = partial(self.run, kernel, blocks, argument)
        self.device.stream.start(run) if self.device.stream else run()

    def run(self, kernel: str, blocks: int, argument: int) -> None:
        self.device.seed = self.device.seed * 6364136223846793005 + 1 & (1 << 63) - 1
        self._tell()
        function = ctypes.cast(getattr(self.library, kernel), ctypes.c_void_p)
        self.library.emulate(
            function, ctypes.c_uint32(blocks), ctypes.c_uint32(THREADS), ctypes.c_int64(argument),
            ctypes.c_uint64(self.device.seed),
        )  # fmt: skip
