"""What a command line prints of its runs on stdout: a table for people, or what other programs read.

A style is made once for a command line; rank 0 gives it the report of each run, and closes it.
"""

from __future__ import annotations

import json

from dgraph.report.gapbs_format import Gap
from dgraph.report.graph500_format import Graph500
from dgraph.report.style import Style
from dgraph.report.tables import show


class Table(Style):
    """A headline, a line a rank, the rounds."""

    def run(self, report):
        show(report)


class Json(Style):
    """The report of ``schema.json``, a line a run."""

    def run(self, report):
        print(json.dumps(report))


STYLES: dict[str, type[Style]] = {"table": Table, "json": Json, "graph500": Graph500, "gap": Gap}
