"""Ranks and their communicators. mpi4py is imported in ``mpi.py`` alone."""

from dgraph.comm.base import Comm
from dgraph.comm.calls import collective
from dgraph.comm.serial import SerialComm
from dgraph.comm.world import communicator, world

__all__ = ["Comm", "SerialComm", "collective", "communicator", "world"]
