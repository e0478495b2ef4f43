"""One line of the doctor's."""

from __future__ import annotations

from dataclasses import dataclass

OK, WARN, FAIL = "OK", "WARN", "FAIL"


@dataclass(frozen=True)
class Finding:
    """What was looked at, what was found there, and for a WARN or FAIL what to do."""

    level: str
    what: str
    found: str
    cure: str = ""


def ok(what: str, found: str) -> Finding:
    return Finding(OK, what, found)


def warn(what: str, found: str, cure: str) -> Finding:
    return Finding(WARN, what, found, cure)


def fail(what: str, found: str, cure: str) -> Finding:
    return Finding(FAIL, what, found, cure)
