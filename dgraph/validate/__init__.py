"""Validation of results: arrays and a communicator in, a :class:`Verdict` out.

Certificates share no code with what they check: no programs, rounds or synchronisation. They do not use the partition
either, because they read the graph as it was loaded. Most leave counting to a *prover*: the threads of CPU ranks, or
kernels on the GPU that has the answer, whose module says what it trusts. ``docs/internals/validation.md`` lists what
each one proves. A certificate registers itself when its module is imported, and every module of this folder is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import UsageError, ValidationFailed
from dgraph.graph.block import EdgeBlock
from dgraph.validate.certificate_register import CERTIFICATES, PROVED, Certificate, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.host.host_prover import HostProver

__all__ = ["CERTIFICATES", "PROVED", "Verdict", "certificate", "certifies", "validate"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")


@dataclass(frozen=True)
class Verdict:
    """Result of validation; equal on all ranks except ``seconds``.

    Attributes:
        passed: None if nothing could be checked.
        checked: properties that have been proved.
        failure: first violation, or the reason why nothing could be checked.
        seconds: time on this rank.
    """

    passed: bool | None
    checked: tuple[str, ...]
    failure: str | None
    seconds: float

    def __str__(self) -> str:
        if self.passed:
            return f"validated: {'; '.join(self.checked)} ({self.seconds:.3f} s)"
        return f"{'not validated' if self.passed is None else 'validation failed'}: {self.failure}"

    def facts(self) -> dict[str, Any]:
        """Return the report's entry."""
        return asdict(self)


def certificate(algorithm: str) -> Certificate:
    """Return the certificate of an algorithm.

    Raises:
        UsageError: there is none, for instance for a user's program.
    """
    if algorithm not in CERTIFICATES:
        raise UsageError(
            f"{algorithm} has no certificate, so its answer cannot be validated; leave validate out, or register one "
            '("Your own" in docs/internals/validation.md)'
        )
    return CERTIFICATES[algorithm]


def validate(
    algorithm: str,
    block: EdgeBlock | Any,
    columns: Mapping[str, np.ndarray],
    comm: Comm,
    *,
    parameters: Mapping[str, Any],
    rounds: int,
    converged: bool = True,
    threads: int | None = None,
    matrix: np.ndarray | None = None,
    edges: Any = None,
    walks: Any = None,
    predecessors: np.ndarray | None = None,
) -> Verdict:
    """Check a result against the graph; collective.

    Args:
        algorithm: its name.
        block: this rank's rows of the graph that was solved, undirected if the algorithm needs that; or a block that
            counts violations itself (``prove_tree`` …), on a GPU for example, and has the rows as ``whole``.
        columns: this rank's rows of the result, as in :class:`dgraph.result.result.Result`: ``vertex`` (original ids)
            and the algorithm's columns. A vertex's row may lie on any rank.
        comm: ranks of the run.
        parameters: the algorithm's parameters by name.
        rounds: rounds that were run.
        converged: False if a limit ended the run.
        threads: of this rank, where the work is done on CPUs; None: its share of the cores.
        matrix: this rank's rows of distances between all pairs, n · rank // ranks on; None: there are none.
        predecessors: rows of predecessors between all pairs, as those of ``matrix``; None: there are none.
        edges: ``source``, ``target`` (original ids) and ``values`` of edges on this rank; None: there are none.
        walks: as :class:`dgraph.result.walks.Walks`, of which ``here``, ``weights``, ``first`` and ``total`` are read;
            None: there are none.
    """
    began = time.perf_counter()
    check = certificate(algorithm)
    fixed = algorithm == "pagerank" and not (converged and parameters["tol"] > 0)
    counted = rounds if fixed or algorithm != "pagerank" else 0
    checked: list[str] = []
    passed: bool | None = True
    failure = None
    if not converged and not fixed:
        passed, failure = None, f"a limit ended {algorithm}, and what is unfinished has no proof"
    else:
        try:
            checked = _proved(
                check,
                algorithm,
                block,
                columns,
                comm,
                threads,
                (matrix, edges, predecessors, walks),
                (parameters, counted),
            )
        except ValidationFailed as wrong:
            passed, failure = False, str(wrong)
    return Verdict(passed, tuple(checked), failure, time.perf_counter() - began)


def _proved(
    check: Certificate, algorithm: str, block: Any, columns: Any, comm: Comm, threads: int | None, beside: tuple,
    arguments: tuple,
) -> list[str]:  # fmt: skip
    """Return the properties that a certificate proves: where the answer is if it can, else on the ranks' CPUs."""
    if check in PROVED and hasattr(block, "prove_tree"):
        distributed = DistributedColumns(block, comm, block)
        moved = distributed.moved(algorithm, columns)
        proved = None if moved is None else check(distributed, moved, *arguments)
        if proved is not None:
            return proved
    distributed = DistributedColumns(getattr(block, "whole", block), comm)
    distributed.prover = HostProver(distributed, threads)
    distributed.matrix, distributed.edges, distributed.predecessors, distributed.walks = beside
    return check(distributed, distributed.align(columns), *arguments) or []
