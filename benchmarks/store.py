"""A store written once and opened on several numbers of ranks: with and without checksums, from page cache and disk."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import record

WEIGHTS = "1..255"
"""Generator and weights; as a text file, this edge list takes 1.1 GB."""

PARTS = 2
RANKS = (2, 1, 4)

WRITE = """
import json, sys, time
import dgraph
began = time.perf_counter()
graph = dgraph.Graph.load(sys.argv[1], weights=sys.argv[2])
loaded = time.perf_counter()
graph.save_store(sys.argv[3], policy=sys.argv[4], parts=int(sys.argv[5]))
ended = time.perf_counter()
if graph.comm.rank == 0:
    print(json.dumps({"load": loaded - began, "write": ended - loaded}))
"""

OPEN = """
import json, sys, time
import numpy as np
import dgraph
comm = dgraph.communicator()
for path in sys.argv[1:3]:  # the small one first, which loads the code
    comm.barrier()
    began = time.perf_counter()
    local = dgraph.Graph.open(path, verify=sys.argv[3] == "verified").opened("auto").local
    seconds = time.perf_counter() - began
worst = comm.allreduce(np.array([seconds]), "max")
if comm.rank == 0:
    print(json.dumps(worst[0]))
"""


def measure(scale: int, repeat: int, folder: Path) -> None:
    """Run everything on ``rmat:scale`` and write ``store.json`` and ``store.md``."""
    with tempfile.TemporaryDirectory() as scratch:
        small, store = Path(scratch) / "small", Path(scratch) / "store"
        _ranks(PARTS, WRITE, "rmat:6", WEIGHTS, small, "hvc", PARTS)
        document: dict = {
            "circumstances": record.circumstances(),
            "repeat": repeat,
            "graph": f"rmat:{scale}, {WEIGHTS}",
        }
        document["written"] = _ranks(PARTS, WRITE, f"rmat:{scale}", WEIGHTS, store, "hvc", PARTS)
        document["bytes"] = sum(file.stat().st_size for file in store.iterdir())
        document["rows"] = [
            _measure_row((small, store), ranks, traversal, cold, repeat, document["bytes"])
            for ranks in RANKS
            for traversal in ("verified", "not verified")
            for cold in (False, True)
        ]
    record.write(folder, "store", document, _table(document))


def _measure_row(stores: tuple[Path, Path], ranks: int, traversal: str, cold: bool, repeat: int, size: int) -> dict:
    seconds = []
    for _ in range(repeat):
        if cold:
            _evict(stores[1])
        seconds.append(_ranks(ranks, OPEN, *stores, traversal))
    row = {"ranks": ranks, "checksums": traversal, "cached": not cold, "seconds": seconds, "bytes": size}
    print(f"{ranks} ranks, {traversal}, {'cold' if cold else 'cached'}: {statistics.median(seconds):.3f} s", flush=True)
    return row


def _ranks(count: int, code: str, *words: object):
    """Run ``code`` on ``count`` ranks; return what rank 0 prints, parsed as JSON."""
    launcher = Path(sys.executable).parent / "mpiexec"
    mpiexec = str(launcher) if launcher.exists() else shutil.which("mpiexec")
    argv = [mpiexec, "-n", str(count), sys.executable, "-c", code, *map(str, words)]
    return json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)  # type: ignore[list-item]


def _evict(store: Path) -> None:
    """Drop the files from the page cache, so that the next reader reads from disk."""
    for file in store.iterdir():
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def _table(document: dict) -> str:
    size, written = document["bytes"], document["written"]
    lines = [
        f"`{document['graph']}`: {size / 1e9:.2f} GB in {PARTS} parts by hvc; generated and cleaned in "
        f"{written['load']:.2f} s, placed, built, measured and written in {written['write']:.2f} s by {PARTS} ranks.",
        "",
        "On 2 ranks parts are mapped as they are, on others they are dealt out: read, and numbered anew.",
        "",
        "| ranks | checksums | from | seconds (median) | range | GB/s checked |",
        "|-|-|-|-|-|-|",
    ]
    for row in document["rows"]:
        median = statistics.median(row["seconds"])
        mapped = row["ranks"] == PARTS and row["checksums"] == "verified"
        rate = f"{row['bytes'] / median / 1e9:.1f}" if mapped else "–"
        lines.append(
            f"| {row['ranks']} | {row['checksums']} | {'page cache' if row['cached'] else 'disk'} | {median:.3f} | "
            f"{min(row['seconds']):.3f}–{max(row['seconds']):.3f} | {rate} |"
        )
    return "\n".join(lines) + "\n"
