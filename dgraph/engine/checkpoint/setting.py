"""Checkpoint: the settings of a run's checkpoints."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dgraph.engine.checkpoint.manager import RESUME, interval
from dgraph.errors import UsageError, unknown


@dataclass(frozen=True)
class Checkpoint:
    """Folder and times of a run's checkpoints. SIGUSR1 ends the run with a checkpoint in the folder.

    Attributes:
        folder: a folder that every rank reaches.
        every: also write a checkpoint every N rounds (``100``), seconds, minutes or hours (``"300s"``).
        resume: "auto": go on from the checkpoint in the folder, if there is one; "must": refuse to start without one;
            None: start anew, and refuse a folder that holds a checkpoint.

    Raises:
        UsageError: a value that a field cannot have.
    """

    folder: str | os.PathLike
    every: str | int | None = None
    resume: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.folder, (str, os.PathLike)):
            raise UsageError(f"checkpoint folder {self.folder!r} is not a path; give a string or a Path")
        if self.resume is not None and self.resume not in RESUME:
            raise unknown("way to resume", self.resume, RESUME)
        interval(self.every)
