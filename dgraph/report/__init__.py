"""Reports of runs: JSON, text, HTML page, trace, comparison, verdict.

A :class:`Record` records a run on each rank and collects the report, a dictionary that ``schema.json`` describes. All
functions here take that dictionary.
"""

from dgraph.engine.rounds.progress import Progress
from dgraph.engine.rounds.record import Record
from dgraph.report.chrome import write_trace
from dgraph.report.comparison import compare, comparison
from dgraph.report.page import page, write_page
from dgraph.report.read import read
from dgraph.report.report_file import write, write_rounds
from dgraph.report.style import Style
from dgraph.report.styles import STYLES
from dgraph.report.tables import facts, headline, rounds, show, table
from dgraph.report.text_lines import size
from dgraph.report.verdict import verdict

__all__ = [
    "STYLES",
    "Progress",
    "Record",
    "Style",
    "compare",
    "comparison",
    "facts",
    "headline",
    "page",
    "read",
    "rounds",
    "show",
    "size",
    "table",
    "verdict",
    "write",
    "write_page",
    "write_rounds",
    "write_trace",
]  # fmt: skip
