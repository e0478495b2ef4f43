"""Test of whether MPI accepts addresses in GPU memory (CUDA-aware MPI).

The library's own answer is verified in a child process, since a wrong answer ends in a segmentation fault.
[MPIX_Query_cuda_support, Open MPI and MPICH]
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

YES, NO, UNKNOWN = "yes", "no", "unknown"

LAUNCHERS = ("PMI", "PMIX", "OMPI", "PRTE", "SLURM", "HYDRA", "MPI_LOCAL")
"""Prefixes of variables with which a child would take its parent's rank in the launch."""

ALONE = {"OMPI_MCA_ess_singleton_isolated": "1"}
"""Variables with which Open MPI starts a single process without a daemon."""

PATIENCE = 60
"""Seconds that a child may take to start MPI and CuPy."""

CHILD = """
import sys
from dgraph.comm.mpi import send_to_myself
from dgraph.backend.cuda.device.device import cupy
xp = cupy()
xp.cuda.Device(int(sys.argv[1])).use()
sent, received = xp.arange(4096, dtype=xp.uint64), xp.zeros(4096, xp.uint64)
xp.cuda.get_current_stream().synchronize()
send_to_myself(sent.data.ptr, received.data.ptr, sent.nbytes)
sys.exit(0 if bool((sent == received).all()) else 3)
"""


def library_says() -> str:
    """Return the loaded MPI library's answer: ``YES``, ``NO`` or ``UNKNOWN``.

    The library is found by its path, since ``CDLL(None)`` would not see it. Its info on memory kinds is not used: it is
    wrong in Open MPI 5.
    """
    lines = Path("/proc/self/maps").read_text().splitlines()
    path = next((line.split()[-1] for line in lines if "libmpi" in line), None)
    if path is None:
        return UNKNOWN
    try:
        return YES if ctypes.CDLL(path).MPIX_Query_cuda_support() else NO
    except (OSError, AttributeError):
        return UNKNOWN


def tried(number: int) -> str:
    """Send from GPU ``number`` to itself by MPI in a child process; return "" if that works, else the failure."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    path = os.pathsep.join(filter(None, [*sys.path, os.environ.get("PYTHONPATH")]))
    try:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(number)], capture_output=True, text=True, timeout=PATIENCE, check=False,
            env=kept | ALONE | {"PYTHONPATH": path},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"a child that sent GPU memory to itself gave no answer within {PATIENCE} s"
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"a child that sent GPU memory to itself died of {signal.Signals(-done.returncode).name}"
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return f"a child that sent GPU memory to itself ended with {done.returncode}: {last}"
