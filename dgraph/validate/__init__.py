"""Validation: is an answer right? Arrays and a communicator in, a verdict out.

Certificates share no code with what they check: neither programs, rounds, sync nor backends, and not the partition
either, for they read the graph as it was loaded. ``docs/validation.md`` says what each of them proves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import ValidationFailed, unknown
from dgraph.graph.block import EdgeBlock
from dgraph.validate.coloring import color
from dgraph.validate.components import cc
from dgraph.validate.cores import kcore
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.pagerank import pagerank
from dgraph.validate.regenerated import DRAWN
from dgraph.validate.tree import bfs, sssp

__all__ = ["CERTIFICATES", "Verdict", "certificate", "validate"]

Certificate = Callable[[DistributedColumns, Mapping[str, np.ndarray], Mapping[str, Any], int], list[str]]

CERTIFICATES: dict[str, Certificate] = {
    "bfs": bfs, "cc": cc, "color": color, "kcore": kcore, "pagerank": pagerank, "sssp": sssp,
}  # fmt: skip
"""By the name of the algorithm: what returns the list of what it has checked, or raises ValidationFailed."""


@dataclass(frozen=True)
class Verdict:
    """What validation found; equal on all ranks but for the seconds.

    Attributes:
        passed: None where nothing could be checked.
        checked: what has been proved.
        failure: where the answer is wrong, or why nothing could be checked.
        seconds: that it took this rank.
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
        """As the report has it."""
        return asdict(self)


def certificate(algorithm: str) -> Certificate:
    """The certificate of an algorithm.

    Raises:
        UsageError: there is none, as for a program of the user's own.
    """
    if algorithm not in CERTIFICATES:
        raise unknown("certificate, for the algorithm", algorithm, CERTIFICATES)
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
    """Check an answer against the graph; collective.

    Args:
        algorithm: its name.
        block: this rank's rows of the graph that was solved, an undirected one where the algorithm needs that; or what
            draws its edges again (``prove_tree``), and has the rows as ``whole``.
        columns: this rank's rows of the result, as :class:`dgraph.result.result.Result` has them: ``vertex``, original
            ids, and the others. They may lie on any rank.
        parameters: the algorithm's, by name.
        rounds: that were run.
        converged: False if a limit ended the run.
    """
    began = time.perf_counter()
    check = certificate(algorithm)
    fixed = algorithm == "pagerank" and not (converged and parameters["tol"] > 0)
    checked: list[str] = []
    passed: bool | None = True
    failure = None
    if not converged and not fixed:
        passed, failure = None, f"a limit ended {algorithm}, and what is unfinished has no proof"
    else:
        try:
            checked = _by_generation(algorithm, block, columns, comm, parameters)
            if not checked:
                ground = DistributedColumns(getattr(block, "whole", block), comm)
                checked = check(ground, ground.lay(columns), parameters, rounds if fixed else 0)
        except ValidationFailed as wrong:
            passed, failure = False, str(wrong)
    return Verdict(passed, tuple(checked), failure, time.perf_counter() - began)


def _by_generation(algorithm: str, block: Any, columns: Mapping[str, np.ndarray], comm: Comm, parameters) -> list[str]:
    """What can be proved of edges that are drawn again; nothing where rows are at hand, or needed."""
    if not hasattr(block, "prove_tree") or algorithm not in DRAWN:
        return []
    ground = DistributedColumns(block, comm)
    return DRAWN[algorithm](ground, ground.lay(columns), parameters) or []
