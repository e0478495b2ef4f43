"""Circumstances of a figure, and the files that figures are written to."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def circumstances(libraries: tuple[str, ...] = ()) -> dict:
    """Return machine, commit, command, versions and load."""
    return {
        "command": f"python -m benchmarks {_words(sys.argv[1:])}",
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "--short", "HEAD") + (" with changes" if _git("status", "--porcelain") else ""),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in ("numpy", "numba", *libraries)},
    }


def write(folder: Path, name: str, document: dict, table: str) -> None:
    """Write ``name.json`` and ``name.md``, and print the table."""
    _written(folder, name, document, f"{_head(document['circumstances'])}\n\n{table}")
    print(table)


def add(
    folder: Path, name: str, runs: list[dict], key: tuple[str, ...], about: str, table: Callable[[list[dict]], str]
) -> None:
    """Add rows to ``name.json`` and ``name.md``, which keep the newest row of each ``key``, grouped by run.

    Args:
        runs: newest first, each with ``circumstances``, ``rows``, and optionally a ``note`` that precedes its table.
        about: text before all tables.
    """
    file = folder / f"{name}.json"
    older = json.loads(file.read_text())["runs"] if file.exists() else []
    again = [run["circumstances"] for run in runs]
    kept, seen = [], set()
    for run in [*runs, *(run for run in older if run["circumstances"] not in again)]:
        rows = {tuple(row[field] for field in key): row for row in run["rows"]}
        left = [row for which, row in rows.items() if which not in seen]
        seen |= rows.keys()
        if left:
            kept.append(run | {"rows": left})
    parts = [about]
    for run in kept:
        parts += [run["note"]] if "note" in run else []
        parts += [_head(run["circumstances"]), table(run["rows"]).rstrip()]
    _written(folder, name, {"runs": kept}, "\n\n".join(parts) + "\n")


def rows_at(folder: Path, name: str, commit: str) -> list[dict]:
    """Return the rows that ``name.json`` has of a commit."""
    file = folder / f"{name}.json"
    runs = json.loads(file.read_text())["runs"] if file.exists() else []
    return [row for run in runs if run["circumstances"]["commit"] == commit for row in run["rows"]]


def _head(where: dict) -> str:
    """Return a line with the command of a run and the machine."""
    gpu = f"{where['gpu']}, " if "gpu" in where else ""
    return (
        f"`{where['command']}` at {where['commit']}, {where['when'][:10]}: "
        f"{gpu}{where['processor']}, {where['cores']} cores, load {where['load_before']} before; "
        + ", ".join(f"{library} {number}" for library, number in where["versions"].items())
    )


def _written(folder: Path, name: str, document: dict, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / f"{name}.md").write_text(text)


def _words(argv: list[str]) -> str:
    """Return the command line without ``--results`` and ``--docs``: a figure does not depend on these paths."""
    kept = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    kept.add_argument("--results")
    kept.add_argument("--docs")
    return " ".join(kept.parse_known_args(argv)[1])


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, cwd=Path(__file__).parent)
    return done.stdout.strip() or ("" if words[0] == "status" else "unknown")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
