"""World communicator: all ranks of this launch, with a check that launcher and MPI report the same number."""

import os
import sys
from typing import Any

from dgraph.comm.base import Comm
from dgraph.comm.environment import check_environment
from dgraph.comm.serial import SerialComm
from dgraph.errors import DgraphError, InternalError, PeerLost, UsageError

STARTED_BY = {
    "PMI_SIZE": "mpiexec",
    "OMPI_COMM_WORLD_SIZE": "mpirun",
    "PMIX_RANK": "a PMIx launcher",
    "SLURM_STEP_NUM_TASKS": "srun",
}
"""Environment variable → launcher that sets it. PMIX_RANK holds a rank, not a count, so it only shows a launcher."""

_world: Comm | None = None


def world() -> Comm:
    """Return the communicator of all ranks that were started together.

    It is a :class:`SerialComm` if no launcher started this process. The first call initialises MPI and is collective.

    Raises:
        UsageError: the launcher started several processes that MPI cannot connect (a launcher of another MPI), or an
            environment variable has a value with which nothing can run.
    """
    global _world
    if _world is None:
        check_environment()
        _world = _join()
    return _world


def communicator(comm: Any = None) -> Comm:
    """Return the :class:`Comm` for ``comm``: None (the world), a :class:`Comm`, or an mpi4py communicator."""
    if comm is None:
        return world()
    if isinstance(comm, Comm):
        return comm
    from dgraph.comm.mpi import wrapped

    return wrapped(comm)


def existing(comm: Any) -> Comm | None:
    """Return :func:`communicator` of ``comm`` if that needs no communication, otherwise None; not collective."""
    if comm is None:
        return _world
    if isinstance(comm, Comm):
        return comm
    return SerialComm() if getattr(comm, "size", 0) == 1 else None


def _join() -> Comm:
    name, count = _launcher()
    if name is None and "mpi4py.MPI" not in sys.modules:
        return SerialComm()
    try:
        from dgraph.comm.mpi import library, wrapped
    except (ImportError, RuntimeError) as missing:
        if count > 1:
            raise UsageError(
                f"{name} started {count} ranks, but MPI cannot be loaded from Python ({missing}); "
                "install it with: pip install 'dgraph-analytics[mpi]', or mpi4py alone beside a site's own MPI"
            ) from missing
        return SerialComm()
    if name == "mpirun" and count > 1 and "MPICH" in library().upper():
        raise UsageError(
            f"Open MPI's mpirun started {count} ranks, but mpi4py has {library()}, which it cannot start; use the "
            "mpiexec that came with mpi4py's MPI, or point mpi4py at Open MPI with MPI4PY_LIBMPI"
        )
    comm = wrapped()
    if comm.size == 1 and count > 1:
        raise UsageError(
            f"{name} started {count} processes, but each is alone in its MPI world, so each would solve the whole "
            f"graph: the launcher and the MPI library ({library()}) do not belong together; use the mpiexec that "
            "came with mpi4py's MPI, or under Slurm: srun --mpi=pmi2 (MPICH), srun --mpi=pmix (Open MPI)"
        )
    if comm.size != count > 1:
        raise UsageError(
            f"{name} says {count} ranks, but MPI has {comm.size}: some processes belong to another launch; "
            "start all ranks with one mpiexec or srun"
        )
    if comm.size == 1:
        return SerialComm()
    _end_with_faults(comm)
    return comm


def _end_with_faults(comm: Comm) -> None:
    """Install an exception hook that aborts all ranks after an uncaught exception in the user's script.

    The other ranks would wait for this one's messages, and MPI_Finalize of this one for the others. A
    :class:`DgraphError` is raised on all ranks, so they end by themselves, except :class:`PeerLost`: then a rank is
    missing, and MPI_Finalize would wait for it.
    """
    show = sys.excepthook

    def end(kind, fault, traceback):
        show(kind, fault, traceback)
        if issubclass(kind, PeerLost) or not issubclass(kind, DgraphError):
            comm.abort(InternalError.exit_code)

    sys.excepthook = end


def _launcher() -> tuple[str | None, int]:
    """Return the launcher's name and the number of processes it reports (1 if it reports none)."""
    for variable, name in STARTED_BY.items():
        value = os.environ.get(variable, "")
        if value.isdigit():
            return name, 1 if variable == "PMIX_RANK" else int(value)
    return None, 1
