"""Ranks and their communicators. Only ``mpi.py`` imports mpi4py."""

from dgraph.comm.base import Comm
from dgraph.comm.calls import collective
from dgraph.comm.serial import SerialComm
from dgraph.comm.world import communicator, world

__all__ = ["Comm", "SerialComm", "collective", "communicator", "world"]
