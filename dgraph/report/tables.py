"""Text of a run for people: headline, facts, a table of ranks, a table of rounds.

Main entry: :func:`show`. A table of ranks appears only where there are several, a table of all rounds only where they
are few. The lines fit ``WIDTH`` columns. GPU recordings are left to :mod:`recorded`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from dgraph.errors import DgraphError
from dgraph.report.fields import RANK, ROUND, RUN, ReportField, read, shown_in, texts
from dgraph.report.recorded import kernels, load
from dgraph.report.text_lines import aligned, duration, durations, labelled, printable, size, sparkline, wrapped
from dgraph.report.time_split import AFTER, BEFORE, NAMES, PARTS, mean, means, rounds_time, split

WIDTH = 100
"""Columns of the text where the output is not a terminal."""

MOST_RANKS = 32
"""With more ranks only the ``SLOWEST`` are listed; the JSON has them all."""

SLOWEST = 3

MOST_ROUNDS, FIRST_ROUNDS = 8, 3
"""Rounds that are all listed; rounds listed from the start of a longer run, beside its heaviest and its last."""

MOST_HOSTS = 4

SMALL_SHARE = 0.001
"""Phases below this share of the wall time are left out of the time line."""

UNEVEN, UNEVEN_SHARE = 1.1, 0.01
"""A phase has a column in the table of ranks where its max / mean and its share of the wall time are above these."""

STRONG = ("rank ", "round ", "max/mean ", "edges by ", "kernel ", "warning ", "bound by ")
"""Starts of the lines that are bold on a terminal."""

IDS = ("source", "target", "k")
"""Figures of a summary that are names, not amounts: written without separators."""

ELSEWHERE = ("backend", "threads", "gpus", "graph", "schedule")
"""Choices that the lines ``backend``, ``ranks``, ``graph`` and ``schedule`` show."""

BY_ROUND = "auto, by each round's direction, vertices, edges and largest degree"
"""Why rounds had their schedules where the user named none."""

OF_SEVERAL_RANKS = ("policy", "transport")
"""Choices that make no difference on one rank."""


class RankColumn(NamedTuple):
    """One column of the table of ranks.

    Attributes:
        name: heading.
        figure: value of one entry of ``ranks``.
        texts: values of the column → cells, in a common unit.
    """

    name: str
    figure: Callable[[dict], float]
    texts: Callable[[Sequence[float]], list[str]]


def _time(name: str) -> RankColumn:
    return RankColumn(name, lambda rank: split(rank)[name], durations)


def _amount(field: ReportField) -> RankColumn:
    return RankColumn(field.name, lambda rank: read(field, rank) or 0, lambda values: texts(field, values))


TIMES = tuple(map(_time, NAMES))

AMOUNTS = tuple(_amount(field) for field in shown_in("text", RANK) if not field.inside)


def show(report: dict, file: TextIO | None = None, before: Sequence[str] = ()) -> None:
    """Print a run as text to ``file`` (stdout), below the lines ``before``; on a terminal some lines are bold."""
    file = file or sys.stdout
    terminal = file.isatty()
    console, width = None, WIDTH
    if terminal:
        from rich.console import Console

        console = Console(file=file)
        width = console.width
    advice = [line for text in before for line in wrapped(text, width, other="  ")]
    texts = ["\n".join(advice), _head(report, width), table(report, width), rounds(report), load(report)]
    text = printable("\n\n".join(filter(None, [*texts, kernels(report)])), getattr(file, "encoding", None))
    if console is None:
        print(text, file=file)
        return
    from rich.text import Text

    title = wrapped(headline(report), width, other="  ")
    for line in text.splitlines():
        strong = line in title or line.lstrip().startswith(STRONG)
        console.print(Text(line, style="bold" if strong else ""), soft_wrap=True)


def _head(report: dict, width: int) -> str:
    return "\n".join([*wrapped(headline(report), width, other="  "), *labelled(facts(report), width)])


def headline(report: dict) -> str:
    """Return one line: algorithm, graph and its sizes, rounds, their seconds on the slowest rank, ranks.

    Of a resumed run, rounds and seconds are those after the checkpoint.
    """
    algorithm, graph, outcome = report["algorithm"], report["graph"], report["outcome"]
    shape = ", ".join(f"{graph[key]:,} {word}" for key, word in (("n", "vertices"), ("m", "edges")) if key in graph)
    name = f"{algorithm.get('name', '?')} on {short_name(graph.get('name', '?'))}" + (f" ({shape})" if shape else "")
    rounds, ranks, earlier = rounds_run(report), len(report["ranks"]), outcome.get("resumed_after")
    end = "" if outcome.get("converged", True) else f"NOT CONVERGED ({outcome.get('limit') or 'limit reached'}) after "
    took = f"{rounds:,} round{'s'[: rounds != 1]} in {duration(rounds_time(report))}"
    resumed = "" if earlier is None else f", resumed after round {earlier:,}"
    return f"{name}: {end}{took} on {ranks} rank{'s'[: ranks != 1]}{resumed}"


def rounds_run(report: dict) -> int:
    """Return the rounds of a run; of a resumed one those after the checkpoint."""
    outcome = report["outcome"]
    return outcome.get("rounds", report["rounds"]["count"]) - outcome.get("resumed_after", 0)


def short_name(name: str) -> str:
    """Return a generator's spec without the options that have their default, or a file's name without its folders."""
    from dgraph.graph.generate import GENERATORS, is_generator  # imported late: --help imports this module
    from dgraph.graph.generators.spec import parse

    if not is_generator(name):
        return Path(name).name or name
    try:
        generator, size, options = parse(name, GENERATORS)
    except DgraphError:  # a report of another version, whose generators had other options
        return name.split(",")[0]
    changed = {key: value for key, value in options.items() if value != generator.options[key].default}
    return generator.spell(size, changed)


def facts(report: dict) -> list[tuple[str, str]]:
    """Return label and text of what a user wants to know of a run, in that order; warnings come last."""
    return list(_facts(report))


def _facts(report: dict) -> Iterator[tuple[str, str]]:
    choices = {choice["what"]: choice for choice in report["choices"]}
    summary = {name: value for name, value in report["outcome"].get("summary", {}).items() if name not in choices}
    if summary:
        figures = (f"{name} {value if name in IDS else _value(value)}" for name, value in summary.items())
        yield "summary", ", ".join(figures)
    if path := report["outcome"].get("path"):
        yield "path", _path(path)
    if top := report["outcome"].get("top"):
        yield from _largest(top)
    if validation := report["outcome"].get("validation"):
        yield "validation", _validation(validation)
    yield from _machine(report, choices)
    yield "time", _time_line(report)
    if len(report["ranks"]) > 1 and rounds_time(report):
        yield "in rounds", terms(report)
    yield "graph", _graph(report, choices)
    by_direction = {name: number for name, number in report["rounds"]["by_direction"].items() if name}
    if len(by_direction) > 1:
        yield "direction", ", ".join(f"{number:,} {name}" for name, number in by_direction.items())
    if walked := report["ranks"][0].get("schedules"):
        why = f"{choices['schedule']['taken']} was asked for" if "schedule" in choices else BY_ROUND
        yield "schedule", f"{', '.join(f'{number:,} {name}' for name, number in walked.items())}: {why}"
    hidden = ELSEWHERE + (OF_SEVERAL_RANKS if len(report["ranks"]) == 1 else ())
    for what, choice in choices.items():
        if what not in hidden:
            yield what, _choice(choice)
    for field in shown_in("text", RUN):
        if (value := read(field, report)) is not None:
            yield field.name, texts(field, [value])[0]
    for warning in report["warnings"]:
        yield "warning", warning


def _choice(choice: dict) -> str:
    return choice["taken"] + (f": {choice['reason']}" if choice["reason"] else "")


def _machine(report: dict, choices: dict[str, dict]) -> Iterator[tuple[str, str]]:
    """Yield backend, GPUs, ranks and hosts."""
    ranks, hosts = report["ranks"], report["hosts"]
    backend, threads = choices.get("backend"), choices.get("threads")
    on_gpus = backend is not None and backend["taken"] == "cuda"
    if backend:
        kind = f" ({threads['reason']})" if on_gpus and threads and threads["reason"] else ""
        yield "backend", _choice(backend | {"taken": backend["taken"] + kind})
    if "gpus" in choices and len(ranks) > 1:
        yield "gpus", _choice(choices["gpus"])
    suffix = " each" if len(ranks) > 1 else ""
    work = f", {threads['taken']} thread{'s'[: threads['taken'] != '1']}{suffix}" if threads and not on_gpus else ""
    if len(hosts) == 1:
        place = f"{hosts[0]['host']} ({_cores(hosts[0])})"
        yield "ranks", f"{len(ranks)} on {place}{work}; peak memory {size(hosts[0]['peak_memory_bytes'])}"
    else:
        yield "ranks", f"{len(ranks)} on {len(hosts)} hosts{work}"
        for host in hosts[:MOST_HOSTS]:
            named = _named(host["ranks"])
            yield "host", f"{host['host']} ({_cores(host)}): {named}; peak memory {size(host['peak_memory_bytes'])}"
        if len(hosts) > MOST_HOSTS:
            yield "host", f"and {len(hosts) - MOST_HOSTS} more"
    memory = ranks[0].get("gpu_memory")
    if len(ranks) == 1 and memory:
        planned = f", planned {size(memory['planned_bytes'])}" if memory.get("planned_bytes") else ""
        yield "GPU memory", f"peak {size(memory['peak_bytes'])}{planned}"


def _cores(host: dict) -> str:
    return f"{host['cores']} core{'s'[: host['cores'] != 1]}"


def _named(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    ascending = list(ranks) == list(range(ranks[0], ranks[0] + len(ranks)))
    return f"ranks {ranks[0]} to {ranks[-1]}" if ascending and len(ranks) > 2 else f"ranks {', '.join(map(str, ranks))}"


def _time_line(report: dict) -> str:
    """Return the wall time and its phases, averaged over ranks; the largest with its share."""
    spent = means(report)
    shown = {name: spent[name] for name in BEFORE} | {"rounds": sum(spent[name] for name in PARTS)}
    shown |= {name: spent[name] for name in (*AFTER, "other")}
    whole, largest = sum(shown.values()), max(shown, key=shown.__getitem__)
    phases = [
        f"{name} {duration(seconds)}" + (f" ({seconds / whole:.0%})" if name == largest and whole else "")
        for name, seconds in shown.items()
        if seconds > SMALL_SHARE * whole or (name == "rounds" and seconds)
    ]
    of = ", mean of ranks" if len(report["ranks"]) > 1 else ""
    return duration(report["wall_seconds"]) + (f"{of}: {', '.join(phases)}" if phases else "")


def terms(report: dict) -> str:
    """Return the time in rounds as computation, of the slowest rank, and communication, the rest."""
    whole, computation = rounds_time(report), max(rank["seconds"].get("compute", 0.0) for rank in report["ranks"])
    computed, rest = durations([computation, max(whole - computation, 0.0)])
    return f"computation {computed} (slowest rank), communication {rest} (the rest)"


def _graph(report: dict, choices: dict[str, dict]) -> str:
    graph, algorithm = report["graph"], report["algorithm"]
    name = graph.get("name", "?")
    parts = [name] if short_name(name) != name else []
    if "directed" in graph:
        parts.append("directed" if graph["directed"] else "undirected")
    if algorithm.get("weights", "none") != "none":
        used = "used" if algorithm["weights"] == "used" else f"not used by {algorithm.get('name', '?')}"
        parts.append(f"weights {graph['weight_type']} ({used})")
    if "fingerprint" in graph:
        parts.append(f"fingerprint {graph['fingerprint']}")
    if scanned := graph.get("scanned_lines"):
        parts.append(f"{scanned:,} line{'s'[: scanned != 1]} read by the slower reader")
    if "graph" in choices:
        parts.append("the default graph")
    return "; ".join(parts) or name


def _path(path: dict) -> str:
    """Return the length of a path, its edges and its vertices."""
    vertices = path["vertices"]
    if not vertices:
        return f"none: {path['target']} is not reached"
    edges = f"{len(vertices) - 1:,} edge{'s'[: len(vertices) != 2]}"
    return f"length {_value(path['length'])}, {edges}: {' → '.join(map(str, vertices))}"


def _largest(top: dict[str, list]) -> Iterator[tuple[str, str]]:
    """Yield the rows of ``--top``: vertex, value, and attributes that it has."""
    for number, (vertex, value, *attributes) in enumerate(zip(*top.values(), strict=True), 1):
        joined = (f", {name} {text}" for name, text in zip([*top][2:], attributes, strict=True) if text is not None)
        yield f"top {number}", f"{vertex}: {_value(value)}{''.join(joined)}"


def _validation(validation: dict) -> str:
    if validation["passed"]:
        return f"passed: {'; '.join(validation['checked'])}"
    return f"{'not done' if validation['passed'] is None else 'FAILED'}: {validation['failure']}"


def _value(value) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "none" if value is None else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def table(report: dict, width: int = WIDTH) -> str:
    """Return the table of ranks, with max, mean and max / mean below; empty for one rank.

    Parts of the rounds always have a column; other phases have one where ranks differ in them. A table wider than
    ``width`` is cut into several below each other.
    """
    if len(report["ranks"]) == 1:
        return ""
    blocks: list[tuple[RankColumn, ...]] = []

    def fits(*columns: RankColumn) -> bool:
        return len(_block(report, columns)[0]) <= width

    times = [column for column in TIMES if _differs(report, column)]
    amounts = [column for column in AMOUNTS if any(column.figure(rank) for rank in report["ranks"])]
    for group in filter(None, (times, amounts)):
        if blocks and fits(*blocks[-1], *group):
            blocks[-1] = (*blocks[-1], *group)
            continue
        blocks.append(())
        for column in group:
            if blocks[-1] and not fits(*blocks[-1], column):
                blocks.append(())
            blocks[-1] = (*blocks[-1], column)
    texts = ["\n".join(_block(report, columns)) for columns in blocks]
    if len(report["ranks"]) > MOST_RANKS:
        texts.append(f"the {SLOWEST} ranks with the most compute, of {len(report['ranks'])}; --report has all")
    return "\n\n".join(texts)


def _differs(report: dict, column: RankColumn) -> bool:
    """Return True for parts of the rounds that took time, and for phases in which ranks differ."""
    values = [column.figure(rank) for rank in report["ranks"]]
    if column.name in PARTS:
        return any(values)
    return max(values) > UNEVEN_SHARE * report["wall_seconds"] and max(values) > UNEVEN * mean(values)


def _block(report: dict, columns: tuple[RankColumn, ...]) -> list[str]:
    """Return the lines of one table: headings, a line a rank, and max, mean and max / mean over all ranks."""
    ranks = shown = report["ranks"]
    if len(ranks) > MOST_RANKS:
        shown = sorted(ranks, key=lambda rank: -rank["seconds"].get("compute", 0.0))[:SLOWEST]
    cells = [[str(rank["rank"]) for rank in shown] + ["max", "mean", "max/mean"]]
    for column in columns:
        values = [column.figure(rank) for rank in ranks]
        most, average = max(values), mean(values)
        texts = column.texts([column.figure(rank) for rank in shown] + [most, average])
        cells.append([*texts, f"{most / average:.2f}" if average else "-"])
    rows: list[list[str] | None] = [list(row) for row in zip(*cells, strict=True)]
    return aligned([["rank", *(column.name for column in columns)], None, *rows[:-3], None, *rows[-3:]])


def rounds(report: dict) -> str:
    """Return the table of rounds, with the seconds of rank 0; empty where no round ran.

    Of a long run it has the first rounds, the one with the most edges and the last one; a sparkline below shows the
    frontier of all rounds kept.
    """
    series = report["rounds"]
    kept, last = series["kept"], series["count"]
    if not kept:
        return ""
    if last <= MOST_ROUNDS and len(kept) == last:
        return "\n".join(_rounds(kept, {}))
    heaviest = series.get("heaviest") or max(kept, key=lambda row: row["frontier_edges"])
    ending = series.get("last") or kept[-1]
    marks = {heaviest["round"]: ["heaviest"]}
    if ending["round"] == last:
        marks.setdefault(last, []).append("last")
    rows = {row["round"]: row for row in (*kept[:FIRST_ROUNDS], heaviest, ending)}
    shown = [rows[number] for number in sorted(rows)]
    sizes = [row["frontier_vertices"] for row in kept]
    every = f", one round in {series['every']}" if series["every"] > 1 else ""
    scale = f"frontier vertices of rounds 1 to {last:,}{every}: {min(sizes):,} to {max(sizes):,}, log scale"
    if min(sizes) == max(sizes):  # a line of equal bars says nothing
        return "\n".join(_rounds(shown, marks))
    return "\n".join([*_rounds(shown, marks), "", scale, sparkline(sizes)])


def _rounds(rows: Sequence[dict], marks: dict[int, list[str]]) -> list[str]:
    columns = [(field, [read(field, row) for row in rows]) for field in shown_in("text", ROUND)]
    columns = [(field, values) for field, values in columns if any(values) or (field.always and field.name != "edges")]
    lines: list[list[str] | None] = [[field.name for field, _ in columns], None]
    lines += map(list, zip(*(texts(field, values) for field, values in columns), strict=True))
    marked = ["", "", *("  " + ", ".join(marks.get(row["round"], ())) for row in rows)]
    return [(line + mark).rstrip() for line, mark in zip(aligned(lines), marked, strict=True)]
