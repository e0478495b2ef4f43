"""What is said of a run: a rank's timings and counts (:class:`Trace`), the JSON and the texts made of them."""

from dgraph.report.progress import Progress
from dgraph.report.style import Style
from dgraph.report.styles import STYLES
from dgraph.report.table import headline, rounds, show, table
from dgraph.report.trace import Trace
from dgraph.report.write import write

__all__ = ["STYLES", "Progress", "Style", "Trace", "headline", "rounds", "show", "table", "write"]
