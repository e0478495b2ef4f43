"""Trace of a made-up run that uses every part of the report."""

from __future__ import annotations

import math
import time

import numpy as np

from dgraph.report import Trace


def sample(comm):
    """Return the trace of a made-up run that uses every part of the report."""
    trace = Trace(comm, ["dgraph", "sssp", "rmat:16"])
    with trace("load"):
        time.sleep(0.01)
    with trace("solve"):
        for _ in range(2):
            with trace("compute"):
                time.sleep(0.002)
        trace.add("idle", 0.5)
    trace.message((comm.rank + 1) % comm.size, 3000, 2)
    trace.count("masters", 100 * (comm.rank + 1))
    trace.describe("algorithm", name="sssp", parameters={"source": np.int64(3), "cutoff": math.inf})
    trace.describe("graph", name="rmat:16", n=1 << 16, m=1 << 20, directed=True, fingerprint="0123456789abcdef")
    trace.describe("outcome", converged=False, limit="max_iter 2", rounds=2, summary={"reached": 45001, "sum": 1.5})
    trace.choose("policy", "oec")
    trace.choose("policy", "cvc", "a hub is larger than a share")
    trace.rounds.extend(np.array([[1, 10, 0]]), 0.001)
    trace.rounds.extend(np.array([[500, 9000, 1]]), 0.002)
    trace.warn("threads were clamped")
    return trace
