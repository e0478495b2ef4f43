"""Checks of a machine and a launch: one line per finding, OK, WARN or FAIL, the last two with a remedy."""

from dgraph.tools.doctor.checkup import examine
from dgraph.tools.doctor.finding import FAIL, OK, WARN, Finding

__all__ = ["FAIL", "OK", "WARN", "Finding", "examine"]
