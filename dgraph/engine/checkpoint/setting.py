"""Checkpoint: the settings of a run's checkpoints."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dgraph._support.arguments import choice, path
from dgraph.engine.checkpoint.manager import RESUME, interval


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
        path("folder", self.folder)
        if self.resume is not None:
            choice("resume", self.resume, RESUME, "way to resume")
        interval(self.every)
