"""What a machine and a launch offer dgraph, and what to mend: a line a finding, each OK, WARN or FAIL with its cure."""

from dgraph.tools.doctor.checkup import examine
from dgraph.tools.doctor.finding import FAIL, OK, WARN, Finding

__all__ = ["FAIL", "OK", "WARN", "Finding", "examine"]
