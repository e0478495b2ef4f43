"""Whole graph on the device of every rank, where that finishes an algorithm faster than a part on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dgraph.graph.local import LocalGraph
from dgraph.result.columns import Column, FieldColumn


@dataclass(frozen=True)
class GraphReplica:
    """Graph of all ranks on this rank's device.

    Attributes:
        local: the graph.
        backend: what computes on it, for a single rank.
        mine: function of a column's name and the column, by gid, which returns the values of this rank's vertices.
    """

    local: LocalGraph
    backend: Any
    mine: Callable[[str, Column], FieldColumn]
