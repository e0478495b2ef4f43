"""Print the memory that loads take on one GPU and on the host, their peak over what stays, for each way in.

    python tests/support/load_memory.py SCALE [WAY …]

A way is one of ``WAYS``; "cpu" behind it: on the host alone. Files of ``rmat:SCALE`` are written first, to the folder
``LOAD_MEMORY_FILES`` if that is set and lacks them. GPU figures are taken at every allocation; those of the host are of
a thread that reads them. The last columns are seconds of further loads, without these figures.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

import dgraph
from dgraph.backend.cuda.device import device as devices
from dgraph.result.files.graph_writers import save_graph

FILES = ("wel", "el", "csv", "npz", "parquet", "wsg", "store")
WAYS = (
    *FILES, "wel both", "el both", "npz both", "wsg both", "parquet both", "wel scc", "el scc", "npz scc", "store scc",
    "from_csr", "from_edges", "from_pandas", "rmat", "rmat both", "rmat symmetric",
)  # fmt: skip
"""File or other origin. ``both``: loaded as undirected; ``scc``: a call of scc, which reads in-edges, follows."""

LAPS = 2
"""Further loads, for their seconds."""

SOURCE: dict[str, Any] = {"source": 1}
"""Parameters of the call that uploads a graph which the host built."""


class GpuPeaks:
    """Peaks of the GPU's memory since :meth:`restart`.

    Attributes:
        used, pool: bytes of arrays, and of the pool.
        asked: most bytes that a step asked for before it allocated.
    """

    used = pool = asked = 0
    device: Any = None

    def __init__(self) -> None:
        allocate, free = devices.CudaDevice.allocate, devices.CudaDevice.free

        def allocating(device: Any, size: int) -> Any:
            memory = allocate(device, size)
            self.device = device
            self.used, self.pool = max(self.used, device.used()), max(self.pool, device.held_bytes())
            return memory

        def asking(device: Any, wanted: int = 0) -> int:
            self.asked = max(self.asked, wanted)
            return free(device, wanted)

        methods: Any = devices.CudaDevice
        methods.allocate, methods.free = allocating, asking

    def restart(self) -> int:
        """Forget peaks and give unused memory back; return the bytes in use."""
        gc.collect()
        if self.device:
            self.device.give_back()
        self.asked = 0
        self.used, self.pool = (self.device.used(), self.device.held_bytes()) if self.device else (0, 0)
        return self.used


class HostPeak:
    """Peak of the process' memory over that before, while the body runs; pages of files do not count."""

    def __enter__(self) -> HostPeak:
        self.before = self.peak = anonymous()
        self.ended = Event()
        self.thread = Thread(target=self._poll)
        self.thread.start()
        return self

    def _poll(self) -> None:
        while not self.ended.wait(0.002):
            self.peak = max(self.peak, anonymous())

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()


def anonymous() -> int:
    """Return the bytes of this process that are not pages of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon", "RssShmem")))


def write(scale: int, folder: Path, names: set[str]) -> None:
    """Write files of ``rmat:scale``, with weights where the format has them."""
    for name in sorted(names):
        weights = "unit" if name == "el" else "1..255"
        graph = dgraph.Graph.load(f"rmat:{scale}", weights=weights, build="host", device="cpu")
        if name == "store":
            graph.save_store(folder / "g.store")
        else:
            save_graph(folder / f"g.{name}", graph.block, graph.comm)


def loader(way: str, scale: int, folder: Path) -> Callable[[], dgraph.Graph]:
    """Return a function that loads one way; data in memory are made here."""
    name, device = way.split()[0], dgraph.Cpu() if "cpu" in way else dgraph.Cuda()
    options: dict[str, Any] = {"device": device} | ({"directed": False} if "both" in way else {})
    if name in FILES:
        return lambda: dgraph.Graph.load(folder / f"g.{name}", **options)
    if name == "rmat":
        spec = f"rmat:{scale}" + ",symmetric" * ("symmetric" in way)
        return lambda: dgraph.Graph.load(spec, weights="1..255", **options)
    block = dgraph.Graph.load(f"rmat:{scale}", weights="1..255", build="host", device="cpu").block
    offsets, targets, weights = np.array(block.offsets), np.array(block.targets), np.array(block.weights)
    if name == "from_csr":
        return lambda: dgraph.Graph.from_csr(offsets, targets, weights, **options)
    sources = np.repeat(np.arange(block.n, dtype=np.uint32), np.diff(offsets))
    if name == "from_edges":
        return lambda: dgraph.Graph.from_edges(sources, targets, weights, **options)
    import pandas

    frame = pandas.DataFrame({"source": sources, "target": targets, "weight": weights})
    return lambda: dgraph.Graph.from_pandas(frame, **options)


def measure(way: str, load: Callable[[], dgraph.Graph], peaks: GpuPeaks) -> str:
    """Load once for the peaks, and further times for the seconds; return a row of the table."""

    def loaded() -> dgraph.Graph:
        graph = load()
        if "scc" in way:
            dgraph.run("scc", graph)
        elif graph.built_on is None and "cpu" not in way:
            dgraph.run("sssp", graph, **SOURCE)
        return graph

    before = peaks.restart()
    with HostPeak() as host:
        graph = loaded()
    gc.collect()
    if "cpu" in way:
        columns = (graph.block.offsets, graph.block.targets, graph.block.weights)
        stays = sum(column.nbytes for column in columns if column is not None)
        figures = [stays, 0, host.peak - host.before]
        ratio = figures[2] / stays
    else:
        stays, used = peaks.device.used() - before, peaks.used - before
        figures = [stays, used, peaks.pool, peaks.asked, host.peak - host.before]
        ratio = used / max(stays, 1)
    row = f"| {way} | {'GPU' if graph.built_on else 'host'} | {ratio:.2f} | "
    row += " | ".join(f"{size / 1e6:,.0f}" for size in figures) + f" | {graph.fingerprint()[:8]} |"
    graph.close()
    del graph
    for _ in range(LAPS):
        peaks.restart()
        began = time.perf_counter()
        graph = loaded()
        row += f" {time.perf_counter() - began:.3f}"
        graph.close()
        del graph
    return row


def main(scale: int, ways: tuple[str, ...]) -> None:
    """Print a row for each way; bytes are in millions."""
    peaks = GpuPeaks()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(os.environ.get("LOAD_MEMORY_FILES", place))
        names = {way.split()[0] for way in ways} & set(FILES)
        write(scale, folder, {name for name in names if not (folder / f"g.{name}").exists()})
        print("| way | built on | peak / stays | stays | peak | pool | asked for | host peak | fingerprint | seconds")
        for way in ways:
            print(measure(way, loader(way, scale, folder), peaks), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), tuple(sys.argv[2:]) or WAYS)
