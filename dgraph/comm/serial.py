"""One rank, no MPI."""

import os

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import InternalError


class SerialComm(Comm):
    """The communicator of a single process."""

    rank, size, transport = 0, 1, "none"

    def barrier(self):
        pass

    def allreduce(self, values, op="sum"):
        return np.array(values)

    def allgather(self, values):
        return np.array(values)[None]

    def allgatherv(self, values):
        return [values]

    def alltoallv(self, parts):
        return list(parts)

    def exchange(self, sends, inboxes):
        return {}

    def send(self, peer, address, size):
        raise InternalError(f"there is no rank {peer} beside the only one")

    receive = send

    def abort(self, code):
        os._exit(code)
