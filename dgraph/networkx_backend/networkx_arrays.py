"""Arrays of what NetworkX keeps in dicts: neighbours and attributes of edges."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from operator import methodcaller
from typing import Any

import networkx as nx
import numpy as np

EXACT = 2.0**53
"""From this size on a float64 cannot hold every integer."""


BEYOND = "an edge attribute is an integer beyond 63 bits, which the engine's arrays cannot hold"


def are_positions(nodes: list) -> bool:
    """Return True if the nodes are 0, 1, 2, … in this order, so that a node is its position."""
    return all(type(node) is int for node in nodes) and nodes == list(range(len(nodes)))


def adjacency_of(graph: nx.Graph) -> Mapping:
    """Return node → neighbour → attributes, or key → attributes; a copy of a view, whose lengths may be wrong.

    Raises:
        NotImplementedError: the graph's class has neighbours of its own making.
    """
    base = nx.DiGraph if graph.is_directed() else nx.Graph
    if any(getattr(type(graph), name) is not getattr(base, name) for name in ("adjacency", "neighbors")):
        raise NotImplementedError(f"{type(graph).__name__} computes its neighbours, which are not converted")
    if isinstance(graph._adj, dict):
        return graph._adj
    if graph.is_multigraph():
        return {u: {v: dict(keys.items()) for v, keys in row.items()} for u, row in graph._adj.items()}
    return {u: dict(row.items()) for u, row in graph._adj.items()}


def attribute_of(adjacency: Mapping, multigraph: bool, attribute: str, default: Any) -> list:
    """Return an edge attribute arc by arc."""
    rows = chain.from_iterable(map(methodcaller("values"), adjacency.values()))
    if multigraph:
        rows = chain.from_iterable(map(methodcaller("values"), rows))
    return [attributes.get(attribute, default) for attributes in rows]


def numbers_of(values: list) -> np.ndarray:
    """Return numbers as int64 or float64.

    Raises:
        NotImplementedError: other objects, or integers that the array would round.
    """
    try:
        array = np.array(values) if values else np.ones(0, np.int64)
    except (ValueError, OverflowError) as wrong:
        raise NotImplementedError(f"edge attributes that are not numbers: {wrong}") from wrong
    if array.ndim != 1 or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        if all(isinstance(value, (int, float)) for value in values):
            raise NotImplementedError(BEYOND)
        raise NotImplementedError("edge attributes that are not integers or floats")
    if array.dtype.kind in "bi":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "u" and array.max() >= 2**63:
        raise NotImplementedError(BEYOND)
    large = array.dtype.kind == "f" and (np.isfinite(array) & (np.abs(array) >= EXACT)).any()
    if large and any(isinstance(value, int) for value in values):
        raise NotImplementedError("integers above 2^53 beside floats would be rounded")
    return array.astype(np.int64 if array.dtype.kind == "u" else np.float64, copy=False)
