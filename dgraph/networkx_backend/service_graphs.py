"""Graphs of NetworkX at a service: sent once, by the hash of their arcs, and found there by every later process."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b

import networkx as nx
import numpy as np

from dgraph._support.extras import extra
from dgraph.errors import UsageError
from dgraph.service.client.connection import Service, connect
from dgraph.service.client.remote_graph import RemoteGraph

IDLE_S = 3600.0
"""Seconds without use after which a service deletes a graph of NetworkX; the next call sends it again."""


@lru_cache(maxsize=8)
def _service(address: str) -> Service:
    return connect(address)


def service_graph(
    offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, *, directed: bool
) -> RemoteGraph | None:
    """Return the service's graph of these rows, sent there if it is new; None without a service, or for loops.

    ``nx.config.backends.dgraph.service`` is the service's address. A service drops loops, which some answers need.
    """
    address = nx.config.backends.dgraph.service
    if not address or not len(targets):
        return None
    n = len(offsets) - 1
    sources = np.repeat(np.arange(n), np.diff(offsets))
    if np.any(sources == targets):
        return None
    kept = np.ones(len(targets), bool) if directed else sources < targets
    name = f"networkx-{_hashed(offsets, targets, weights, directed)}"
    service = _service(address)
    with suppress(UsageError):
        stored = service.graph(name)
        if stored.state != "failed":
            return stored
    alone = np.setdiff1d(np.arange(n), np.concatenate([sources, targets]))  # their loops are dropped, not they
    columns = {"source": np.concatenate([sources[kept], alone]), "target": np.concatenate([targets[kept], alone])}
    table = {end: values.astype(np.int64) for end, values in columns.items()}
    if weights is not None:
        table["weight"] = np.concatenate([weights[kept], np.ones(alone.size, weights.dtype)])
    rows = extra("pyarrow", "a graph that a service receives").table(table)
    return service.put(name, rows, idle_s=IDLE_S, directed=directed)


def is_gone(graph: object) -> bool:
    """Return True if a graph is a service's and the service does not have it any more; asking for it is a use."""
    if not isinstance(graph, RemoteGraph):
        return False
    try:
        return graph.refresh().state == "failed"
    except UsageError:
        return True


def _hashed(offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, directed: bool) -> str:
    digest = blake2b(b"directed" if directed else b"", digest_size=16)
    for values in (offsets, targets, weights):
        if values is not None:
            digest.update(f"{values.dtype} {values.size}".encode() + np.ascontiguousarray(values).data)
    return digest.hexdigest()
