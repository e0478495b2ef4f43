"""Reports that were written earlier: read, and refused where they are none of ours."""

from __future__ import annotations

import json
import os
from pathlib import Path

from dgraph.engine.rounds.timings import VERSION
from dgraph.errors import DataError, OutputError

NEEDED = ("algorithm", "graph", "outcome", "choices", "warnings", "wall_seconds", "hosts", "ranks", "rounds")


def read(path: str | os.PathLike) -> list[dict]:
    """The reports in a file: one, as ``--report`` writes it, or one a line, as ``--format json`` prints them.

    Raises:
        OutputError: the file cannot be read.
        DataError: it holds no report, or one of another version.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is no report: it is not text") from error
    try:
        found = [(1, json.loads(text))]
    except json.JSONDecodeError:
        found = [
            (number, _line(path, number, line)) for number, line in enumerate(text.splitlines(), 1) if line.strip()
        ]
    if not found:
        raise DataError(f"{path} is empty; give a file that --report wrote")
    return [_checked(f"{path}:{number}", value) for number, value in found]


def _line(path: Path, number: int, line: str):
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{number}: this is not JSON ({error.msg}); give a file that --report wrote") from error


def _checked(where: str, report) -> dict:
    if not isinstance(report, dict) or "version" not in report:
        raise DataError(f"{where}: this is JSON, but no report; give a file that --report wrote")
    if report["version"] != VERSION:
        raise DataError(
            f"{where}: a report of version {report['version']}; this dgraph reads version {VERSION}: "
            f"take the dgraph that wrote it ({report.get('dgraph', 'unknown')})"
        )
    for name in NEEDED:
        if name not in report:
            raise DataError(f"{where}: the report has no {name!r}: it was cut short or changed; write it anew")
    if not report["ranks"]:
        raise DataError(f"{where}: the report has no ranks: it was cut short or changed; write it anew")
    return report
