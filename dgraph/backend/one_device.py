"""Whole graph on the device of rank 0, where one device finishes an algorithm sooner than several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.graph.local import LocalGraph


@dataclass(frozen=True)
class OneDevice:
    """Graph of all ranks on one device.

    Attributes:
        returned: function of a column's name, the column (on rank 0; values by gid) and its dtype, which returns the
            part of it that this rank owns; collective.
        local, backend: the graph, and what computes on it alone; None on other ranks.
    """

    returned: Callable[[str, Any, np.dtype], Any]
    local: LocalGraph | None = None
    backend: Any = None
