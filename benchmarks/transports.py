"""Messages between GPUs by size and transport: every rank sends to the next one, all at the same time.

With p2p a kernel writes a message into the peer's memory, and the host waits for the kernel; with other transports the
host waits for ``deliver``.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np

import dgraph
from benchmarks import record
from dgraph.tools import benchmarking

SIZES = tuple(1 << power for power in range(6, 27, 2))


def measure(repeat: int, folder: Path) -> None:
    """Run under ``mpirun -n P`` with a GPU per rank; rank 0 writes ``transports-P.json`` and ``.md``."""
    comm = dgraph.communicator()
    gpu = benchmarking.Gpu(comm)
    mine, refused = benchmarking.message_times(gpu, comm, SIZES, repeat * 4)
    rows: dict[str, dict[int, float]] = {}
    for name, by_size in mine.items():
        medians = comm.allreduce(np.array([statistics.median(times) for times in by_size]), "max")
        rows[name] = dict(zip(SIZES, medians.tolist(), strict=True))
    if comm.rank == 0:
        circumstances = record.circumstances(("cupy-cuda13x", "mpi4py"))
        circumstances["command"] = f"mpirun -n {comm.size} {circumstances['command']}"
        document = {"circumstances": circumstances | {"gpu": f"{comm.size} × {gpu.name}"}, "seconds": rows}
        document["refused"] = refused
        record.write(folder, f"transports-{comm.size}", document, _table(rows))


def _table(rows: dict[str, dict[int, float]]) -> str:
    lines = ["| bytes | " + " | ".join(f"{name} µs | GB/s" for name in rows) + " |", "|-" * (2 * len(rows) + 1) + "|"]
    for size in SIZES:
        cells = [f"{rows[name][size] * 1e6:.1f} | {size / rows[name][size] / 1e9:.3g}" for name in rows]
        lines.append(f"| {size:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
