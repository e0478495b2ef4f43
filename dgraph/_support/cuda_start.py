"""Start of CUDA in a thread, while Python imports the rest of the program.

The driver takes 0.3 s to start and to make a context, without the interpreter lock. CUDA's runtime takes the same
context later. :func:`start_early` guesses from the command line, before anything large is imported; where it does not,
:func:`start_cuda` follows once the words are parsed.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

ALGORITHMS = Path(__file__).parents[1] / "algorithms"
"""Folder with a file for most algorithms."""

_started: list[threading.Thread] = []
"""The thread, once there is one."""


def start_early(words: Sequence[str]) -> None:
    """Start CUDA if a command line runs an algorithm, and does not name another backend than the GPU's."""
    other = {"--help", "-h", "cpu", "--backend=cpu"}
    if words and words[0].isidentifier() and (ALGORITHMS / f"{words[0]}.py").is_file() and not other & set(words):
        start_cuda()


def start_cuda() -> threading.Thread | None:
    """Start the driver and, where this process sees one GPU, its primary context; None without driver or CuPy."""
    if _started:
        return _started[0]
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    if find_spec("cupy") is None:
        return None
    thread = threading.Thread(target=_start, args=(driver,), name="dgraph-cuda-start")
    thread.start()
    _started.append(thread)
    return thread


def _start(driver: ctypes.CDLL) -> None:
    """Make the context; errors are left to the calls that come later, which describe them."""
    count, gpu, context = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value != 1:
        return
    if not driver.cuDeviceGet(ctypes.byref(gpu), 0):
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), gpu)
