"""Refusal of forked children: MPI and CUDA do not work in a process that was forked after they started."""

from __future__ import annotations

import os
import sys

from dgraph.errors import UsageError

_began: set[str] = set()
_inherited: set[str] = set()


def began(what: str) -> None:
    """Record that ``what`` ("MPI", "CUDA") has started in this process."""
    _began.add(what)


def refuse_forked() -> None:
    """Refuse to work in a process that was forked after MPI or CUDA started.

    Raises:
        UsageError: this process was forked so.
    """
    if _inherited:
        raise UsageError(
            f"this process was forked after {' and '.join(sorted(_inherited))} had started in its parent, and cannot "
            "use what it inherited; start it with multiprocessing.get_context('spawn'), or fork before the first call"
        )


def _in_child() -> None:
    MPI = sys.modules.get("mpi4py.MPI")
    if MPI is not None and MPI.Is_initialized():  # the user's own program may have initialised it
        _began.add("MPI")
    _inherited.update(_began)


os.register_at_fork(after_in_child=_in_child)
