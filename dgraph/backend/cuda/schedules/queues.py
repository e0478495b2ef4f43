"""Statistics of the queues of ``steal`` [003, Table I]."""

from __future__ import annotations

import numpy as np


def by_queue(words: np.ndarray, queues: int) -> dict[str, float]:
    """Return statistics of the tasks that each block took since the start of a run.

    Args:
        words: uint64, three a block: its queue, tasks taken, tasks stolen (``steal.cuh``).
        queues: number of queues, one a block.

    Returns:
        ``queues``, ``tasks``, ``stolen`` (of all), ``most``, ``least``, ``mean`` and ``deviation`` (of tasks by queue).
    """
    rows = words[: 3 * queues].reshape(-1, 3).astype(np.int64)
    taken = rows[:, 1]
    return {
        "queues": queues,
        "tasks": int(taken.sum()),
        "stolen": int(rows[:, 2].sum()),
        "most": int(taken.max()),
        "least": int(taken.min()),
        "mean": float(taken.mean()),
        "deviation": float(taken.std()),
    }
