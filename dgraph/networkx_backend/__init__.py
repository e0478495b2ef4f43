"""NetworkX backend ``dgraph``: ``nx.pagerank(G, backend="dgraph")`` runs on dgraph's engine.

NetworkX finds ``dispatch.backend`` and ``backend_info.get_info`` by the entry points of ``pyproject.toml``. Each file
answers one family of NetworkX functions; ``engine_runs.py`` is the only one that starts an algorithm.
"""

from collections import Counter

__all__ = ["calls"]

calls: Counter[str] = Counter()
"""Runs of the engine since the import, by algorithm."""
