"""Graphs that GPUs generate and build: seconds and memory of the build, then a run and its certificate."""

from __future__ import annotations

import gc
import statistics
import time
from pathlib import Path

import dgraph
from benchmarks import record
from dgraph.tools.benchmarking import peak_memory, planned_bytes

GIB = 1 << 30
KEY = ("graph", "words", "algorithm", "policy")
TOLD = """Seconds of the build, with what had to be compiled; milliseconds of the rounds, the median of all runs but the
first; seconds of the proof. GiB of the fullest rank's GPU, and of its process."""
HEAD = "| graph | ranks | arcs | build s | most GiB | stays GiB | planned GiB | solve ms | validate s | host GiB |"


def measure(graphs: list[str], algorithm: str, policy: str, weights: str | None, repeat: int, folder: Path) -> None:
    """Run under ``mpirun -n P`` with a GPU per rank; rank 0 writes ``building-P.json`` and ``.md``.

    Args:
        graphs: ``NAME:SIZE…``, with options of the run after slashes: ``push`` is its direction, ``levels`` leaves out
            predecessors, as in ``rmat:29/push``.
    """
    comm = dgraph.communicator()
    rows = [_measure_row(*asked.partition("/")[::2], algorithm, policy, weights, repeat, comm) for asked in graphs]
    if comm.rank == 0:
        facts = record.circumstances(("cupy-cuda13x", "mpi4py"))
        facts |= {"command": f"mpirun -n {comm.size} {facts['command']}", "gpu": f"{comm.size} × {rows[0]['gpu']}"}
        keep(folder, comm.size, [{"circumstances": facts, "rows": rows}])
        print(_table(rows))


def keep(folder: Path, ranks: int, runs: list[dict]) -> None:
    """Add the rows of these runs, newest first, in place of older ones."""
    record.add(folder, f"building-{ranks}", runs, KEY, TOLD, _table)


def _measure_row(spec: str, words: str, algorithm: str, policy: str, weights: str | None, repeat: int, comm) -> dict:
    gc.collect()  # free the GPU memory of the previous graph
    asked = words.split("/") if words else []
    more: dict = {"direction": "push"} if "push" in asked else {}
    if "levels" in asked:
        more["return_predecessors"] = False
    comm.barrier()
    began = time.perf_counter()
    graph = dgraph.build_on_gpus(spec, comm=comm, policy=policy, **({"weights": weights} if weights else {}))
    graph.built_on.wait()
    comm.barrier()
    built, peak, stays = time.perf_counter() - began, graph.built_on.peak, graph.built_on.used()
    planned = planned_bytes(graph, policy)
    if algorithm in ("bfs", "sssp"):
        more["source"] = graph.hub()
    runs = [dgraph.run(algorithm, graph, validate=turn > repeat, **more).report for turn in range(repeat + 2)]
    seconds = [max(sum(rank["seconds"].get(part, 0) for part in PARTS) for rank in run["ranks"]) for run in runs[1:-1]]
    row = {
        "gpu": graph.built_on.name,
        "graph": spec, "words": words, "algorithm": algorithm, "policy": policy, "ranks": comm.size, "n": graph.n,
        "arcs": graph.arcs, "fingerprint": graph.fingerprint(), "build": built,
        "peak": comm.largest(peak), "stays": comm.largest(stays), "planned": comm.largest(planned),
        "solve": statistics.median(seconds or [0]), "run_peak": comm.largest(graph.built_on.peak),
        "validate": max(rank["seconds"].get("validate", 0) for rank in runs[-1]["ranks"]),
        "validation": runs[-1]["outcome"]["validation"], "host": comm.largest(peak_memory()),
    }  # fmt: skip
    if comm.rank == 0:
        print(_line(row), flush=True)
    return row


PARTS = ("compute", "pack", "exchange", "unpack", "idle")


def _line(row: dict) -> str:
    asked = "/".join(filter(None, [row["graph"], row["words"]]))
    sizes = " | ".join(f"{row[name] / GIB:.2f}" for name in ("peak", "stays", "planned"))
    return (
        f"| {row['algorithm']} {asked} {row['policy']} | {row['ranks']} | {row['arcs']:,} | {row['build']:.2f} | "
        f"{sizes} | {1e3 * row['solve']:.2f} | {row['validate']:.2f} | {row['host'] / GIB:.1f} |"
    )


def _table(rows: list[dict]) -> str:
    return "\n".join([HEAD, "|-" * (HEAD.count("|") - 1) + "|", *map(_line, rows)]) + "\n"
