"""Checkpoints: where a run stands between two rounds, in a folder from which any number of ranks can go on."""

from dgraph.engine.checkpoint.checkpoint_file import clear
from dgraph.engine.checkpoint.manager import RESUME, CheckpointManager, interval
from dgraph.engine.checkpoint.signals import listening

__all__ = ["RESUME", "CheckpointManager", "clear", "interval", "listening"]
