"""Table of the fields of a report from which all outputs take their columns.

A new field is the line that measures it and a row of :data:`FIELDS`. A rank measures by ``record.count(name, n)``,
``with record(name):`` and ``record.describe("outcome", name=value)``, a round by ``rounds.extend(…, name=values)``.
Totals over rounds are added up in ``RoundSeries._add``, and are keys of its ``summary``. The text, the page, the Chrome
trace and the comparison show the field as ``shown`` says. Lists and structures, such as ``kernels`` and ``load``, are
not in the table. ``tests/support/report_fields.py`` writes the rows into ``schema.json`` and docs/guide/reports.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dgraph.report.text_lines import count, durations, size

SECONDS, BYTES, COUNT, NUMBER, TEXT = "s", "B", "", "number", "text"
"""Units; a COUNT is an integer, a NUMBER is not."""

RUN, RANK, ROUND, RANK_ROUND = "run", "rank", "round", "rank and round"
"""One value for each of these. Its place in the report lies in the report itself, in an entry of ``ranks``, in an entry
of ``rounds.kept``, and in ``rounds`` of an entry of ``ranks``."""

SHOWN = {
    RUN: ("text", "trace", "comparison", "drawn"),
    RANK: ("text", "page", "trace", "comparison", "drawn"),
    ROUND: ("text", "page", "trace", "drawn"),
    RANK_ROUND: ("trace", "drawn"),
}
"""Outputs that can show a field. ``text`` is a line of facts (run; the page has these lines, too) or a column of the
tables; ``page`` a column of its figures (rank) or a line where the pointer is (round); ``trace`` an argument of a span;
``comparison`` a column; ``drawn`` a place with code of its own, such as the headline or a bar chart."""


class ReportField(NamedTuple):
    """One field.

    Attributes:
        name: heading of its columns.
        unit: ``SECONDS``, ``BYTES``, ``COUNT``, ``NUMBER`` or ``TEXT``.
        per: ``RUN``, ``RANK``, ``ROUND`` or ``RANK_ROUND``.
        place: keys that lead to it, separated by dots; of a list, its entries are summed.
        made_by: file below ``dgraph`` that measures it.
        meaning: phrase for the guide and the schema.
        shown: outputs that show it, of ``SHOWN``.
        inside: of a timer, ``run`` or ``rounds``: it is one of the terms that add up to this time, in the order of
            the table. Empty: it overlaps others.
        over_ranks: ``max`` or ``sum``: the value of a run in a comparison.
        always: every report has it.
    """

    name: str
    unit: str
    per: str
    place: str
    made_by: str
    meaning: str
    shown: tuple[str, ...] = ()
    inside: str = ""
    over_ranks: str = "max"
    always: bool = False


def _phase(name: str, made_by: str, meaning: str, always: bool = True) -> ReportField:
    shown = ("text", "drawn")
    return ReportField(name, SECONDS, RANK, f"seconds.{name}", made_by, meaning, shown, "run", always=always)


def _part(name: str, made_by: str, meaning: str, *shown: str) -> ReportField:
    shown = ("text", "page", "drawn", *shown)
    return ReportField(name, SECONDS, RANK, f"seconds.{name}", made_by, meaning, shown, "rounds", always=True)


DRIVER, DRIVERS, CONTEXT = (f"engine/rounds/{name}.py" for name in ("driver", "drivers", "context"))
PLACEMENT = "engine/placement.py"
ROUND_LOG = "backend/cuda/round_kernels/round_log.py"
RECORD, SERIES = "engine/rounds/record.py", "engine/rounds/round_series.py"
COLORED = "algorithms/color_parts/colored_rounds.py"
HOST_EXCHANGE, GPU_FIGURES = "engine/sync/host_exchange.py", "backend/cuda/memory/memory_figures.py"

FIELDS = (
    ReportField("wall time", SECONDS, RUN, "wall_seconds", RECORD, "of the slowest rank, from its start to the report",
                ("drawn",), always=True),
    ReportField("rounds", COUNT, RUN, "rounds.count", SERIES, "number of rounds", ("drawn",), always=True),
    ReportField("frontier", COUNT, RUN, "rounds.frontier_vertices", SERIES, "sum over all rounds", always=True),
    ReportField("edges", COUNT, RUN, "rounds.frontier_edges", SERIES, "sum over all rounds", ("drawn",), always=True),
    ReportField("lines scanned", COUNT, RUN, "graph.scanned_lines", "graph/formats/line_reader.py",
                "lines of text that the slower reader of any valid form read: from the first one that is not plain to "
                "the end of its piece", ("drawn",)),
    ReportField("masters", COUNT, RANK, "counts.masters", PLACEMENT, "vertices that the rank owns", ("text", "page")),
    ReportField("mirrors", COUNT, RANK, "counts.mirrors", PLACEMENT, "copies of other ranks' vertices",
                ("text", "page")),
    ReportField("edges", COUNT, RANK, "counts.edges", PLACEMENT, "local arcs", ("text", "page")),
    ReportField("MDT", COUNT, RANK, "counts.mdt", ROUND_LOG,
                "most edges of a vertex that a thread takes, with the schedules split and hierarchical", ("text",)),
    ReportField("split vertices", COUNT, RANK, "counts.split_vertices", ROUND_LOG,
                "vertices of more edges than MDT, with the schedule split", ("text",), over_ranks="sum"),
    ReportField("child vertices", COUNT, RANK, "counts.child_vertices", ROUND_LOG,
                "children that these were split into, without their parents", ("text",), over_ranks="sum"),
    ReportField("edges listed", COUNT, RANK, "counts.listed_edges", ROUND_LOG,
                "appended to lists by rounds before, with edge,emit=fused", ("text",), over_ranks="sum"),
    ReportField("repeated", COUNT, RANK, "counts.repeated_edges", ROUND_LOG, "of these, edges that stood there already",
                ("text",), over_ranks="sum"),
    ReportField("longest list", COUNT, RANK, "counts.longest_list", ROUND_LOG, "edges of the longest of these lists",
                ("text",)),
    ReportField("condensed lists", COUNT, RANK, "counts.condensed_lists", ROUND_LOG,
                "lists of more edges than the graph has, which were made anew", ("text",), over_ranks="sum"),
    _phase("load", PLACEMENT, "read or generated the graph"),
    _phase("partition", PLACEMENT, "ran the policy"),
    _phase("build", PLACEMENT, "built its part of the graph"),
    _phase("prepare", CONTEXT, "uploaded to a GPU, built in-edges, allocated for a program", always=False),
    _phase("compile", CONTEXT, "compiled or loaded machine code"),
    _phase("init", DRIVER, "initialised programs"),
    _part("compute", DRIVERS, "worked on vertices and edges", "comparison"),
    _part("pack", HOST_EXCHANGE, "wrote messages"),
    _part("exchange", HOST_EXCHANGE, "only communicated; communication that computation hides is not counted"),
    _part("unpack", HOST_EXCHANGE, "read messages"),
    _part("idle", DRIVERS, "waited for the slowest rank of the round"),
    _phase("checkpoint", DRIVER, "wrote checkpoints", always=False),
    _phase("validate", "run.py", "checked the answer", always=False),
    _phase("output", "cli/solve.py", "wrote the answer"),
    ReportField("solve", SECONDS, RANK, "seconds.solve", "run.py", "rounds, prepare, compile, init and checkpoint",
                always=True),
    ReportField("wall", SECONDS, RANK, "seconds.wall", RECORD, "the whole run", ("page", "drawn"), always=True),
    ReportField("messages sent", COUNT, RANK, "sent.messages", HOST_EXCHANGE, "messages to a peer", ("text", "drawn"),
                over_ranks="sum", always=True),
    ReportField("bytes sent", BYTES, RANK, "sent.bytes", HOST_EXCHANGE, "bytes to a peer",
                ("text", "drawn", "comparison"), over_ranks="sum", always=True),
    ReportField("peak memory", BYTES, RANK, "peak_memory_bytes", RECORD, "largest resident size of the process",
                ("text", "page", "drawn", "comparison"), always=True),
    ReportField("planned memory", BYTES, RANK, "planned_memory_bytes", "cli/report.py",
                "peak memory as planned; present with report --plan", ("drawn",)),
    ReportField("GPU peak memory", BYTES, RANK, "gpu_memory.peak_bytes", GPU_FIGURES, "peak of the arrays",
                ("text", "drawn")),
    ReportField("GPU planned", BYTES, RANK, "gpu_memory.planned_bytes", GPU_FIGURES,
                "peak_bytes as planned before the first allocation", ("text", "drawn")),
    ReportField("round", COUNT, ROUND, "round", SERIES, "number of the round, from 1", ("text", "drawn"), always=True),
    ReportField("direction", TEXT, ROUND, "direction", SERIES, "push or pull", ("text", "drawn", "trace"), always=True),
    ReportField("frontier", COUNT, ROUND, "frontier_vertices", SERIES, "active vertices at the start of the round",
                ("text", "drawn", "trace"), always=True),
    ReportField("edges", COUNT, ROUND, "frontier_edges", SERIES, "out-edges of the active vertices; all edges "
                "where a program works on every vertex in each round", ("text", "drawn", "trace"), always=True),
    ReportField("time", SECONDS, ROUND, "seconds", SERIES, "on rank 0", ("text", "drawn"), always=True),
    ReportField("schedule", TEXT, ROUND, "schedule", SERIES,
                "schedule of edges on the GPU of rank 0; absent without a GPU", ("text", "drawn")),
    ReportField("coloured", COUNT, ROUND, "colored", COLORED, "vertices coloured in the round; of color with scan each",
                ("text", "trace")),
    ReportField("largest degree", COUNT, ROUND, "largest_degree", COLORED,
                "of the uncoloured vertices at the start of the round; of color with scan each", ("text", "trace")),
    ReportField("residual", NUMBER, ROUND, "residual", DRIVER,
                "what is left to the tolerance after the round, with --record residual; of hits, that of the iteration",
                ("text", "page", "trace")),
    ReportField("start", SECONDS, RANK_ROUND, "start", SERIES, "start of the round since the rank's start", ("drawn",),
                always=True),
    *(ReportField(name, SECONDS, RANK_ROUND, name, SERIES, "this part of the round", ("drawn",), always=True)
      for name in ("compute", "pack", "exchange", "unpack", "idle")),
    ReportField("hidden", SECONDS, RANK_ROUND, "hidden", SERIES, "communication that overlaps computing", ("drawn",)),
    ReportField("fullest block", COUNT, RANK_ROUND, "fullest_block", SERIES,
                "most edges of a thread block, with --record load", ("drawn",)),
    ReportField("mean block", COUNT, RANK_ROUND, "mean_block", SERIES,
                "mean edges of a thread block, with --record load", ("drawn",)),
)  # fmt: skip


def shown_in(output: str, per: str) -> list[ReportField]:
    """Return the fields of a run, rank or round that ``output`` shows, in the order of the table."""
    return [field for field in FIELDS if field.per == per and output in field.shown]


def read(field: ReportField, entry: dict):
    """Return a field of a run, rank or round; None where the report lacks it, such as one of an earlier version."""
    value: Any = entry
    for key in field.place.split("."):
        if isinstance(value, list):
            return sum(part.get(key, 0) for part in value)
        value = value.get(key) if isinstance(value, dict) else None
        if value is None:
            return None
    return value


def folded(field: ReportField, ranks: Sequence[dict]) -> float:
    """Return the max or the sum of a field over ranks; a rank that lacks it has 0."""
    values = [read(field, rank) or 0 for rank in ranks]
    return sum(values) if field.over_ranks == "sum" else max(values)


def texts(field: ReportField, values: Sequence) -> list[str]:
    """Return values of a field as cells of one column; ``-`` for None."""
    numbers = [0.0 if value is None else value for value in values]
    if field.unit == SECONDS:
        cells = durations(numbers)
    else:
        writers: dict[str, Callable[[Any], str]] = {BYTES: size, COUNT: count, NUMBER: "{:.3g}".format, TEXT: str}
        cells = [writers[field.unit](value) for value in numbers]
    return ["-" if value is None else cell for value, cell in zip(values, cells, strict=True)]
