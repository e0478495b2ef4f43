"""What of a program chooses the paths of the rounds' text, on every backend."""

from __future__ import annotations

from dgraph.program import Traced

LAST_BUCKET = 4 * 10**18
"""Below ``FAR_BASE`` of either layout; vertices beyond it share one bucket."""

TOP = 2**63 - 1
"""A minimum is counted as ``x ^ TOP``: how far x lies below TOP, a number without a sign. The least x is the farthest,
and a cleared counter, 0, says that there was none."""


def constants(t: Traced) -> dict[str, bool | int]:
    """Names that the text of the rounds asks for, and their values."""
    return {
        "ONCE": t.once,
        "FLAGGED": t.flagged,
        "APPLY": t.apply is not None,
        "ALL": t.all,
        "WEIGHTED": t.weighted,
        "COND": t.cond is not None,
        "PRIORITY": t.priority is not None,
        "WHOLE_PASSES": "whole" in (t.step or {}),
        "LIVE": t.live is not None,
        "DIRTY": bool(t.dirty),
        "CAN_PULL": "pull" in t.program.directions,
        "GATHERS": t.program.gathers,
        "PICKS": t.picks,
        "SMALLEST": t.smallest,
        "SUMS": len(t.integer_sums),
        "MINIMA": len(t.minima),
        "FLOAT_SUMS": len(t.float_sums),
    }
