"""Cache of graphs on GPUs, between runs."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from dgraph.backend.cuda.device import pools
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.kept_machines import KeptMachines
from dgraph.graph.local import LocalGraph


class GraphCache(dict[int, tuple[Callable, DeviceGraph, KeptMachines]]):
    """Graphs on GPUs and their machines, by the ``id`` of the host graph.

    An entry lives as long as the host graph, and is evicted if another graph or program needs the memory.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last = 0
        pools.on_low_memory(self)

    @property
    def last(self) -> DeviceGraph | None:
        """The graph that was requested last, or None if it is not there."""
        return self.get(self._last, (None, None, None))[1]

    def leave(self, number: int, device: Any) -> None:
        """Evict the graphs on GPU ``number``, of the one that ``device`` works on the unused machines only."""
        for key, (_, graph, machines) in list(self.items()):
            if graph.device.number == number:
                machines.clear()
                if key != self._last or graph.device is not device:
                    self.pop(key, None)

    def keep(self, local: LocalGraph, graph: DeviceGraph) -> DeviceGraph:
        """Keep ``graph`` until ``local`` is gone; from now on it refers to ``local`` weakly."""
        key, own = id(local), weakref.ref(self)

        def forget(_: weakref.ref) -> None:
            kept = own()
            if kept is not None:
                kept.pop(key, None)

        graph.local = weakref.proxy(local)
        self[key] = weakref.ref(local, forget), graph, KeptMachines()
        self._last = key
        return graph

    def of(self, local: LocalGraph) -> DeviceGraph | None:
        """Return the graph kept for ``local`` or None, and mark it as the one in use."""
        there, graph, _ = self.get(id(local), (None, None, None))
        self._last = id(local)
        return graph if there is not None and there() is local else None

    def machines(self, local: LocalGraph) -> KeptMachines:
        """Return the machines kept for ``local``; new ones, which nothing keeps, if it is not on the GPU."""
        entry = self.get(id(local)) if self.of(local) is not None else None
        return KeptMachines() if entry is None else entry[2]
