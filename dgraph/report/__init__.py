"""What is said of a run: a rank's timings and counts (:class:`Trace`), the JSON, and its other faces."""

from dgraph.engine.rounds.progress import Progress
from dgraph.engine.rounds.timings import Trace
from dgraph.report.chrome import write_trace
from dgraph.report.comparison import compare, comparison
from dgraph.report.page import page, write_page
from dgraph.report.read import read
from dgraph.report.report_file import write
from dgraph.report.style import Style
from dgraph.report.styles import STYLES
from dgraph.report.tables import headline, rounds, show, table
from dgraph.report.text_lines import size

__all__ = [
    "STYLES", "Progress", "Style", "Trace", "compare", "comparison", "headline", "page", "read",
    "rounds", "show", "size", "table", "write", "write_page", "write_trace",
]  # fmt: skip
