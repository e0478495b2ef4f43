"""Comparison as one self-contained HTML page, drawn with the figures of the report's page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from dgraph.report.page.page import filled, profile
from dgraph.report.report_file import replacing
from dgraph.tools.balance.balance_table import NOTE, facts
from dgraph.tools.balance.measure import Cell


def write_page(cells: Sequence[Cell], about: dict[str, Any], path: str | os.PathLike) -> None:
    """Write the page, replacing ``path`` atomically.

    Raises:
        OutputError: the system refused; no partial file remains.
    """
    replacing(path, page(cells, about).encode(), "--html")


def page(cells: Sequence[Cell], about: dict[str, Any]) -> str:
    """Return the page's HTML."""
    fields = facts(cells, about)
    for row, cell in zip(fields["rows"], cells, strict=True):
        load = row.pop("load")
        if load:
            first = [profile(f"round {one['round']:,}", one) for one in load["rounds"]]
            row["profiles"] = [profile("all rounds", load), *first]
            row["spread"] = {unit: load[unit] for unit in ("block", "warp", "thread")}
        row["host"] = max((cell.seconds or 0.0) - cell.kernel - cell.others, 0.0)
    script = (files("dgraph.tools.balance") / "balance.js").read_text(encoding="utf-8")
    return filled(about["title"], fields | {"note": NOTE.replace("\n", " ")}, script)
