"""Atomic writing of reports, pages and traces: a file appears complete or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path

from dgraph._support.writable import check_writable
from dgraph.errors import OutputError

COLUMN = re.compile(r"\[\n[\d.eE+,\s-]+\]")
"""An indented list of numbers, which is written on one line. A JSON string cannot match: it has no line break."""


def write(report: dict, path: str | os.PathLike) -> None:
    """Write the report as JSON, replacing ``path`` atomically; called by one rank.

    Raises:
        OutputError: the file cannot be written; no partial file remains.
    """
    text = COLUMN.sub(lambda match: "".join(match[0].split()), json.dumps(report, indent=1))
    replacing(path, f"{text}\n".encode(), "--report")


def write_rounds(report: dict, path: str | os.PathLike) -> None:
    """Write ``rounds.kept`` as CSV, a line for each round, replacing ``path`` atomically; called by one rank.

    A value that a round lacks is empty.

    Raises:
        OutputError: the file cannot be written; no partial file remains.
    """
    rows = report["rounds"]["kept"]
    text = io.StringIO()
    table = csv.DictWriter(text, dict.fromkeys(name for row in rows for name in row), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    replacing(path, text.getvalue().encode(), "--rounds-table")


def replacing(path: str | os.PathLike, content: bytes, option: str) -> None:
    """Replace the file ``path`` by ``content`` atomically; an error names ``option`` as what to change.

    Raises:
        UsageError: the path is that of a folder, a device or a pipe.
        OutputError: the file cannot be written; no partial file remains.
    """
    check_writable(path := Path(path))
    target = path.resolve()  # a symbolic link stays
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(draft, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        what = "the report " if option == "--report" else ""
        raise OutputError(f"{what}{path} cannot be written: {error.strerror}; choose another {option}") from error
