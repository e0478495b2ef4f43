"""Export of a run as a trace for ui.perfetto.dev and chrome://tracing, in Google's Trace Event Format.

Main entry: :func:`write_trace`. A rank is a process; its phases, rounds and their parts are nested spans.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from dgraph.engine.rounds.round_series import HIDDEN
from dgraph.report.fields import RANK, RANK_ROUND, ROUND, RUN, read, shown_in
from dgraph.report.report_file import replacing
from dgraph.report.time_split import PARTS


def write_trace(report: dict, path: str | os.PathLike) -> None:
    """Write the events of one run atomically to ``path``, gzipped if its name ends in ``.gz``.

    Raises:
        OutputError: the file cannot be written; no partial file remains.
    """
    text = json.dumps({"displayTimeUnit": "ms", "traceEvents": list(events(report))}).encode()
    if Path(path).suffix == ".gz":
        import gzip

        text = gzip.compress(text, mtime=0)
    replacing(path, text, "--trace")


def events(report: dict) -> Iterator[dict]:
    """Yield complete events, with times in microseconds; spans nest, as rounds in solve and parts in a round.

    The report has only the sum of each part of a round, so the parts are shown one after the other. Communication that
    overlaps computing has a track of its own and ends where computing ends.
    """
    ranks, kept = report["ranks"], report["rounds"]["kept"]
    last = max(rank["seconds"]["wall"] for rank in ranks)
    for rank in ranks:
        number, wall = rank["rank"], rank["seconds"]["wall"]
        yield {"ph": "M", "name": "process_name", "pid": number, "args": {"name": f"rank {number} ({rank['host']})"}}
        yield {"ph": "M", "name": "process_sort_index", "pid": number, "args": {"sort_index": number}}
        shift = last - wall
        command = {"command": shlex.join(report["command"])} if number == 0 else {}
        yield _span(number, "run", shift, wall, command | _facts(report, RUN) | _facts(rank, RANK))
        for span in rank.get("spans", ()):
            yield _span(number, span["name"], shift + span["start"], span["seconds"], {})
        columns = rank.get("rounds", {"start": []})
        hidden = columns.get(HIDDEN, ())
        if hidden:
            yield {"ph": "M", "name": "thread_name", "pid": number, "tid": 1, "args": {"name": "hidden exchange"}}
        for i, (row, start) in enumerate(zip(kept, columns["start"], strict=False)):
            parts = [(name, columns[name][i]) for name in PARTS]
            facts = _facts(row, ROUND) | _facts({name: column[i] for name, column in columns.items()}, RANK_ROUND)
            whole = sum(seconds for _, seconds in parts)
            schedule = f" {row['schedule']}" if "schedule" in row else ""
            yield _span(number, f"round {row['round']} {row['direction']}{schedule}", shift + start, whole, facts)
            if columns.get("mean_block", (0,) * len(kept))[i]:
                uneven = {"max/mean": round(columns["fullest_block"][i] / columns["mean_block"][i], 3)}
                moment = round((shift + columns["start"][i]) * 1e6, 3)
                yield {"ph": "C", "name": "thread blocks", "pid": number, "ts": moment, "args": uneven}
            if hidden and hidden[i]:
                beside = min(hidden[i], columns["compute"][i])
                yield _span(number, HIDDEN, shift + start + columns["compute"][i] - beside, beside, {}, track=1)
            for name, seconds in parts:
                if seconds:
                    yield _span(number, name, shift + start, seconds, {})
                    start += seconds
            if number == 0:
                shown = {"vertices": row["frontier_vertices"]}
                moment = round((shift + columns["start"][i]) * 1e6, 3)
                yield {"ph": "C", "name": "frontier", "pid": 0, "ts": moment, "args": shown}


def _facts(entry: dict, per: str) -> dict:
    """Return the arguments of a span: last key of a field's place → value."""
    values = {field.place.rpartition(".")[2]: read(field, entry) for field in shown_in("trace", per)}
    return {key: value for key, value in values.items() if value is not None}


def _span(rank: int, name: str, start: float, seconds: float, facts: dict, track: int = 0) -> dict:
    span = {"ph": "X", "name": name, "cat": "dgraph", "pid": rank, "tid": track}
    return span | {"ts": round(start * 1e6, 3), "dur": round(seconds * 1e6, 3)} | ({"args": facts} if facts else {})
