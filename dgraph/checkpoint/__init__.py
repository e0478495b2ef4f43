"""Checkpoints: where a run stands between two rounds, in a folder from which any number of ranks can go on."""

from dgraph.checkpoint.asked import listening
from dgraph.checkpoint.keeper import RESUME, Checkpoints, interval
from dgraph.checkpoint.store import clear

__all__ = ["RESUME", "Checkpoints", "clear", "interval", "listening"]
