"""Names of the transports, and the choice of one for a run before its first exchange."""

from __future__ import annotations

from dataclasses import dataclass, field

from dgraph.comm import Comm
from dgraph.errors import UsageError, option, unknown

AUTO, MPI_HOST = "auto", "mpi-host"
"""Automatic choice, and the transport that always works."""

TRANSPORTS = {
    "p2p": "kernels write into the peer's memory (CUDA IPC): peer-accessible GPUs of one host",
    "nccl": "NCCL's grouped sends and receives: one rank per GPU, any hosts",
    "mpi-device": "device addresses are passed to MPI: needs a CUDA-aware MPI, tested in a child process first",
    MPI_HOST: "pinned host memory and MPI, in pieces that overlap: everywhere",
}
"""Transport → description, the fastest first."""


@dataclass
class Connection:
    """Transport of a run.

    Attributes:
        transport: its name.
        reason: why it was chosen, for the report.
        gpus: one description per rank, from ``cuda/device/gpu_assignment.py``; empty if a rank has no GPU.
        warnings: messages for the user.
    """

    transport: str
    reason: str
    gpus: list[dict] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def connect(engine, comm: Comm, transport: str = AUTO, allow_gpu_sharing: bool = False) -> Connection:
    """Choose and set up the transport between the ranks; collective, equal on every rank.

    Args:
        engine: backend of this rank.
        comm: communicator of the run.
        transport: name of a transport, or "auto".
        allow_gpu_sharing: True to allow several ranks on one GPU.

    Raises:
        UsageError: on every rank: an unknown or unusable transport, or ranks that share a GPU without permission.
    """
    if transport not in (AUTO, *TRANSPORTS):
        raise unknown("transport", transport, (AUTO, *TRANSPORTS))
    names = comm.allgather_cached("backend", lambda: engine.name)
    without = [rank for rank, name in enumerate(names) if name != "cuda"]
    if not without:
        return engine.connect(comm, transport, allow_gpu_sharing)
    if transport not in (AUTO, MPI_HOST):
        raise UsageError(
            f"transport {transport} connects GPUs, but rank {without[0]} computes on the {names[without[0]]}; "
            f"leave {option('transport')} out, or run with {option('backend', 'cuda')}"
        )
    if names[comm.rank] == "cuda":
        engine.links = None
    reason = "one rank" if comm.size == 1 else "host memory"
    if len(without) < comm.size:
        reason += f", because rank {without[0]} has no GPU"
    return Connection(comm.transport, reason)
