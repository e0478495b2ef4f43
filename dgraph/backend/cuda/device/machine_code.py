"""Machine code of kernels in the cache folder: compiled once a host, first quickly, then optimised in the background.

A first answer waits for a quick compilation only (``nvrtc.QUICK``), of large texts in parts (``kernel_parts.py``) that
compile side by side. The text stays beside the quick code until a process in the background (``optimiser.py``) has
replaced that code by the optimised one, which later runs load. Both give the same bits. Entry: :class:`MachineCode`;
files of a text are ``STEM.cubin``, ``STEM.parts`` and ``STEM.cu``.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from dgraph._support.affinity import cores, unbound
from dgraph._support.cache import folder, publish
from dgraph._support.compile_clock import compiling
from dgraph._support.host_lock import PATIENCE, locked
from dgraph.backend.cuda.codegen.kernel_parts import parts
from dgraph.backend.cuda.device import nvrtc
from dgraph.errors import OutputError

OPTIMISED, QUICK, TEXT = ".cubin", ".parts", ".cu"
"""Suffixes of the files of a text."""

AGAIN = 0.5
"""Seconds after which a repeated call looks again for optimised code: a look at each module takes it milliseconds."""


class MachineCode:
    """Machine code of texts for one architecture.

    Attributes:
        architecture: compilation target, such as ``sm_90``.
        awaited: paths of optimised code that this process would load if it existed.
    """

    def __init__(self, architecture: str):
        self.architecture = architecture
        self.awaited: set[Path] = set()
        self._keys: dict[str, str] = {}
        self._reported: set[Path] = set()
        self._missed: dict[tuple[str, str], float] = {}
        self._optimised: set[tuple[str, str]] = set()

    def exists(self, text: str, name: str) -> bool:
        """Return True if a text's machine code is in the cache folder, quick where that will do, or optimised."""
        return _exists(self.path(text, name))

    def optimised(self, text: str, name: str) -> bool:
        """Return True if a text's optimised machine code is in the cache folder; looked up every ``AGAIN`` seconds."""
        wanted = text, name
        if wanted in self._optimised:
            return True
        now = time.monotonic()
        if now - self._missed.get(wanted, -AGAIN) < AGAIN:
            return False
        if self.path(*wanted).exists():
            self._optimised.add(wanted)
        else:
            self._missed[wanted] = now
        return wanted in self._optimised

    def load(self, text: str, name: str) -> tuple[list[bytes], bool]:
        """Return the machine code of a text's parts, compiled if it is missing, and True if it is optimised."""
        path = self.path(text, name)
        self._compile(path, text, name)
        with suppress(FileNotFoundError):
            code = path.read_bytes()
            self.awaited.discard(path)
            return [code], True
        with suppress(FileNotFoundError):
            codes = _unpacked(path.with_suffix(QUICK).read_bytes())
            self.awaited.add(path)
            return codes, False
        return [path.read_bytes()], True  # the optimiser replaced the quick one in between

    def prepare(self, texts: Iterable[tuple[str, str]]) -> None:
        """Compile (text, name) pairs in parallel; NVRTC releases the interpreter lock.

        Ranks of a host share the texts: first a rank compiles those that no other does, then it waits for the rest.
        """
        paths = {self.path(*wanted): wanted for wanted in texts}
        missing = {path: wanted for path, wanted in paths.items() if not _exists(path)}
        if missing:
            names = ", ".join(name for _, name in missing.values())
            with compiling(names), unbound(), ThreadPoolExecutor(cores()) as pool:
                for patience in (0.0, PATIENCE):
                    list(pool.map(lambda path, wait=patience: self._compile(path, *missing[path], wait), missing))

    def postpone(self, texts: Iterable[tuple[str, str]]) -> None:
        """Leave (text, name) pairs to the optimiser; the caller does without them until they are :meth:`optimised`."""
        for text, name in texts:
            path = self.path(text, name)
            if path not in self.awaited and not path.exists():  # its text is there once it is awaited
                with suppress(OutputError):  # of a full folder, for which a rank of several must not stop
                    publish(path.with_suffix(TEXT), text.encode())
                self.awaited.add(path)

    def lacks(self) -> bool:
        """Return True if this process waits for optimised code, and has not said so for each text before."""
        if self.awaited <= self._reported:
            return False
        self.awaited = {path for path in self.awaited if not path.exists()}
        new = not self.awaited <= self._reported
        self._reported |= self.awaited
        return new

    def path(self, text: str, name: str) -> Path:
        """Return the path of a text's optimised machine code, which has the first name under which it was wanted."""
        if text not in self._keys:
            self._keys[text] = f"{name}_{self.architecture}_{key(text, self.architecture)}{OPTIMISED}"
        return folder() / self._keys[text]

    def _compile(self, path: Path, text: str, name: str, patience: float = PATIENCE) -> None:
        """Compile a text once a host; without patience, leave one that another process compiles."""
        if _exists(path):
            return
        with compiling(name), locked(path.name, patience) as ours:
            if (ours or patience) and not _exists(path):
                if quick():
                    codes = self._quickly_compiled(text, name)
                    publish(path.with_suffix(TEXT), text.encode())
                    publish(path.with_suffix(QUICK), _packed(codes))
                else:
                    publish(path, nvrtc.compiled(text, self.architecture, name))

    def _quickly_compiled(self, text: str, name: str) -> list[bytes]:
        """Compile the parts of a text side by side."""
        with unbound():
            texts = parts(text, cores())
            with ThreadPoolExecutor(len(texts)) as pool:
                return list(pool.map(lambda part: nvrtc.compiled(part, self.architecture, name, quick=True), texts))


def _packed(codes: Sequence[bytes]) -> bytes:
    """Return the contents of a file of several codes: their number and sizes in bytes, int64, then the codes."""
    return np.array([len(codes), *map(len, codes)], "<i8").tobytes() + b"".join(codes)


def _unpacked(content: bytes) -> list[bytes]:
    number = int(np.frombuffer(content, "<i8", 1)[0])
    ends = np.cumsum(np.frombuffer(content, "<i8", number + 1)[1:]) + 8 * (number + 1)
    starts = [8 * (number + 1), *ends[:-1]]
    return [content[start:end] for start, end in zip(starts, ends, strict=True)]


def quick() -> bool:
    """Return True if code that is waited for is compiled quickly; not where ``DGRAPH_COMPILE`` says when to compile."""
    return not os.environ.get("DGRAPH_COMPILE")


def key(text: str, architecture: str) -> str:
    """Return the part of file names that differs between texts, architectures and compilers."""
    return hashlib.sha256("\n".join([text, architecture, _compiler()]).encode()).hexdigest()[:24]


def _exists(path: Path) -> bool:
    return path.exists() or (quick() and path.with_suffix(QUICK).exists())


@cache
def _compiler() -> str:
    return f"{nvrtc.identity()} {nvrtc.OPTIONS}"
