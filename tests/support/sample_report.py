"""Reports of made-up runs: one that uses every part, and ones of several ranks and of GPUs."""

from __future__ import annotations

import math
import time

import numpy as np

from dgraph.backend.round_stats import RoundStats
from dgraph.comm import SerialComm
from dgraph.engine.rounds.load_record import LoadRecord
from dgraph.engine.rounds.round_series import PARTS, RoundSeries
from dgraph.report import Record


def sample(comm):
    """Return the record of a made-up run that uses every part of the report."""
    record = Record(comm, ["dgraph", "sssp", "rmat:16"])
    with record("load"):
        time.sleep(0.01)
    with record("solve"):
        for _ in range(2):
            with record("compute"):
                time.sleep(0.002)
        record.add("idle", 0.5)
    record.message((comm.rank + 1) % comm.size, 3000, 2)
    record.count("masters", 100 * (comm.rank + 1))
    record.describe("algorithm", name="sssp", parameters={"source": np.int64(3), "cutoff": math.inf})
    record.describe("graph", name="rmat:16", n=1 << 16, m=1 << 20, directed=True, fingerprint="0123456789abcdef")
    record.describe("outcome", converged=False, limit="max_iter 2", rounds=2, summary={"reached": 45001, "sum": 1.5})
    record.choose("policy", "oec")
    record.choose("policy", "cvc", "a hub is larger than a share")
    record.rounds.extend(np.array([[1, 10, 0]]), 0.001)
    record.rounds.extend(np.array([[500, 9000, 1]]), 0.002)
    record.warn("threads were clamped")
    return record


def run_report(ranks=4, rounds=6, seed=1, **graph):
    """Return a made-up report of several ranks with different figures and every key."""
    draw = np.random.default_rng(seed)
    report = sample(SerialComm()).collect()
    (one,) = report["ranks"]
    seconds = draw.random((ranks, rounds, len(PARTS))).round(7) * 1e-3
    report["ranks"] = []
    for rank in range(ranks):
        parts = dict(zip(PARTS, seconds[rank].sum(0).tolist(), strict=True))
        starts = (0.5 + np.arange(rounds) * 0.01).tolist()
        columns = dict(zip(PARTS, seconds[rank].T.tolist(), strict=True))
        peers = [peer for peer in range(ranks) if peer != rank]
        report["ranks"].append(
            one
            | {
                "rank": rank,
                "seconds": one["seconds"] | parts | {"solve": sum(parts.values()), "compile": 0.0, "wall": 9.0 + rank},
                "sent": [{"peer": p, "bytes": int(draw.integers(1, 1 << 30)), "messages": rounds} for p in peers],
                "spans": [
                    {"name": "load", "start": 0.0, "seconds": 0.4},
                    {"name": "solve", "start": 0.45, "seconds": 8},
                ],
                "rounds": {"start": starts, **columns},
            }
        )
    kept = RoundSeries()
    for i in range(rounds):
        kept.extend(np.array([[draw.integers(1, 1 << 20), i, i % 3 == 0]]), float(seconds[0, i].sum()))
    report["rounds"] = kept.summary()
    report["graph"] |= graph
    return report


def recorded(report, blocks=1056, seed=3):
    """Return ``report`` with everything that GPUs record."""
    draw = np.random.default_rng(seed)
    for row in report["rounds"]["kept"]:
        row["schedule"] = ("alb", "persistent", "pull")[row["round"] % 3]
    for rank in report["ranks"]:
        loads, columns = LoadRecord(), rank["rounds"]
        pairs = []
        for row in report["rounds"]["kept"][:8]:
            edges = {"edges": draw.integers(0, 90, (blocks, 64)), "edges_huge": draw.integers(0, 9, (blocks // 2, 64))}
            pairs.append(loads.add(row["round"], RoundStats("alb", edges)))
        rest = [(0, 0.0)] * (len(columns["start"]) - len(pairs))
        columns["fullest_block"], columns["mean_block"] = map(list, zip(*pairs, *rest, strict=True))
        rank |= {
            "load": loads.facts(),
            "schedules": {"alb": 3, "pull": 2},
            "kernels": [
                {"schedule": "alb", "kernel": f"k{i}", "walks": i < 2, "launches": 9, "seconds": float(draw.random())}
                for i in range(12)
            ],
            "gpu_memory": {
                "used_bytes": 1 << 30, "peak_bytes": 3 << 30, "planned_bytes": 4 << 30, "held_bytes": 4 << 30,
                "taken_bytes": 5 << 30,
            },
        }  # fmt: skip
    return report


def timed(ranks, seconds, compute, **graph):
    """Return a report of ranks that solve for ``seconds``; every second one computes twice as long."""
    report = run_report(ranks, **graph)
    for rank in report["ranks"]:
        rank["seconds"] |= {"solve": seconds + 0.5, "compile": 0.5, "compute": compute * (1 + rank["rank"] % 2) / 2}
    return report
