"""Validation of results: arrays and a communicator in, a :class:`Verdict` out.

Certificates share no code with what they check: no programs, rounds, synchronisation or backends. They do not use the
partition either, because they read the graph as it was loaded. ``docs/internals/validation.md``
lists what each one proves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import UsageError, ValidationFailed
from dgraph.graph.block import EdgeBlock
from dgraph.validate.coloring import color
from dgraph.validate.components import cc
from dgraph.validate.cores import kcore
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.pagerank import pagerank
from dgraph.validate.regenerated import REGENERATED
from dgraph.validate.tree import bfs, sssp

__all__ = ["CERTIFICATES", "Verdict", "certificate", "validate"]

Certificate = Callable[[DistributedColumns, Mapping[str, np.ndarray], Mapping[str, Any], int], list[str]]

CERTIFICATES: dict[str, Certificate] = {
    "bfs": bfs, "cc": cc, "color": color, "kcore": kcore, "pagerank": pagerank, "sssp": sssp,
}  # fmt: skip
"""Algorithm → certificate. A certificate returns the list of properties it has checked, or raises ValidationFailed."""


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
) -> Verdict:
    """Check a result against the graph; collective.

    Args:
        algorithm: its name.
        block: this rank's rows of the graph that was solved, undirected if the algorithm needs that; or a block that
            generates its edges again (``prove_tree``) and has the rows as ``whole``.
        columns: this rank's rows of the result, as in :class:`dgraph.result.result.Result`: ``vertex`` (original ids)
            and the algorithm's columns. A vertex's row may lie on any rank.
        comm: ranks of the run.
        parameters: the algorithm's parameters by name.
        rounds: rounds that were run.
        converged: False if a limit ended the run.
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
            checked = _by_regeneration(algorithm, block, columns, comm, parameters)
            if not checked:
                distributed = DistributedColumns(getattr(block, "whole", block), comm)
                checked = check(distributed, distributed.align(columns), parameters, counted)
        except ValidationFailed as wrong:
            passed, failure = False, str(wrong)
    return Verdict(passed, tuple(checked), failure, time.perf_counter() - began)


def _by_regeneration(
    algorithm: str, block: Any, columns: Mapping[str, np.ndarray], comm: Comm, parameters
) -> list[str]:
    """Return the properties proved on edges that are generated again; empty if the rows are loaded, or needed."""
    if not hasattr(block, "prove_tree") or algorithm not in REGENERATED:
        return []
    distributed = DistributedColumns(block, comm)
    return REGENERATED[algorithm](distributed, distributed.align(columns), parameters) or []
