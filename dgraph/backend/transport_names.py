"""How the ranks of a run are joined: agreed once, before anything is exchanged."""

from __future__ import annotations

from dataclasses import dataclass, field

from dgraph.comm import Comm
from dgraph.errors import UsageError, unknown

AUTO, MPI_HOST = "auto", "mpi-host"
TRANSPORTS = {
    "p2p": "kernels write into the peer's memory (CUDA IPC): GPUs of one host that reach each other",
    "nccl": "NCCL's grouped sends and receives: a rank a GPU, any hosts",
    "mpi-device": "MPI is given addresses on the GPU: only one that is CUDA-aware, tried in a child process first",
    MPI_HOST: "through pinned host memory and MPI, in pieces that overlap: everywhere",
}
"""Name → how it carries messages between GPUs; the fastest first."""


@dataclass
class Connection:
    """What was chosen.

    Attributes:
        transport, reason: for the report.
        gpus: of every rank, as ``cuda/device/gpu_assignment.py`` tells them; empty where some have none.
        warnings: for the user.
    """

    transport: str
    reason: str
    gpus: list[dict] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def connect(engine, comm: Comm, transport: str = AUTO, allow_gpu_sharing: bool = False) -> Connection:
    """Join the ranks whose backend is ``engine``; collective, and the same on every rank.

    Raises:
        UsageError: on every rank; a transport that is not known or cannot be, or GPUs that ranks share unasked.
    """
    if transport not in (AUTO, *TRANSPORTS):
        raise unknown("transport", transport, (AUTO, *TRANSPORTS))
    names = comm.allgather_lasting("backend", lambda: engine.name)
    without = [rank for rank, name in enumerate(names) if name != "cuda"]
    if not without:
        return engine.connect(comm, transport, allow_gpu_sharing)
    if transport not in (AUTO, MPI_HOST):
        raise UsageError(
            f"transport {transport} joins GPUs, and rank {without[0]} computes on the {names[without[0]]}; "
            "leave --transport out, or run with --backend cuda"
        )
    if names[comm.rank] == "cuda":
        engine.links = None
    reason = "one rank" if comm.size == 1 else "host memory"
    if len(without) < comm.size:
        reason += f", because rank {without[0]} has no GPU"
    return Connection(comm.transport, reason)
