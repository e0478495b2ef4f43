"""Compare policies: a table of their figures, and a recommendation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from partitioning.quality import LABELS

EVEN_EDGES, EVEN_VERTICES = 1.2, 2.0
"""Largest imbalance of arcs, and of vertices, of a recommended placement: rounds wait for the fullest part."""

ALIKE = 1.05
"""Placements within this factor of the fewest bytes are equivalent; the one computed fastest is chosen."""

MEASURE = "pagerank"
"""Algorithm whose bytes are compared: every mirror is exchanged in every round."""

Row = Mapping[str, Any]


def recommended(rows: Sequence[Row]) -> tuple[str, str]:
    """Return the recommended policy and the reason.

    Args:
        rows: the figures of ``quality`` for each policy, with ``policy`` and ``seconds``; rows with ``refused`` are
            skipped.
    """
    possible = [row for row in rows if "refused" not in row]
    if not possible:
        return "", "every policy was refused"
    even = [row for row in possible if row["edge_balance"] <= EVEN_EDGES and row["vertex_balance"] <= EVEN_VERTICES]
    among = f"policies with at most {EVEN_EDGES} × the mean of the arcs and {EVEN_VERTICES} × of the vertices in a part"
    if not even:
        least = min(row["edge_balance"] for row in possible)
        even = [row for row in possible if row["edge_balance"] <= ALIKE * least]
        among = f"the best balanced policies, whose fullest part holds about {least:.2f} × the mean of the arcs"
    name, unit = _unit(possible)
    sent = {row["policy"]: row["round_bytes"][MEASURE] / unit for row in even}
    alike = [row for row in even if sent[row["policy"]] <= ALIKE * min(sent.values())]
    best = min(alike, key=lambda row: row["seconds"])["policy"]
    why = f"of {among}, it sends {'least' if len(alike) == 1 else 'about as little as any, and is computed fastest'}"
    return best, f"{why}: {sent[best]:.2f} {name} a round of {MEASURE}, others up to {max(sent.values()):.2f}"


def table(rows: Sequence[Row]) -> str:
    """Return one line a policy. ``cut`` is in per cent of the arcs, bytes are per round over all parts."""
    name, unit = _unit(rows)
    heads = ["policy", "cut %", "repl.", "v-bal.", "e-bal.", "mirrors", *LABELS, "seconds"]
    lines = [[_cell(row, head, unit) for head in heads] for row in rows if "refused" not in row]
    width = [max(len(line[i]) for line in [heads, *lines]) for i in range(len(heads))]
    over = sum(width[:6]) + 10
    texts = [f"{'':{over}}  {name} a round, if every label changes"] if lines else []
    texts += [_line(heads, width), "-" * (sum(width) + 2 * len(width) - 2)] if lines else []
    texts += [_line(line, width) for line in lines]
    texts += [f"{row['policy']}: refused: {row['refused']}" for row in rows if "refused" in row]
    return "\n".join(texts)


def _line(cells: Sequence[str], width: Sequence[int]) -> str:
    first, *rest = (f"{cell:>{w}}" for cell, w in zip(cells, width, strict=True))
    return "  ".join([f"{first.strip():{width[0]}}", *rest])


def _unit(rows: Sequence[Row]) -> tuple[str, int]:
    """Return a unit of bytes that suits the largest figure, and its size."""
    most = max((max(row["round_bytes"].values()) for row in rows if "refused" not in row), default=0)
    return ("MiB", 1 << 20) if most >= 1 << 20 else ("KiB", 1 << 10)


def _cell(row: Row, head: str, unit: int) -> str:
    if head in LABELS:
        return f"{row['round_bytes'][head] / unit:.2f}"
    return {
        "policy": lambda: row["policy"],
        "cut %": lambda: f"{100 * row['cut']:.2f}",
        "repl.": lambda: f"{row['replication_factor']:.2f}",
        "v-bal.": lambda: f"{row['vertex_balance']:.2f}",
        "e-bal.": lambda: f"{row['edge_balance']:.2f}",
        "mirrors": lambda: f"{row['mirrors']:,}",
        "seconds": lambda: f"{row['seconds']:.2f}",
    }[head]()
