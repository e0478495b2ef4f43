"""Memory of loads onto one GPU: peak over what stays, of the GPU and of the host, for each way in.

``python benchmarks/load_memory.py SCALE [WAY …]``, on a machine with a GPU; a way is one of ``WAYS``. Files are written
first. Peaks of arrays are exact: they are taken at each allocation. The host's are of a thread that reads them.
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

FILES = ("wel", "el", "csv", "npz", "parquet", "wsg", "store")
WAYS = (
    *FILES, "wel both", "el both", "wel scc", "el scc", "npz both", "npz scc", "wsg both", "wsg scc", "parquet both",
    "store scc", "from_csr", "from_edges", "from_pandas", "rmat", "rmat both", "rmat symmetric",
)  # fmt: skip
"""A file or what else is loaded; ``both``: as an undirected graph; ``scc``: a call that reads in-edges follows."""


class Watched:
    """Peaks of GPU memory since :meth:`begin`: of arrays, of the pool, and bytes that were asked for."""

    used = pool = wanted = 0
    device: Any = None

    @classmethod
    def install(cls) -> None:
        """Take figures at every allocation, and what is asked for with every demand."""
        allocate, free = devices.CudaDevice.allocate, devices.CudaDevice.free

        def allocating(device: Any, size: int) -> Any:
            memory = allocate(device, size)
            cls.device = device
            cls.used, cls.pool = max(cls.used, device.used()), max(cls.pool, device.held_bytes())
            return memory

        def asking(device: Any, wanted: int = 0) -> int:
            cls.wanted = max(cls.wanted, wanted)
            return free(device, wanted)

        devices.CudaDevice.allocate, devices.CudaDevice.free = allocating, asking  # type: ignore[method-assign]

    @classmethod
    def begin(cls) -> None:
        """Forget earlier peaks."""
        cls.wanted = 0
        cls.used, cls.pool = (cls.device.used(), cls.device.held_bytes()) if cls.device else (0, 0)


class HostPeak:
    """Peak of the process' anonymous memory over that before, while the body runs."""

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

    @property
    def bytes(self) -> int:
        """Peak over the memory before."""
        return self.peak - self.before


def anonymous() -> int:
    """Return the bytes of this process that are no pages of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon", "RssShmem")))


def write(scale: int, folder: Path, names: set[str]) -> None:
    """Write the files of ``rmat:scale``, with weights where the format has them."""
    if not names:
        return
    graph = dgraph.Graph.load(f"rmat:{scale}", weights="1..255", build="host", device="cpu")
    plain = graph if not names & {"el"} else dgraph.Graph.load(f"rmat:{scale}", build="host", device="cpu")
    from dgraph.result.files.graph_writers import save_graph

    for name in sorted(names):
        began = time.perf_counter()
        if name == "store":
            graph.save_store(folder / "g.store")
        else:
            save_graph(folder / f"g.{name}", (plain if name == "el" else graph).block, graph.comm)
        print(f"# {name} written in {time.perf_counter() - began:.1f} s", flush=True)


def loader(way: str, scale: int, folder: Path) -> Callable[[], dgraph.Graph]:
    """Return a function that loads one way; data in memory are made here."""
    name, both, device = way.split()[0], "both" in way, dgraph.Cpu() if "cpu" in way else dgraph.Cuda()
    options = {"directed": False} if both else {}
    if name in FILES:
        return lambda: dgraph.Graph.load(str(folder / f"g.{name}"), device=device, **options)
    if name == "rmat":
        spec = f"rmat:{scale}" + ",symmetric" * ("symmetric" in way)
        return lambda: dgraph.Graph.load(spec, device=device, weights="1..255", **options)
    block = dgraph.Graph.load(f"rmat:{scale}", weights="1..255", build="host", device="cpu").block
    arrays = np.array(block.offsets), np.array(block.targets), np.array(block.weights)
    if name == "from_csr":
        return lambda: dgraph.Graph.from_csr(*arrays, device=device)
    sources = np.repeat(np.arange(block.n, dtype=np.uint32), np.diff(arrays[0]))
    if name == "from_edges":
        return lambda: dgraph.Graph.from_edges(sources, *arrays[1:], device=device)
    import pandas

    frame = pandas.DataFrame({"source": sources, "target": arrays[1], "weight": arrays[2]})
    return lambda: dgraph.Graph.from_pandas(frame, device=device)


def measure(way: str, scale: int, folder: Path, laps: int) -> str:
    """Load once for the peaks, and further times for the seconds; return the row of a table."""
    load, row = loader(way, scale, folder), ""
    for lap in range(1 + laps):
        gc.collect()
        if Watched.device:
            Watched.device.give_back()
        Watched.begin()
        before, began = Watched.used, time.perf_counter()
        with HostPeak() if not lap else HostPeakless() as host:
            graph = load()
            built = graph.built_on is not None
            if "cpu" not in way and (not built or "scc" in way):
                report = dgraph.run("scc" if "scc" in way else "sssp", graph, **({} if "scc" in way else {"source": 1}))
        seconds = time.perf_counter() - began
        if lap:
            row += f" {seconds:.3f}"
            graph.close()
            continue
        gc.collect()
        if "cpu" in way:
            block = graph.block
            stays = sum(array.nbytes for array in (block.offsets, block.targets, block.weights) if array is not None)
            row = (
                f"| {way} | {scale} | host | {mb(stays)} | {mb(host.bytes)} | {host.bytes / stays:.2f} | "
                f"{mb(anonymous() - host.before)} | {graph.fingerprint()[:8]} |"
            )
            graph.close()
            del graph, block
            continue
        stays, used, pool, wanted = Watched.device.used() - before, Watched.used - before, Watched.pool, Watched.wanted
        at_load = host.bytes
        host_stays = anonymous() - host.before
        planned = (
            ""
            if built and "scc" not in way
            else f" planned {mb(report.report['ranks'][0]['gpu_memory']['planned_bytes'])}"
        )
        row = (
            f"| {way} | {scale} | {'GPU' if built else 'host'} | {mb(stays)} | {mb(used)} | {used / max(stays, 1):.2f} | "
            f"{mb(pool)} | {mb(wanted)} | {mb(at_load)} | {mb(host_stays)} | {graph.fingerprint()[:8]}{planned} |"
        )
        graph.close()
        del graph
    return row


class HostPeakless:
    """Stands for :class:`HostPeak` where seconds are taken."""

    bytes = 0

    def __enter__(self) -> HostPeakless:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def mb(size: int) -> str:
    """Return a size in millions of bytes."""
    return f"{size / 1e6:,.0f}"


def main(scale: int, ways: tuple[str, ...], laps: int = 2) -> None:
    """Print a row for each way."""
    Watched.install()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(os.environ.get("FILES_IN", place))
        names = {way.split()[0] for way in ways} & set(FILES)
        write(scale, folder, {name for name in names if not (folder / f"g.{name}").exists()})
        print(
            "| way | scale | built on | stays | peak | peak / stays | pool | asked for | host peak | host stays | fingerprint, seconds |"
        )
        for way in ways:
            try:
                print(measure(way, scale, folder, laps), flush=True)
            except Exception as error:  # noqa: BLE001 - the other rows are wanted
                print(f"| {way} | {type(error).__name__}: {str(error)[:200]} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), tuple(sys.argv[2:]) or WAYS)
