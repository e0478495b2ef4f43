"""One line of the doctor's output."""

from __future__ import annotations

from dataclasses import dataclass

OK, WARN, FAIL = "OK", "WARN", "FAIL"


@dataclass(frozen=True)
class Finding:
    """Result of one check.

    Attributes:
        level: "OK", "WARN" or "FAIL".
        what: subject, such as "gpu memory".
        found: observation.
        cure: what to do about a WARN or FAIL.
    """

    level: str
    what: str
    found: str
    cure: str = ""


def ok(what: str, text: str) -> Finding:
    """Make a finding that needs no action."""
    return Finding(OK, what, text)


def warn(what: str, text: str, cure: str) -> Finding:
    """Make a finding about lost speed or a missing feature."""
    return Finding(WARN, what, text, cure)


def fail(what: str, text: str, cure: str) -> Finding:
    """Make a finding that prevents runs, or makes their results wrong."""
    return Finding(FAIL, what, text, cure)
