"""Whole graph on one device, where that finishes an algorithm sooner than several with a part each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.graph.local import LocalGraph


@dataclass(frozen=True)
class OneDevice:
    """Graph of all ranks on the device of rank 0.

    Attributes:
        returned: function of a column's name, the column (where there is one; values by gid) and its dtype, which
            returns the part of it that this rank owns; collective.
        local, backend: the graph, and what computes on it; None on other ranks.
    """

    returned: Callable[[str, Any, np.dtype], Any]
    local: LocalGraph | None = None
    backend: Any = None
