"""CuPy's own kernels that a first graph of several GPUs waits for, compiled in threads.

CuPy compiles a kernel, 0.1 s each, at the first use of an operation on its dtypes: it reads long headers under a lock,
so threads gain little. A graph on one GPU uses the operations of ``BUILDING`` alone. :func:`begin` uses those of
several ranks once, on few values, in threads. Meanwhile our own kernels compile. CuPy keeps the machine code; a file in
our cache folder says that it is there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dgraph._support.affinity import cores, unbound
from dgraph._support.cache import folder, publish
from dgraph._support.compile_clock import compiling
from dgraph._support.host_lock import PATIENCE, locked
from dgraph.errors import OutputError

FEW = 8
"""Values of an array."""

Operation = Callable[[Any, dict[str, Any]], Any]
"""Uses an operation of a module of arrays on arrays by dtype."""


def _assign(array: Any, places: Any, values: Any) -> None:
    array[places] = values


BUILDING: tuple[Operation, ...] = (
    lambda xp, of: xp.arange(FEW, dtype=np.uint32),
    lambda xp, of: xp.argsort(of["uint64"], kind="stable"),
    lambda xp, of: of["uint64"].sort(),
    lambda xp, of: xp.cumsum(of["uint64"], out=of["uint64"]),
    lambda xp, of: xp.cumsum(of["uint32"], dtype=np.uint32, out=of["uint32"]),
    lambda xp, of: (of["uint64"].max(), of["uint64"].sum(), of["uint32"].max()),
)  # fmt: skip
"""Operations of ``graph_build`` on one rank; CuPy compiles for the first one, and brings machine code of the others."""

SHARING: tuple[Operation, ...] = (
    lambda xp, of: xp.argsort(-of["int64"], kind="stable"),
    lambda xp, of: of["int64"].astype(np.uint32),
    lambda xp, of: of["uint64"][of["uint32"]],
    lambda xp, of: _assign(of["uint32"], of["uint32"], of["uint32"]),
    lambda xp, of: xp.cumsum(of["uint32"], dtype=np.uint32),
    lambda xp, of: of["uint32"] - of["uint32"],
    lambda xp, of: of["uint64"][of["int64"]],
    lambda xp, of: _assign(of["int64"].copy(), of["uint32"], of["int64"][of["uint32"]] + of["uint32"]),
    lambda xp, of: _assign(of["int64"].copy(), slice(1), of["uint32"][:1]),
    lambda xp, of: _assign(of["uint32"].copy(), slice(1), np.uint32(1)),
    lambda xp, of: of["uint32"] + of["uint32"],
    lambda xp, of: of["uint32"] | of["uint32"],
    lambda xp, of: of["uint32"][of["uint32"]],
    lambda xp, of: of["uint64"] * of["uint64"],
    lambda xp, of: of["uint64"].astype(np.int64),
    lambda xp, of: of["int64"].max(),
)  # fmt: skip
"""Further operations of ``graph_build`` on several ranks."""

_ready: WeakKeyDictionary[Any, threading.Event] = WeakKeyDictionary()
"""Device → event that the operations of building are compiled."""


def begin(device: Any) -> None:
    """Begin to compile the kernels in threads, once a host; on a device that is not CuPy's there is nothing to do."""
    version = getattr(device.xp, "__version__", None)
    if version is None or not hasattr(device, "code"):
        return
    with suppress(OutputError, RuntimeError):  # no folder, or no thread: kernels compile where they are needed
        building = BUILDING + SHARING
        path = folder() / f"cupy-{version}_{device.architecture}_{len(building)}.kernels"
        if device not in _ready and not path.exists():
            ready = threading.Event()
            threading.Thread(target=_compile, args=(device, path, building, ready)).start()
            _ready[device] = ready


def wait(device: Any) -> None:
    """Wait until the kernels that :func:`begin` compiles are there."""
    ready = _ready.get(device)
    if ready is not None and not ready.is_set():
        with compiling("kernels of CuPy"):
            ready.wait()


def use(xp: Any, operations: tuple[Operation, ...], enter: Callable[[], None] = lambda: None) -> None:
    """Use operations in parallel; one that fails here fails again where it is needed.

    Args:
        xp: module of arrays.
        operations: the operations.
        enter: called before each, in its thread.
    """

    def once(operation: Operation) -> None:
        with suppress(Exception):
            enter()
            arrays = {name: xp.zeros(FEW, np.dtype(name)) for name in ("bool", "int32", "int64", "uint32", "uint64")}
            operation(xp, arrays)

    with unbound(), ThreadPoolExecutor(cores()) as pool:
        list(pool.map(once, operations))


def _compile(device: Any, path: Path, building: tuple[Operation, ...], ready: threading.Event) -> None:
    try:
        gpu = device.xp.cuda.Device(device.number)  # not ``device.use``, which would set CuPy's allocator again
        with locked(path.name, PATIENCE), suppress(OutputError, RuntimeError):  # as the interpreter ends
            if not path.exists():
                use(device.xp, building, gpu.use)
                publish(path, b"")
    finally:
        ready.set()
