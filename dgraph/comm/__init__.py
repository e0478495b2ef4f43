"""Ranks and their communicators. Only ``mpi.py`` imports mpi4py."""

from dgraph.comm.base import Comm
from dgraph.comm.calls import begun, collective, collective_after
from dgraph.comm.serial import SerialComm
from dgraph.comm.world import communicator, world

__all__ = ["Comm", "SerialComm", "begun", "collective", "collective_after", "communicator", "world"]
