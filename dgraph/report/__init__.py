"""What is said of a run: a rank's timings and counts (:class:`Trace`), the JSON, and its other faces."""

from dgraph.report.chrome import write_trace
from dgraph.report.compare import compare, comparison
from dgraph.report.lines import size
from dgraph.report.page import page, write_page
from dgraph.report.progress import Progress
from dgraph.report.read import read
from dgraph.report.style import Style
from dgraph.report.styles import STYLES
from dgraph.report.table import headline, rounds, show, table
from dgraph.report.trace import Trace
from dgraph.report.write import write

__all__ = [
    "STYLES", "Progress", "Style", "Trace", "compare", "comparison", "headline", "page", "read",
    "rounds", "show", "size", "table", "write", "write_page", "write_trace",
]  # fmt: skip
