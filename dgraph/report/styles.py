"""Register of the output formats of ``--format``: a table for people, and formats that other programs read."""

from __future__ import annotations

import json

from dgraph.report.gapbs_format import Gap
from dgraph.report.graph500_format import Graph500
from dgraph.report.style import Style
from dgraph.report.tables import show


class Table(Style):
    """Headline, facts and tables of each run, for people."""

    def run(self, report):
        """Print the run as text."""
        show(report)


class Json(Style):
    """Report of each run as ``schema.json`` describes it, one line a run."""

    def run(self, report):
        """Print the report as one line of JSON."""
        print(json.dumps(report))


STYLES: dict[str, type[Style]] = {"table": Table, "json": Json, "graph500": Graph500, "gap": Gap}
"""Name of ``--format`` → class."""
