"""Settings of the NetworkX backend, ``nx.config.backends.dgraph``."""

from __future__ import annotations

from typing import Any

from networkx.utils.configs import Config


class BackendConfig(Config):
    """Settings; :meth:`dgraph.Graph.load` has the devices.

    Attributes:
        device: where algorithms run; one that does not exist is refused when it is set.
        min_edges: edges below which NetworkX answers, where it may choose the backend.
        service: address of a service that runs the algorithms; empty: this process does.
    """

    device: Any = "auto"
    min_edges: int = 10_000
    service: str = ""

    def _on_setattr(self, key: str, value: Any) -> Any:
        if key == "device" and not (isinstance(value, str) and value == "auto"):
            from dgraph.graph.devices import described

            described(value)
        return value
