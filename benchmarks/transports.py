"""Messages between GPUs by size and transport: every rank sends to the next, hears from the one before, all at once.

Under p2p a kernel writes a message where it is read, and its host waits for the kernel; else it waits for ``deliver``.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np

from benchmarks import record
from dgraph.backend.connect import TRANSPORTS

SIZES = tuple(1 << power for power in range(6, 27, 2))


def measure(repeat: int, folder: Path) -> None:
    """Run under ``mpirun -n P`` with a GPU a rank; rank 0 writes ``transports-P.json`` and ``.md``."""
    from dgraph.backend import backend
    from dgraph.backend.cuda.transports import compare, selftest
    from dgraph.comm import world
    from dgraph.comm.hosts import ranks_here

    comm = world()
    here = ranks_here(comm)
    device = backend("cuda", None, len(here), here.index(comm.rank), alone=False).device
    device.use()
    links, refused = compare(device, comm)
    selftest.SIZES = SIZES
    pairs = {(a, b) for b in range(comm.size) for a in range(b)}
    rows: dict[str, dict[int, float]] = {}
    for name in TRANSPORTS:
        if refused[name]:
            continue
        trial = selftest.Trial(device, comm, links, name, pairs)
        trial.aim(1)
        rows[name] = {}
        for size in SIZES:
            trial.timed(size)
            mine = statistics.median(trial.timed(size) for _ in range(repeat * 4))
            rows[name][size] = float(comm.allreduce(np.array([mine]), "max")[0])
        trial.close()
    if comm.rank == 0:
        known = record.circumstances(("cupy-cuda13x", "mpi4py"))
        known["command"] = f"mpirun -n {comm.size} {known['command']}"
        document = {"circumstances": known | {"gpu": f"{comm.size} × {device.name}"}, "seconds": rows}
        document["refused"] = {name: next(iter(told.values())) for name, told in refused.items() if told}
        record.write(folder, f"transports-{comm.size}", document, _table(rows))


def _table(rows: dict[str, dict[int, float]]) -> str:
    lines = ["| bytes | " + " | ".join(f"{name} µs | GB/s" for name in rows) + " |", "|-" * (2 * len(rows) + 1) + "|"]
    for size in SIZES:
        cells = [f"{rows[name][size] * 1e6:.1f} | {size / rows[name][size] / 1e9:.3g}" for name in rows]
        lines.append(f"| {size:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
