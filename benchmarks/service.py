"""Resident service: round trips, Arrow rows, many jobs, loops of queries, jobs ended early, a killed rank.

Each part has a service and a time limit of its own, so that one that hangs or fails does not hide the others; its
figures then say where the ranks stood. The service is a process, the client another.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import record, service_rows
from benchmarks.service_process import Service

LIBRARIES = ("fastapi", "uvicorn", "uvloop", "pyarrow", "mpi4py", "cupy-cuda12x", "cupy-cuda13x")

PARTS: dict[str, tuple[Callable[..., Any], float]] = {
    "trips": (service_rows.trips, 120),
    "arrow": (service_rows.arrow, 120),
    "loop": (service_rows.loop, 60),
    "most": (service_rows.most, 120),
    "cancelled": (service_rows.cancelled, 120),
    "killed": (service_rows.killed, 60),
    "many": (service_rows.many, 60),
}
"""Name → coroutine and seconds that it has; ``loop`` has them for each repetition, ``many`` beside its minutes."""

USUAL = {"cuda": ("trips", "arrow", "many"), "cpu": ("loop", "most", "arrow", "cancelled", "killed")}
SIDE = {"cuda": 4473, "cpu": 3163}
"""Sides of grids with 20 and 10 million vertices."""

TRIPS = {"cuda": "rmat:24,symmetric", "cpu": "rmat:14,symmetric"}


def measure(
    device: str | None, rows: str | None, graph: str | None, side: int | None, jobs: int, minutes: float, repeat: int,
    folder: Path,
) -> None:  # fmt: skip
    """Run parts one after the other, and write ``service.json`` and ``service.md``, or ``service-gpu…``, after each.

    Args:
        device: "cuda" or "cpu"; None: "cuda" where there is a GPU.
        rows: names of parts with commas between them; None: those of ``USUAL``.
        graph: of the round trips; None: as ``TRIPS`` has it.
        side: of the grid whose rows are fetched; None: as ``SIDE`` has it.
        jobs: most jobs over five graphs.
        minutes: time after which no more of them begin.
        repeat: open loops, and fetches of rows.
        folder: of the results.
    """
    device = device or ("cuda" if shutil.which("nvidia-smi") else "cpu")
    asked = service_rows.Asked(device, graph or TRIPS[device], side or SIDE[device], jobs, minutes, repeat)
    document: dict = {"circumstances": record.circumstances(LIBRARIES), "device": device, "parts": {}}
    for name in _known(rows.split(",") if rows else USUAL[device]):
        part, limit = PARTS[name]
        limit += {"many": 60 * minutes, "loop": limit * (repeat - 1)}.get(name, 0)
        document["parts"][name] = _figures(part, limit, asked)
        print(name, json.dumps(document["parts"][name]), flush=True)
        record.write(folder, "service-gpu" if device == "cuda" else "service", document, _table(document["parts"]))


def _known(names: Sequence[str]) -> Sequence[str]:
    for name in names:
        if name not in PARTS:
            raise SystemExit(f"service has no part {name!r}; it has {', '.join(PARTS)}")
    return names


def _figures(part: Callable[..., Any], limit: float, asked: service_rows.Asked) -> Any:
    """Return the figures of a part, or why there are none."""
    faulthandler.dump_traceback_later(limit + 120, exit=True)  # should this process hang, too
    try:
        with Service(1, "--device", asked.device) as service:
            try:
                return asyncio.run(asyncio.wait_for(part(service, asked), limit))
            except TimeoutError:
                return {"failed": f"it did not end within {limit:g} s", "log": service.stacks()}
            except Exception as error:
                return {"failed": f"{type(error).__name__}: {error}"[:2000], "log": service.stacks()}
    except RuntimeError as error:
        return {"failed": str(error)}
    finally:
        faulthandler.cancel_dump_traceback_later()


def _table(parts: dict[str, Any]) -> str:
    lines = []
    for name, figures in parts.items():
        lines += [f"**{name}**", ""]
        if "failed" in figures:
            lines += [f"Failed: {figures['failed']}", "", "```", figures.get("log", "").strip(), "```", ""]
        else:
            lines += [*LINES[name](figures), ""]
    return "\n".join(lines)


def _latencies(rows: dict[str, dict[str, float]]) -> list[str]:
    names = ("p50", "p90", "p99", "most")
    head = [f"| | {' | '.join(f'{name} ms' for name in names)} |", "|-" * 5 + "|"]
    return [*head, *(f"| {row} | {' | '.join(f'{ms[name]:.2f}' for name in names)} |" for row, ms in rows.items())]


def _memory(marks: dict[int, dict[str, int]]) -> list[str]:
    lines = ["| after | host MB | GPU MB, the service's figure | whole GPU MB | files |", "|-|-|-|-|-|"]
    for count, mark in marks.items():
        shown = " | ".join(f"{mark[name] / 1e6:.1f}" for name in ("host", "service", "gpu"))
        lines.append(f"| {count:,} jobs | {shown} | {mark['files']} |")
    first, last = next(iter(marks.values())), list(marks.values())[-1]
    grown = [f"{what} {100 * (last[what] / first[what] - 1):+.2f} %" for what in ("host", "gpu") if first[what]]
    return [*lines, "", f"From the first to the last mark: {', '.join(grown)}."]


def _trips(figures: dict) -> list[str]:
    here, there = figures["in process ms"], figures["HTTP ms"]
    return [
        f"bfs on {figures['graph']}, top {service_rows.TOP}, {figures['queries']} sources, result cache off; loaded in "
        f"{figures['load seconds']:.1f} s, first job {figures['first job seconds']:.2f} s. HTTP − in process at p50: "
        f"**{there['p50'] - here['p50']:.2f} ms**.", "",
        *_latencies({"in process": here, "HTTP round trip": there}),
    ]  # fmt: skip


def _arrow(figures: dict) -> list[str]:
    size, count = figures["bytes"] / 1e6, len(figures["seconds"])
    best = size / 1e3 / min(figures["seconds"])
    return [
        f"{figures['rows']:,} rows, {size:,.0f} MB: **{figures['GB/s']:.2f} GB/s** "
        f"(median of {count}; best {best:.2f})."
    ]


def _loop(runs: list[dict]) -> list[str]:
    return [
        f"{service_rows.RATE} bfs queries a second on {service_rows.GRAPH}, top {service_rows.TOP}, "
        f"{service_rows.CONNECTIONS} connections, result cache off; failures: "
        f"{sum(run['failures'] for run in runs)} of {sum(run['queries'] for run in runs):,}.", "",
        *_latencies({f"run {number}": run["ms"] for number, run in enumerate(runs, 1)}),
    ]  # fmt: skip


def _most(figures: dict) -> list[str]:
    spent = ", ".join(f"{name} {ms:.2f}" for name, ms in figures["CPU ms"].items())
    return [
        f"{figures['queries']:,} bfs queries on {service_rows.GRAPH}, top {service_rows.TOP}, each of "
        f"{service_rows.CONNECTIONS} connections sends the next one when it has the answer: "
        f"**{figures['queries a second']:.0f} a second**. CPU time of a query in ms: {spent}; the "
        "client is on the same cores.",
        "", *_latencies({"closed loop": figures["ms"]}),
    ]  # fmt: skip


def _killed(figures: dict) -> list[str]:
    queue = figures["waiting jobs"]
    return [
        f"503 after {figures['503 after']:.2f} s, "
        f"ready after {figures['ready after']:.2f} s, the queue of {len(queue)} "
        f"{'/'.join(sorted(set(queue)))} after {figures['queue done after']:.2f} s; the running job: "
        f"{figures['running job']} ({figures['reason']})."
    ]


def _many(figures: dict) -> list[str]:
    return [
        f"{figures['jobs']:,} jobs over {len(service_rows.FEW)} graphs in {figures['seconds']:.0f} s, "
        f"{figures['jobs'] / figures['seconds']:.0f} a second: {figures['states']}.", "", *_memory(figures["memory"]),
    ]  # fmt: skip


LINES: dict[str, Callable[[Any], list[str]]] = {
    "trips": _trips,
    "arrow": _arrow,
    "loop": _loop,
    "most": _most,
    "cancelled": lambda figures: [f"Jobs ended early: {figures['states']}.", "", *_memory(figures["memory"])],
    "killed": _killed,
    "many": _many,
}
"""Lines of the table by part."""
