"""How messages get from GPU to GPU: chosen for each pair of ranks, tested at the start, one interface for all.

p2p          kernels write into the peer's memory (CUDA IPC); GPUs of one host
nccl         grouped sends and receives on a stream of its own
mpi-device   MPI is handed addresses on the GPU; only an MPI that is CUDA-aware
mpi-host     through pinned host memory and MPI, in pieces that overlap; always there, and the reference
"""

from dgraph.backend.cuda.transports.choice import compare, connect, joined
from dgraph.backend.cuda.transports.links import Links
from dgraph.backend.cuda.transports.mailboxes import HEADER, SIGNALS, Mailboxes

__all__ = ["HEADER", "SIGNALS", "Links", "Mailboxes", "compare", "connect", "joined"]
