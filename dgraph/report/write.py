"""The report as a file: all of it or nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

from dgraph.errors import OutputError


def write(report: dict, path: str | os.PathLike) -> None:
    """Write the report as JSON, replacing ``path`` in one step; one rank calls it.

    Raises:
        OutputError: the system refused; nothing is left behind.
    """
    path = Path(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OutputError(f"the report {path} cannot be written: {error.strerror}; choose another --report") from error
