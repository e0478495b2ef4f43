"""Checks of the transports between the ranks' GPUs: every transport and pair, contents, latency and bandwidth."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np

from dgraph.comm import Comm
from dgraph.comm.hosts import ranks_here
from dgraph.errors import DgraphError
from dgraph.tools.doctor.finding import Finding, fail, ok, warn

MOST_RANKS = 16
"""Maximum number of ranks printed as a matrix; of more ranks only the range is printed."""

CURES = {
    "p2p": "ranks of one host need GPUs that see each other: Slurm's --gpu-bind=none, no MIG; nvidia-smi topo -p2p r",
    "nccl": "one rank a GPU, and NCCL: pip install nvidia-nccl-cu13 (or -cu12)",
    "mpi-device": "a CUDA-aware MPI of the site's, if it has one: MPI4PY_LIBMPI, then --transport mpi-device",
    "mpi-host": "have rank and launcher from one MPI",
}
WRONG = "do not use it (--transport names another), and have the GPUs and links looked at: nvidia-smi nvlink -e, dmesg"


def transport_findings(comm: Comm) -> list[Finding]:
    """Test every transport; collective, with the same findings on every rank.

    Returns:
        Empty if there is one rank, or some rank has no GPU.
    """
    if comm.size == 1 or comm.largest(not _has_gpu()):
        return []
    try:
        return list(_tried(comm, _device(comm)))
    except DgraphError as error:
        return [fail("transports", f"the self-test ended with: {error}", "report it with this text")]


def _has_gpu() -> bool:
    if find_spec("cupy") is None:
        return False
    from dgraph.backend.cuda.device.device import count

    return count() > 0


def _device(comm: Comm):
    """Return the GPU that a run would use on this rank."""
    from dgraph.backend.cuda.backend import CudaBackend, GpuPlan

    here = ranks_here(comm)
    with comm.together():
        device = CudaBackend(here.index(comm.rank), len(here), alone=False, options=GpuPlan()).device
        device.use()
    return device


def _tried(comm: Comm, device) -> Iterator[Finding]:
    from dgraph.backend.cuda.transports import compare, connect

    links, refused = compare(device, comm)
    wrong = {(name, a, b) for name, a, b, _ in links.broken}
    for name, reasons in refused.items():
        figures = links.figures.get(name)
        yield _finding(name, comm.size, figures, reasons, {pair for pair in reasons if (name, *pair) in wrong})
    yield ok("transport of GPUs", f"auto takes {connect(device, comm).summary()}")


def _finding(name: str, size: int, figures: np.ndarray | None, refused: dict, wrong: set) -> Finding:
    """Describe one transport: its measurements, and the pairs that it cannot connect."""
    what = f"transport {name}"
    if wrong:
        a, b = min(wrong)
        return fail(
            what, f"WRONG BYTES between {len(wrong)} of the pairs, as ranks {a} and {b}: {refused[a, b]}", WRONG
        )
    lines = [] if figures is None or np.isnan(figures).all() else matrix(figures)
    if not refused:
        return ok(what, "\n".join(["every pair, contents checked; " + lines[0], *lines[1:]]))
    (a, b), why = next(iter(refused.items()))
    every = len(refused) == size * (size - 1) // 2
    where = "any ranks" if every else f"{len(refused)} of the pairs, as ranks {a} and {b}"
    text = "\n".join([f"not between {where}: {why}", *(["the others: " + lines[0], *lines[1:]] if lines else [])])
    return ok(what, text) if name == "mpi-device" else warn(what, text, CURES[name])


def matrix(figures: np.ndarray) -> list[str]:
    """Format the latency range, then bandwidths by sender (row) and receiver; ``figures`` as in ``Links.figures``."""
    seconds, bandwidth = figures
    head_line = (
        f"{np.nanmin(seconds) * 1e6:.3g} to {np.nanmax(seconds) * 1e6:.3g} µs a small message; GB/s from row to column"
    )
    size = len(bandwidth)
    if size > MOST_RANKS:
        return [f"{head_line}: {np.nanmin(bandwidth) / 1e9:.3g} to {np.nanmax(bandwidth) / 1e9:.3g}"]
    head = "".join(f"{rank:>7}" for rank in range(size))
    cells = [["      -" if np.isnan(x) else f"{x / 1e9:>7.3g}" for x in row] for row in bandwidth]
    return [head_line, f"   {head}", *(f"{rank:>3}{''.join(row)}" for rank, row in enumerate(cells))]
