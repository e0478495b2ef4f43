"""Files that appear whole or not at all: the report, its page, its trace."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from dgraph.errors import OutputError

COLUMN = re.compile(r"\[\n[\d.eE+,\s-]+\]")
"""A list of numbers alone, which needs no line for each. No string of JSON has a line break in it."""


def write(report: dict, path: str | os.PathLike) -> None:
    """Write the report as JSON, replacing ``path`` in one step; one rank calls it.

    Raises:
        OutputError: the system refused; nothing is left behind.
    """
    text = COLUMN.sub(lambda found: "".join(found[0].split()), json.dumps(report, indent=1))
    replacing(path, f"{text}\n".encode(), "--report")


def replacing(path: str | os.PathLike, content: bytes, option: str) -> None:
    """``path`` becomes ``content`` in one step; ``option`` is what the user may change when it cannot.

    Raises:
        OutputError: the system refused; nothing is left behind.
    """
    path = Path(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(draft, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        what = "the report " if option == "--report" else ""
        raise OutputError(f"{what}{path} cannot be written: {error.strerror}; choose another {option}") from error
