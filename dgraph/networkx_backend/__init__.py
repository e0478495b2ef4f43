"""NetworkX backend ``dgraph``: ``nx.pagerank(G, backend="dgraph")`` runs on dgraph's engine.

NetworkX finds ``dispatch.backend`` and ``backend_info.get_info`` by the entry points of ``pyproject.toml``. Each file
answers one family of NetworkX functions; ``engine_runs.py`` is the only one that starts an algorithm, and
``scipy_calls.py`` the only one that calls SciPy.
"""

from collections import Counter
from typing import Any

__all__ = ["calls", "from_networkx"]

calls: Counter[str] = Counter()
"""Runs of the engine since the import, by algorithm; calls of SciPy and searches by one thread count, too."""


def __getattr__(name: str) -> Any:
    """Import the conversion at first use: NetworkX imports this package when it is imported itself."""
    if name != "from_networkx":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dgraph.networkx_backend.converted_graph import from_networkx

    return from_networkx
