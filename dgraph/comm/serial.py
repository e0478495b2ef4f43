"""Communicator of a single process, without MPI."""

import os

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import InternalError


class SerialComm(Comm):
    """Single rank: collectives return their input, and there are no peers."""

    rank, size, transport = 0, 1, "none"

    def barrier(self):
        """Return at once."""

    def allreduce(self, values, op="sum"):
        """Return a copy of ``values``."""
        return np.array(values)

    def total(self, value):
        """Return ``value``."""
        return int(value)

    largest = total

    def allgather(self, values):
        """Return ``values`` with a leading axis of one rank."""
        return np.array(values)[None]

    def allgatherv(self, values):
        """Return a list of ``values`` alone."""
        return [values]

    def alltoallv(self, parts):
        """Return the parts as a list."""
        return list(parts)

    def exchange(self, sends, inboxes):
        """Return an empty dictionary: there are no peers."""
        return {}

    def send(self, peer, address, size):
        """Raise InternalError: there are no peers."""
        raise InternalError(f"there is no rank {peer} beside the only one")

    receive = send

    def abort(self, code):
        """Exit the process without cleanup."""
        os._exit(code)
