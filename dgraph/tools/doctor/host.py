"""Checks of a host: versions, cores, memory, shared memory, compiler, and the folder of compiled code."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import stat
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dgraph._support import affinity, cache
from dgraph._support.version import __version__
from dgraph.comm.memory import free_memory
from dgraph.errors import OutputError
from dgraph.tools.doctor.finding import Finding, fail, ok, warn

PACKAGES = ("numpy", "numba", "llvmlite", "pymetis", "mpi4py")
LEAST_MEMORY = 1 << 30
"""Minimum free bytes per rank, for Python, Numba and a graph of a few million edges."""

LEAST_SHARED = 256 << 20
"""Minimum free bytes of /dev/shm, where MPICH keeps its mailboxes of about 30 MB per rank."""

SEGMENTS = ("mpich_*", "vader_segment.*")
"""File name patterns of the shared memory of MPICH and Open MPI."""

LEAST_DISK = 256 << 20
"""Minimum free bytes for compiled code, about 2 MB per program."""


def host_findings(ranks_here: int) -> Iterator[Finding]:
    """Yield the findings about this host, on which ``ranks_here`` ranks of the job run."""
    yield from _versions()
    yield from _cores(ranks_here)
    yield from _memory(ranks_here)
    yield from _shared_memory(ranks_here)
    yield from _stale_segments()
    yield from _cache()
    yield from _compiler()


def _versions() -> Iterator[Finding]:
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            if name != "mpi4py":
                again = "pip install dgraph-analytics into this environment again"
                yield fail("versions", f"{name} is not installed", again)
    python = f"Python {platform.python_version()}"
    yield ok("versions", f"dgraph {__version__}, {python}, {', '.join(versions)}")


def _cores(ranks_here: int) -> Iterator[Finding]:
    mine = affinity.cores()
    every = os.cpu_count() or 1
    text = f"{mine} of {every} for this process, {ranks_here} rank{'s'[: ranks_here > 1]} here"
    quota = affinity.quota()
    if quota is not None and quota < mine:
        cure = f"give --threads {max(1, int(quota // ranks_here))}, or the container more processor time"
        yield warn("cores", f"{text}; but its group may use {quota:g} at a time", cure)
    elif ranks_here > mine and mine < every:
        cure = "have the launcher bind to none: mpirun --bind-to none, mpiexec -bind-to none, srun --cpu-bind=none"
        yield warn("cores", f"{text}: the launcher bound it to so few", cure)
    elif ranks_here > mine:
        yield warn("cores", f"{text}: ranks take turns", f"start at most {mine} here")
    else:
        yield ok("cores", text)


def _memory(ranks_here: int) -> Iterator[Finding]:
    free = free_memory()
    if free is None:
        yield warn("memory", "cannot be measured here", "make sure that each rank has 1 GiB and its part of the graph")
        return
    text = f"{free / 2**30:.1f} GiB free, {free / ranks_here / 2**30:.1f} a rank"
    if free / ranks_here < LEAST_MEMORY:
        yield warn("memory", text, "start fewer ranks here, or free some")
    else:
        yield ok("memory", text)


def _shared_memory(ranks_here: int) -> Iterator[Finding]:
    path = Path("/dev/shm")
    if ranks_here == 1 or not path.is_dir():
        return
    free = shutil.disk_usage(path).free
    text = f"{free / 2**20:,.0f} MiB free in {path}"
    if free < LEAST_SHARED:
        yield warn("shared memory", text, "ranks of one host communicate through it; in Docker: --shm-size=1g")
    else:
        yield ok("shared memory", text)


def _stale_segments(folder: Path = Path("/dev/shm")) -> Iterator[Finding]:
    """Yield a warning about shared memory of killed MPI runs; a job with the same number and step would hang on it."""
    mapped = set()
    for process in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):  # ended meanwhile, or of another user, who cannot map this user's segments
            mapped |= {word for word in process.read_text().split() if word.startswith(str(folder))}
    sizes = []
    for file in (file for name in SEGMENTS for file in folder.glob(name)):
        with contextlib.suppress(OSError):
            if file.stat().st_uid == os.getuid() and str(file) not in mapped:
                sizes.append(file.stat().st_size)
    if sizes:
        text = f"{len(sizes)} segments that ended MPI runs left in {folder}, {sum(sizes) / 2**20:,.0f} MiB"
        where = " ".join(str(folder / name) for name in SEGMENTS)
        yield warn("shared memory", text, f"while no MPI program of yours runs: rm -f {where}")


def _cache() -> Iterator[Finding]:
    try:
        path = cache.folder()
        free = shutil.disk_usage(path).free
        files = [file.stat() for file in path.rglob("*") if file.is_file()]
    except (OutputError, OSError) as error:
        yield fail("compiled code", str(error), "chmod 700 the folder, or set DGRAPH_CACHE_DIR to one of your own")
        return
    size = sum(file.st_size for file in files)
    programs = len(list(path.glob("*.py")))
    text = f"{path}: {programs} programs, {size / 2**20:.0f} MiB, {free / 2**30:.1f} GiB free"
    if free < LEAST_DISK:
        yield warn("compiled code", text, "free some disk, or set DGRAPH_CACHE_DIR to a folder elsewhere")
    elif path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH) and path.is_relative_to("/tmp"):
        yield ok("compiled code", f"{text}; the home folder is not writable, so this one is local to the node")
    elif not programs:
        yield ok("compiled code", f"{text}; the first run compiles, or python -m dgraph warmup")
    else:
        yield ok("compiled code", text)


def _compiler() -> Iterator[Finding]:
    began = time.perf_counter()
    try:
        from numba import njit

        answer = njit(lambda a, b: a + b)(40, 2)
    except Exception as error:  # a broken installation may raise anything
        yield fail("compiler", f"Numba fails: {error}", "pip install --force-reinstall numba llvmlite")
        return
    seconds = time.perf_counter() - began
    if answer != 42:
        yield fail("compiler", f"Numba computes 40 + 2 = {answer}", "pip install --force-reinstall numba llvmlite")
    else:
        yield ok("compiler", f"Numba compiles (first function after {seconds:.1f} s)")
