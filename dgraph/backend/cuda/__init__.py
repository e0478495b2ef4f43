"""The GPU backend: programs rendered to CUDA C++, one GPU a rank. CuPy is imported in ``device.py`` alone."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from dgraph.backend.cuda.components import Components
from dgraph.backend.cuda.graph import DeviceGraph
from dgraph.backend.cuda.machine import Machine
from dgraph.backend.cuda.options import Options
from dgraph.errors import UsageError
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced


class CudaBackend:
    """One of this node's GPUs for this rank.

    Args:
        place: this rank's number among the ranks of its node.
        ranks_here: how many they are.
        alone: whether there is no other rank on any node.
        device: what to run on; None: the GPU whose number is ``place``, in turn.

    Attributes:
        name: "cuda".
        threads: host threads of this rank: 1.
        reason: which GPU.
        why: why this backend.
    """

    name, threads = "cuda", 1
    why = ""

    def __init__(self, place: int, ranks_here: int, alone: bool, options: Options, device=None):
        self.alone, self.options, self.warning = alone, options, ""
        self.device = device or self._gpu(place, ranks_here)
        self.reason = f"{self.device.name}, {self.device.architecture}"
        self._graphs: dict[int, tuple[Callable, DeviceGraph]] = {}

    def _gpu(self, place: int, ranks_here: int):
        from dgraph.backend.cuda.device import CudaDevice, count

        found = count()
        if not found:
            raise UsageError(
                "backend cuda needs an NVIDIA GPU with its driver, and CuPy sees none here "
                "(CUDA_VISIBLE_DEVICES may hide it); use --backend cpu, or run where there is one"
            )
        if ranks_here > found:
            self.warning = f"{ranks_here} ranks share {found} GPU{'s' * (found > 1)}: they take turns"
        return CudaDevice(place % found)

    def machine(self, traced: Traced, local: LocalGraph, direction: str) -> Machine | Components:
        """A machine for one program on this rank's graph. ``direction``: auto, push, pull or flip."""
        self.device.use()
        if traced.program.kernel == "components" and direction == "auto" and self.alone and not local.directed:
            return Components(traced, self._graph(local), self.device)
        return Machine(traced, self._graph(local), self.device, direction, self.options)

    def _graph(self, local: LocalGraph) -> DeviceGraph:
        """The graph on the GPU, kept as long as it lives on the host."""
        key = id(local)
        known = self._graphs.get(key)
        if known is None or known[0]() is not local:
            forget = weakref.ref(local, lambda _: self._graphs.pop(key, None))
            known = self._graphs[key] = forget, DeviceGraph(local, self.device, self.options.renumber)
        return known[1]
