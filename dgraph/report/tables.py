"""The table at the end of a run: one line a rank, then the largest, the mean, and their ratio; and its rounds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple, TextIO

from dgraph.engine.rounds.timings import PARTS, PHASES
from dgraph.report.recorded import kernels, load
from dgraph.report.text_lines import aligned, count, size

MOST_RANKS = 32
"""With more ranks only the ``SLOWEST`` are listed; the JSON has them all."""

SLOWEST = 3

FIRST_ROUNDS, LARGEST_ROUNDS = 3, 5
"""Of a long run the table has the first rounds, and those of most edges among the others."""

MOST_HOSTS = 4

STRONG = ("rank ", "round ", "max/mean ", "edges by ", "kernel ", "warning:", "NOT CONVERGED")
"""How lines begin that stand out on a terminal."""

NAMES = ("source", "k")
"""Figures of a summary that are names, not amounts: written without separators."""


class Column(NamedTuple):
    """A heading, the figure of one rank's entry in the report, and how that figure is written."""

    name: str
    figure: Callable[[dict], float]
    text: Callable[[float], str]


def _time(name: str, *timers: str) -> Column:
    def figure(rank: dict) -> float:
        return sum(rank["seconds"].get(timer, 0.0) for timer in timers)

    return Column(name, figure, lambda value: f"{value:.3f}" if value < 100 else f"{value:.1f}")


def _other(rank: dict) -> float:
    """Seconds that no timer saw: ``solve`` is known by its parts."""
    seen = [name for name in (*PHASES, *PARTS) if name != "solve"]
    return max(rank["seconds"]["wall"] - sum(rank["seconds"].get(name, 0.0) for name in seen), 0.0)


def _total(what: str) -> Callable[[dict], float]:
    return lambda rank: sum(peer[what] for peer in rank["sent"])


PHASES_OF_A_RUN = (
    _time("load", "load"),
    _time("build", "partition", "build"),
    _time("init", "prepare", "compile", "init"),
    _time("validate", "validate"),
    _time("output", "output"),
    _time("other")._replace(figure=_other),
)
PARTS_OF_ROUNDS = (
    _time("compute", "compute"),
    _time("pack", "pack"),
    _time("exchange", "exchange"),
    _time("unpack", "unpack"),
    _time("idle", "agree"),
)
"""Seconds. With those of the phases, a rank's line adds up to its wall time."""

VOLUMES = (
    Column("masters", lambda rank: rank["counts"].get("masters", 0), count),
    Column("mirrors", lambda rank: rank["counts"].get("mirrors", 0), count),
    Column("edges", lambda rank: rank["counts"].get("edges", 0), count),
    Column("messages", _total("messages"), count),
    Column("sent", _total("bytes"), size),
    Column("memory", lambda rank: rank["peak_memory_bytes"], size),
    Column("GPU memory", lambda rank: rank.get("gpu_memory", {}).get("peak_bytes", 0), size),
    Column("planned", lambda rank: rank.get("gpu_memory", {}).get("planned_bytes", 0), size),
)


OPTIONAL = ("validate", "GPU memory", "planned")
"""Columns that are there only where some rank has something in them."""

GROUPS = (PHASES_OF_A_RUN, PARTS_OF_ROUNDS, VOLUMES)
"""What stays together where the table is too wide and is cut."""


def table(report: dict, width: int = 100) -> str:
    """The per-rank table as plain text, times in seconds; cut into several below each other to fit ``width``."""
    blocks: list[tuple[Column, ...]] = []
    for every in GROUPS:
        group = tuple(column for column in every if column.name not in OPTIONAL or _any(report, column))
        fits = blocks and len(_block(report, blocks[-1] + group)[0]) <= width
        blocks.append(blocks.pop() + group if fits else group)
    texts = ["\n".join(_block(report, columns)) for columns in blocks]
    if len(report["ranks"]) > MOST_RANKS:
        texts.append(f"the {SLOWEST} ranks of most compute, of {len(report['ranks'])}; --report has all")
    return "\n\n".join(texts)


def show(report: dict, file: TextIO | None = None) -> None:
    """Print headline and table to ``file`` (stdout); on a terminal as wide as that is, with some lines standing out."""
    file = file or sys.stdout
    if not file.isatty():
        texts = headline(report), table(report), rounds(report), load(report), kernels(report)
        print(*filter(None, texts), sep="\n\n", file=file)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file)
    name, *rest = headline(report).splitlines()
    below = filter(None, (rounds(report), load(report), kernels(report)))
    lines = [name, *rest, "", *table(report, console.width).splitlines()]
    for line in [*lines, *(line for text in below for line in ("", *text.splitlines()))]:
        strong = line is name or line.lstrip().startswith(STRONG)
        console.print(Text(line, style="bold" if strong else ""), soft_wrap=True)


def rounds(report: dict) -> str:
    """The first rounds and the largest, as plain text; nothing where no round ran. Seconds are those of rank 0."""
    kept = report["rounds"]["kept"]
    rest = sorted(range(FIRST_ROUNDS, len(kept)), key=lambda i: (-kept[i]["frontier_edges"], i))[:LARGEST_ROUNDS]
    shown = [kept[i] for i in sorted([*range(min(FIRST_ROUNDS, len(kept))), *rest])]
    if not shown:
        return ""
    head = ["round", "direction", "vertices", "edges", "seconds"]
    named = any("schedule" in row for row in kept)
    lines: list[list[str] | None] = [head + ["schedule"] * named, None]
    gap = ["..."] * (len(head) + named)
    before = 0
    for row in shown:
        if row["round"] != before + 1:
            lines.append(gap)
        before = row["round"]
        figures = (count(row[name]) for name in ("round", "frontier_vertices", "frontier_edges"))
        number, vertices, edges = figures
        line = [number, row["direction"], vertices, edges, f"{row['seconds']:.4f}"]
        lines.append(line + [row.get("schedule", "-")] * named)
    if before != report["rounds"]["count"]:
        lines.append(gap)
    return "\n".join(aligned(lines))


def headline(report: dict) -> str:
    """What was run and how it ended, what was chosen and why, and the warnings: a few lines of plain text."""
    return "\n".join(_headline(report)).encode(errors="backslashreplace").decode()  # a vertex's name may be no UTF-8


def _any(report: dict, column: Column) -> bool:
    return any(column.figure(rank) for rank in report["ranks"])


def _block(report: dict, columns: tuple[Column, ...]) -> list[str]:
    """Lines of one table: headings, a line a rank, and over several ranks the largest, the mean and their ratio."""
    ranks = shown = report["ranks"]
    if len(ranks) > MOST_RANKS:
        shown = sorted(ranks, key=lambda rank: -rank["seconds"].get("compute", 0.0))[:SLOWEST]
    body = [[str(rank["rank"]), *(column.text(column.figure(rank)) for column in columns)] for rank in shown]
    foot: list[list[str]] = []
    if len(ranks) > 1:
        foot = [["max"], ["mean"], ["max/mean"]]
        for column in columns:
            figures = [column.figure(rank) for rank in ranks]
            most, mean = max(figures), sum(figures) / len(figures)
            for line, text in zip(foot, (column.text(most), column.text(mean), _ratio(most, mean)), strict=True):
                line.append(text)
    head = ["rank", *(column.name for column in columns)]
    return aligned([head, None, *body, *([None, *foot] if foot else [])])


def _ratio(most: float, mean: float) -> str:
    return f"{most / mean:.2f}" if mean else "-"


def _headline(report: dict) -> Iterable[str]:
    algorithm, graph, outcome = report["algorithm"], report["graph"], report["outcome"]
    shape = ", ".join(f"{graph[key]:,} {word}" for key, word in (("n", "vertices"), ("m", "edges")) if key in graph)
    yield f"{algorithm.get('name', '?')} on {graph.get('name', '?')}" + (f" ({shape})" if shape else "")
    if summary := outcome.get("summary"):
        yield "  " + ", ".join(f"{key} {value if key in NAMES else _value(value)}" for key, value in summary.items())
    yield "  " + _ending(report)
    if algorithm.get("weights", "none") != "none":
        yield f"  weights: {_weights(algorithm, graph)}"
    if verdict := outcome.get("validation"):
        yield "  " + _validation(verdict)
    if known := graph.get("fingerprint"):
        yield f"  graph fingerprint {known}"
    yield from _hosts(report["hosts"])
    for choice in report["choices"]:
        yield f"  {choice['what']} {choice['taken']}" + (f": {choice['reason']}" if choice["reason"] else "")
    for warning in report["warnings"]:
        yield f"  warning: {warning}"


def _weights(algorithm: dict, graph: dict) -> str:
    used = algorithm["weights"] == "used"
    return f"used ({graph['weight_type']})" if used else f"not used by {algorithm.get('name', '?')}"


def _validation(verdict: dict) -> str:
    if verdict["passed"]:
        return f"validated: {'; '.join(verdict['checked'])}"
    return f"{'not validated' if verdict['passed'] is None else 'VALIDATION FAILED'}: {verdict['failure']}"


def _hosts(hosts: list[dict]) -> Iterable[str]:
    for host in hosts[:MOST_HOSTS]:
        ranks, last = host["ranks"], len(host["ranks"]) - 1
        ascending = ranks == list(range(ranks[0], ranks[0] + len(ranks)))
        named = f"{ranks[0]} to {ranks[last]}" if ascending and last > 1 else ", ".join(map(str, ranks))
        held = size(host["peak_memory_bytes"])
        yield f"  host {host['host']} ({host['cores']} cores): rank{'s'[: last > 0]} {named}; {held} in use at most"
    if len(hosts) > MOST_HOSTS:
        yield f"  and {len(hosts) - MOST_HOSTS} hosts more"


def _ending(report: dict) -> str:
    rounds, outcome, ranks = report["rounds"], report["outcome"], report["ranks"]
    hosts = len(report["hosts"])
    where = f"{len(ranks)} rank{'s'[: len(ranks) != 1]}" + (f" of {hosts} hosts" if hosts > 1 else "")
    end = "done" if outcome.get("converged", True) else f"NOT CONVERGED ({outcome.get('limit') or 'limit reached'})"
    ways = ", ".join(f"{number} {name}" for name, number in rounds["by_direction"].items() if name)
    ways = f" ({ways})" if len(rounds["by_direction"]) > 1 else ""
    spent = max(sum(rank["seconds"].get(part, 0.0) for part in PARTS) for rank in ranks)
    count = outcome.get("rounds", rounds["count"])
    return f"{end} after {count:,} rounds{ways} in {spent:.3f} s on {where}; {report['wall_seconds']:.3f} s in all"


def _value(value) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.10g}"
