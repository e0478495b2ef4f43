"""What is said of a run: a rank's timings and counts (:class:`Trace`), the JSON and the table made of them."""

from dgraph.report.progress import Progress
from dgraph.report.table import headline, show, table
from dgraph.report.trace import Trace
from dgraph.report.write import write

__all__ = ["Progress", "Trace", "headline", "show", "table", "write"]
