"""Statistics of the queues of ``steal``.   [003 Table I]"""

from __future__ import annotations

import numpy as np


def by_queue(words: np.ndarray) -> dict[str, float]:
    """How many tasks each block took from the start of a run on.

    Args:
        words: uint64, three a block: its queue, tasks taken, tasks stolen (``steal.cuh``).

    Returns:
        ``queues``, ``tasks``, ``stolen`` (of all), ``most``, ``least``, ``mean`` and ``deviation`` (of tasks by queue).
    """
    rows = words[: words.size // 3 * 3].reshape(-1, 3)
    used = np.flatnonzero(rows[:, 0])  # the last queue ends with the last task, so that its word is not 0
    rows = rows[: used[-1] + 1 if used.size else 0].astype(np.int64)
    taken = rows[:, 1] if used.size else np.zeros(1, np.int64)
    return {
        "queues": len(rows),
        "tasks": int(taken.sum()),
        "stolen": int(rows[:, 2].sum()),
        "most": int(taken.max()),
        "least": int(taken.min()),
        "mean": float(taken.mean()),
        "deviation": float(taken.std()),
    }
