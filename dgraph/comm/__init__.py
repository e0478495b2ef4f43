"""Ranks and what they can say to each other. mpi4py is imported in ``mpi.py`` alone."""

from dgraph.comm.base import Comm
from dgraph.comm.launch import world
from dgraph.comm.serial import SerialComm

__all__ = ["Comm", "SerialComm", "communicator", "world"]


def communicator(comm=None) -> Comm:
    """The :class:`Comm` behind ``comm``: None (the world), a :class:`Comm`, or an ``mpi4py`` communicator."""
    if comm is None:
        return world()
    if isinstance(comm, Comm):
        return comm
    from dgraph.comm.mpi import wrapped

    return wrapped(comm)
