"""A device that is no GPU: the same kernels, compiled as C++ and stepped through thread by thread (``emulate.h``)."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from emulated_raw import Raw

HERE = Path(__file__).parent
THREADS = 64
_compiling = threading.Lock()
COMPILER = shutil.which("g++")

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="g++ is not there to compile the kernels as C++")


def backend(**options):
    """A GPU backend whose GPU is emulated; its answers are the same in every order of threads."""
    from dgraph.backend.cuda import CudaBackend, Options
    from dgraph.backend.cuda.transports import selftest
    from dgraph.comm import world

    selftest.SIZES, selftest.TURNS = (64, 20_000), 4  # what is short on a GPU takes long here

    return CudaBackend(0, 1, world().size == 1, Options(**options), Device(blocks=2, seed=1))


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="dgraph-emulated-"))


@cache
def _compiled(text: str) -> Path:
    with _compiling:
        return _library(text)


def _library(text: str) -> Path:
    path = _folder() / hashlib.sha256(text.encode()).hexdigest()[:20]
    source, library = path.with_suffix(".cpp"), path.with_suffix(".so")
    if library.exists():
        return library
    source.write_text(text)
    flags = ["-std=c++17", "-O0", "-w", "-shared", "-fPIC", "-fno-strict-aliasing", "-U_FORTIFY_SOURCE"]
    flags += ["-ffp-contract=off", "-Wl,-Bsymbolic"]
    done = subprocess.run([COMPILER, *flags, "-o", library, source], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{source}:\n{done.stderr[:4000]}")
    return library


class Device:
    """The interface of ``CudaDevice`` over NumPy arrays."""

    name, architecture, xp, threads, ranged = "emulated", "emulated", np, THREADS, False
    peak = 0

    def __init__(self, blocks: int = 2, seed: int = 0, memory: int = 1 << 30, mutant: tuple[str, str] | None = None):
        self.blocks, self.seed, self.memory, self.mutant = blocks, seed, memory, mutant
        self._modules: dict[str, Module] = {}
        self.raw, self.number = Raw(), 0
        self.ranges: list[str] = []

    def use(self):
        pass

    def free(self) -> int:
        return self.memory

    def used(self) -> int:
        return 0

    held = taken = used

    def forget_peak(self):
        pass

    def put(self, array):
        return np.array(array)

    def get(self, array):
        return np.array(array)

    read = get

    def address(self, array) -> int:
        return array.ctypes.data

    def clear(self, array):
        array.fill(0)

    def wait(self):
        pass

    def mark(self):
        return time.perf_counter()

    def between(self, before, after):
        return after - before

    def push(self, name):
        self.ranges.append(name)

    def pop(self):
        self.ranges.append("")

    def module(self, text: str, name: str):
        if self.mutant and self.mutant[0] in text:
            text = text.replace(*self.mutant)
        if text not in self._modules:
            text = text.replace("#define BLOCK 256", f"#define BLOCK {THREADS}")
            whole = f"#include <cstddef>\n{(HERE / 'emulate.h').read_text()}\n{text}"
            self._modules[text] = Module(_compiled(whole), self)
        return self._modules[text]


class Module:
    owner: object = None

    def __init__(self, library: Path, device: Device):
        own = Path(tempfile.mktemp(dir=_folder(), suffix=".so"))  # two devices must not share ``env``
        shutil.copy(library, own)
        self.library, self.device = ctypes.CDLL(str(own)), device

    def set_environment(self, words: np.ndarray) -> None:
        ctypes.memmove(ctypes.addressof(ctypes.c_char.in_dll(self.library, "env")), words.ctypes.data, words.nbytes)

    def resident(self, kernel: str) -> int:
        return 1

    def launch(self, kernel: str, blocks: int, argument: int = 0, cooperative: bool = False) -> None:
        self.device.seed = self.device.seed * 6364136223846793005 + 1 & (1 << 63) - 1
        function = ctypes.cast(getattr(self.library, kernel), ctypes.c_void_p)
        self.library.emulate(
            function, ctypes.c_uint32(blocks), ctypes.c_uint32(THREADS), ctypes.c_int64(argument),
            ctypes.c_uint64(self.device.seed),
        )  # fmt: skip
