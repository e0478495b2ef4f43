"""Register of certificates, by the algorithms whose answers they check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dgraph.validate.distributed_columns import DistributedColumns

Columns = Mapping[str, np.ndarray]
"""Columns of an answer by name, of this rank's rows."""

Parameters = Mapping[str, Any]
"""Parameters of the run by name, defaults included."""

Certificate = Callable[[DistributedColumns, Columns, Parameters, int], list[str] | None]

CERTIFICATES: dict[str, Certificate] = {}
"""Algorithm → certificate. A certificate returns the list of properties it has checked, or raises ValidationFailed."""

PROVED: set[Certificate] = set()
"""Certificates that leave the work to a prover, so that they can run where the answer is."""


def certifies(algorithm: str, proved: bool = False) -> Callable[[Certificate], Certificate]:
    """Return a decorator that registers the certificate of an algorithm.

    Args:
        algorithm: its name.
        proved: the certificate leaves the work to a prover.
    """

    def register(check: Certificate) -> Certificate:
        CERTIFICATES[algorithm] = check
        if proved:
            PROVED.add(check)
        return check

    return register
