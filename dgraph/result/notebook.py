"""Text and HTML of a ``Result`` for an interactive session: the run in one line, then first rows of this rank."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from html import escape
from typing import Any

import numpy as np

from dgraph.result.arrow_tables import missing

ROWS = 5
"""Rows shown."""

STYLE = "text-align:right;padding:0.1em 0.8em"
"""Style of a cell; colours are left to the notebook, so that it fits light and dark."""


def headline(result: Any) -> str:
    """Return one line: algorithm, graph, figures of the answer, ranks, rounds, seconds of ``solve``, end of the run."""
    graph, ranks = result.report.get("graph", {}), result.report.get("ranks", [])
    parts = [f"{result.algorithm} of {graph['name']}" if "name" in graph else result.algorithm]
    if "n" in graph:
        parts.append(f"{graph['n']:,} vertices, {graph['m']:,} edges")
    parts += [f"{name} {_cell(value)}" for name, value in result.summary.items() if np.isscalar(value)]
    count = len(ranks) or result.comm.size
    parts.append(f"{count} rank{'s'[: count != 1]}")
    earlier = result.report.get("outcome", {}).get("resumed_after")
    rounds = result.rounds - (earlier or 0)
    resumed = "" if earlier is None else f" after the {earlier:,} of a checkpoint"
    parts.append(f"{rounds:,} round{'s'[: rounds != 1]}{resumed}")
    if ranks:
        seconds = max(rank["seconds"].get("solve", 0.0) for rank in ranks)
        parts.append(f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms")
    parts.append("converged" if result.converged else f"not converged: stopped after {result.limit}")
    return "; ".join(parts)


def footer(result: Any) -> str:
    """Return how many rows are shown, and of how many."""
    rows = result.count_rows()
    here = f" of rank {result.comm.rank}" if result.comm.size > 1 else ""
    return f"{min(ROWS, rows):,} of {rows:,} rows{here}"


def text(result: Any) -> str:
    """Return the ``repr`` of a result."""
    cells = shown(result.first_rows(ROWS), result.nullable)
    widths = [max(map(len, [name, *column])) for name, column in cells.items()]
    rows = [list(cells), *(list(row) for row in zip(*cells.values(), strict=True))]
    lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
    return "\n".join([f"<{headline(result)}>", *lines, f"[{footer(result)}]"])


def html(result: Any) -> str:
    """Return a result as an HTML table, without scripts and colours."""
    cells = shown(result.first_rows(ROWS), result.nullable)
    head = "".join(f'<th style="{STYLE}">{escape(name)}</th>' for name in cells)
    body = "".join(
        "<tr>" + "".join(f'<td style="{STYLE}">{escape(cell)}</td>' for cell in row) + "</tr>"
        for row in zip(*cells.values(), strict=True)
    )
    return (
        f"<div><p>{escape(headline(result))}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{escape(footer(result))}</p></div>"
    )


def shown(columns: Mapping[str, np.ndarray], nullable: Collection[str]) -> dict[str, list[str]]:
    """Return the cells of a few rows as text; missing values are empty."""
    texts = {}
    for name, values in columns.items():
        mask = missing(name, values, nullable)
        cells = [value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else _cell(value)
                 for value in values.tolist()]  # fmt: skip
        texts[name] = cells if mask is None else ["" if gone else cell for cell, gone in zip(cells, mask, strict=True)]
    return texts


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
