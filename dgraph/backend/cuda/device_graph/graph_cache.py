"""Which graphs lie on a GPU, and for how long."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from dgraph.backend.cuda.device import pools
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.graph.local import LocalGraph


class GraphCache(dict[int, tuple[Callable, DeviceGraph]]):
    """Graphs on a GPU by the ``id`` of those on the host: each is there no longer than the one on the host, and leaves
    where others lack room."""

    def __init__(self) -> None:
        super().__init__()
        self._last = 0
        pools.when_short(self.leave)

    @property
    def last(self) -> DeviceGraph | None:
        """The one that was asked for last, if it is there."""
        return self.get(self._last, (None, None))[1]

    def leave(self, number: int, device: Any) -> None:
        """Let go of those on a GPU, but for the one that a device works on."""
        for key, (_, graph) in list(self.items()):
            if graph.device.number == number and (key != self._last or graph.device is not device):
                self.pop(key, None)

    def keep(self, local: LocalGraph, graph: DeviceGraph) -> DeviceGraph:
        """Until ``local`` is gone, which ``graph`` does not keep from now on."""
        key, own = id(local), weakref.ref(self)

        def forget(_: weakref.ref) -> None:
            kept = own()
            if kept is not None:
                kept.pop(key, None)

        graph.local = weakref.proxy(local)
        self[key] = weakref.ref(local, forget), graph
        self._last = key
        return graph

    def of(self, local: LocalGraph) -> DeviceGraph | None:
        """The one that is kept for ``local``, which is worked on from now on."""
        there, graph = self.get(id(local), (None, None))
        self._last = id(local)
        return graph if there is not None and there() is local else None
