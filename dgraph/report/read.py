"""Reading of reports from files, with an upgrade of earlier schema versions.

Main entry: :func:`read`. A report that is incomplete, or of a newer version, is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from dgraph.engine.rounds.record import VERSION
from dgraph.errors import DataError, OutputError

NEEDED = ("algorithm", "graph", "outcome", "choices", "warnings", "wall_seconds", "hosts", "ranks", "rounds")


def read(path: str | os.PathLike, note: Callable[[str], None] | None = None) -> list[dict]:
    """Return the reports in a file: one, as ``--report`` writes it, or one a line, as ``--format json`` prints them.

    Args:
        path: the file.
        note: called with a line for every report of an earlier version; it was upgraded to ``VERSION``.

    Raises:
        OutputError: the file cannot be read.
        DataError: it holds no report, an incomplete one, or one of a version that cannot be upgraded.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not a report: it is not text") from error
    try:
        numbered = [(1, json.loads(text))]
    except json.JSONDecodeError:
        numbered = [
            (number, _line(path, number, line)) for number, line in enumerate(text.splitlines(), 1) if line.strip()
        ]
    if not numbered:
        raise DataError(f"{path} is empty; give a file that --report wrote")
    return [_checked(f"{path}:{number}", value, note) for number, value in numbered]


def _line(path: Path, number: int, line: str):
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{number}: this is not JSON ({error.msg}); give a file that --report wrote") from error


def _checked(where: str, report, note: Callable[[str], None] | None) -> dict:
    if not isinstance(report, dict) or "version" not in report:
        raise DataError(f"{where}: this is JSON, but not a report; give a file that --report wrote")
    version, writer = report["version"], report.get("dgraph", "unknown")
    if version != VERSION and version not in UPGRADES:
        raise DataError(
            f"{where}: a report of version {version}, and this dgraph reads versions {min(UPGRADES)} to {VERSION}: "
            f"use the dgraph that wrote it ({writer})"
        )
    for name in NEEDED:
        if name not in report:
            raise DataError(f"{where}: the report has no {name!r}: it was truncated or changed; write it again")
    if not report["ranks"]:
        raise DataError(f"{where}: the report has no ranks: it was truncated or changed; write it again")
    while report["version"] in UPGRADES:
        change = UPGRADES[report["version"]](report)
        report["version"] += 1
        if note:
            new = report["version"]
            note(f"{where}: a report of version {new - 1} was read as version {new}: {change}")
    return report


def _rename_agree(report: dict) -> str:
    """Upgrade version 1: the wait for the slowest rank was called ``agree``."""
    places = [report.get("imbalance", {})]
    for rank in report["ranks"]:
        places += [rank.get("seconds", {}), rank.get("rounds", {})]
    for place in places:
        if "agree" in place:
            place["idle"] = place.pop("agree")
    return "its timer agree is idle now"


UPGRADES: dict[int, Callable[[dict], str]] = {1: _rename_agree}
"""Version → function that turns a report of it into the next version, in place, and says what it changed."""
