"""Machine code of kernels in the cache folder: compiled once a host, first quickly, then optimised in the background.

A first answer waits for a quick compilation only (``nvrtc.QUICK``), of large texts in parts (``kernel_parts.py``) that
compile side by side, and that the ranks of a host share out: NVRTC parses one text of a process at a time. The text
stays beside the quick code until a process in the background (``optimiser.py``) has replaced that code by the optimised
one, which later runs load. Both give the same bits. Entry: :class:`MachineCode`; files of a text are ``STEM.cubin``,
``STEM.1of3``, one for each part, and ``STEM.cu``.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, lru_cache, partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from dgraph._support.affinity import cores, unbound
from dgraph._support.cache import folder, publish
from dgraph._support.compile_clock import compiling
from dgraph._support.host_lock import PATIENCE, locked
from dgraph.backend.cuda.codegen import kernel_parts
from dgraph.backend.cuda.device import nvrtc, prebuilt
from dgraph.errors import OutputError

OPTIMISED, TEXT = ".cubin", ".cu"
"""Suffixes of the files of a text, beside those of its quick code."""


class Part(NamedTuple):
    """Text of which a file is the machine code; ``whole``: path of the optimised code of all parts."""

    file: Path
    text: str
    name: str
    whole: Path


AGAIN = 0.5
"""Seconds after which a repeated call looks again for optimised code: a look at each module takes it milliseconds."""


class MachineCode:
    """Machine code of texts for one architecture.

    Attributes:
        architecture: compilation target, such as ``sm_90``.
        built: folder of machine code that a wheel installed, see ``prebuilt.py``; None: there is none.
        place: place of this rank among the ranks of its host, and their number.
        awaited: paths of optimised code that this process would load if it existed.
    """

    def __init__(self, architecture: str, built: Path | None = None):
        self.architecture, self.built, self.place = architecture, built, (0, 1)
        self.awaited: set[Path] = set()
        self._paths: dict[str, Path] = {}
        self._parts: dict[Path, list[Part]] = {}
        self._reported: set[Path] = set()
        self._missed: dict[tuple[str, str], float] = {}
        self._optimised: set[tuple[str, str]] = set()

    def exists(self, text: str, name: str) -> bool:
        """Return True if a text's machine code is in the cache folder, quick where that will do, or optimised."""
        return self.path(text, name).exists() or all(part.file.exists() for part in self._parts_of(text, name))

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
        self.prepare([(text, name)])
        with suppress(FileNotFoundError):
            code = path.read_bytes()
            self.awaited.discard(path)
            return [code], True
        with suppress(FileNotFoundError):
            codes = [part.file.read_bytes() for part in self._parts_of(text, name)]
            self.awaited.add(path)
            return codes, False
        return [path.read_bytes()], True  # the optimiser replaced the quick one in between

    def prepare(self, texts: Iterable[tuple[str, str]]) -> None:
        """Compile (text, name) pairs in parallel; NVRTC releases the interpreter lock.

        Ranks of a host share the parts: first a rank compiles its own ones, and those that no other does, then it waits
        for the rest. The largest part of each text comes first.
        """
        missing = {self.path(*wanted): wanted for wanted in texts if not self.exists(*wanted)}
        if not missing:
            return
        with compiling(", ".join(name for _, name in missing.values())), unbound():
            by_text = [self._parts_of(*wanted) for wanted in missing.values()]
            parts = [part for level in zip_longest(*by_text) for part in level if part]
            place, ranks = self.place
            turns = [parts[i : i + ranks][:: -1 if i // ranks % 2 else 1] for i in range(0, len(parts), ranks)]
            shares = [[turn[rank] for turn in turns if rank < len(turn)] for rank in range(ranks)]
            shares = shares[place:] + shares[:place]
            with ThreadPoolExecutor(min(cores(), max(len(shares[0]), 1))) as pool:
                for patience in (0.0, PATIENCE):
                    list(pool.map(partial(self._compile, patience=patience), chain(*shares)))
            for path, (text, _) in missing.items():
                if not path.exists():
                    publish(path.with_suffix(TEXT), text.encode())

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
        """Return the path of a text's optimised machine code, in the cache folder under the name first given for it."""
        if text not in self._paths:
            prebuilt.collect(text, name)
            built = self.built / prebuilt.file_name(text) if self.built else None
            if not (built and built.exists()):
                built = folder() / f"{name}_{self.architecture}_{key(text, self.architecture)}{OPTIMISED}"
            self._paths[text] = built
        return self._paths[text]

    def _compile(self, part: Part, patience: float) -> None:
        """Compile a part once a host; without patience, leave one that another process compiles."""
        if not (part.file.exists() or part.whole.exists()):
            with locked(part.file.name, patience) as ours:
                if (ours or patience) and not (part.file.exists() or part.whole.exists()):
                    code = nvrtc.compiled(part.text, self.architecture, part.name, quick=part.file != part.whole)
                    publish(part.file, code)

    def _parts_of(self, text: str, name: str) -> list[Part]:
        """Return the parts of a text, the largest first: as many as cores at most, or one to be optimised at once."""
        path = self.path(text, name)
        if not quick():
            return [Part(path, text, name, path)]
        if path not in self._parts:
            with unbound():
                texts = kernel_parts.parts(text, cores())
            files = [path.with_suffix(f".{i + 1}of{len(texts)}") for i in range(len(texts))]
            self._parts[path] = [Part(file, part, name, path) for file, part in zip(files, texts, strict=True)]
        return self._parts[path]


def quick() -> bool:
    """Return True if code that is waited for is compiled quickly; not where ``DGRAPH_COMPILE`` says when to compile."""
    return not os.environ.get("DGRAPH_COMPILE")


def key(text: str, architecture: str) -> str:
    """Return the part of file names that differs between texts, architectures and compilers."""
    return _digest(text, architecture, _compiler())


@lru_cache(1 << 8)
def _digest(*texts: str) -> str:
    """Return a hash of texts; that of a program's modules takes 3 ms, which later graphs of a process do without."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:24]


@cache
def _compiler() -> str:
    return f"{nvrtc.identity()} {nvrtc.OPTIONS}"
