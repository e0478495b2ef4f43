"""Checkpoints: the state of a run between two rounds, in a folder from which any number of ranks can resume."""

from dgraph.engine.checkpoint.checkpoint_file import clear
from dgraph.engine.checkpoint.manager import RESUME, CheckpointManager, interval
from dgraph.engine.checkpoint.setting import Checkpoint
from dgraph.engine.checkpoint.signals import listening

__all__ = ["RESUME", "Checkpoint", "CheckpointManager", "clear", "interval", "listening"]
