"""Record of a made-up run that uses every part of the report."""

from __future__ import annotations

import math
import time

import numpy as np

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
