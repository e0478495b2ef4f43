"""Compile-time constants of a program, by which the round code of every backend is specialised."""

from __future__ import annotations

from dgraph.program import MAX, Traced

LAST_BUCKET = 4 * 10**18
"""Largest bucket number, which all farther vertices share; below ``FAR_BASE`` of both backends."""

TOP = 2**63 - 1
"""Largest int64. A minimum is kept as ``x ^ TOP``, the distance of x below TOP as an unsigned number: the minimum of x
becomes a maximum, and a cleared counter, 0, means that there was no value. A maximum is kept as ``x ^ BOTTOM``."""

BOTTOM = -(2**63)
"""Smallest int64."""


def kept_by(t: Traced, name: str) -> int:
    """Return the mask that turns an extreme into the unsigned number which counters keep: TOP for MIN, else BOTTOM."""
    return BOTTOM if t.globals[name].reduce is MAX else TOP


def constants(t: Traced) -> dict[str, bool | int]:
    """Return the constants of a program by name, as the round code spells them.

    Booleans: ONCE, FLAGGED, WEIGHTED, PREFILTERS, SMALLEST and DIRTY are properties of :class:`Traced`. APPLY, COND,
    PRIORITY and LIVE say which operators exist; WHOLE_PASSES if ``step`` returns ``whole``; ALL is the domain. Counts:
    SUMS (integer, minima included), MINIMA, FLOAT_SUMS.
    """
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
        "CAN_PUSH": "push" in t.program.directions,
        "GATHERS": t.program.gathers,
        "PREFILTERS": t.prefilters,
        "SMALLEST": t.smallest,
        "SUMS": len(t.integer_sums),
        "MINIMA": len(t.minima),
        "FLOAT_SUMS": len(t.float_sums),
    }
