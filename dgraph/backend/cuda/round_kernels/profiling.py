"""Record of a machine's launches: edges by thread, seconds by kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.round_stats import Spent

SHARED = ("round_kernels", "persistent_rounds", "multi_gpu_rounds")
"""Modules that serve every schedule."""

MOST_OPEN = 1024
"""Launches whose events are kept before they are read."""


class LaunchRecord:
    """Launches kernels of a machine and records them.

    Args:
        device: the GPU.
        options: options of the run.
        edges: int64 array in which kernels count edges by thread, block after block; counts only grow.
    """

    def __init__(self, device: Any, options: GpuPlan, edges: Any):
        self.device, self.timed, self.counts = device, options.timed, options.record
        self._strict = options.schedule not in ("auto", "persistent")
        self._edges = edges
        self._before = np.zeros(edges.size if self.counts else 0, np.int64)
        self._round: dict[str, np.ndarray] = {}
        self._open: list[tuple[str, str, Any, Any]] = []
        self._spent: dict[tuple[str, str], tuple[int, float]] = {}

    def launch(self, compiled: Any, module: str, kernel: str, blocks: int, argument: int, cooperative: bool) -> None:
        """Start kernel ``kernel`` of the module ``compiled``, called ``module``."""
        before = self.device.mark() if self.timed else None
        compiled.launch(kernel, blocks, argument, cooperative)
        if self.timed:
            self._open.append((module.partition(":")[0], kernel, before, self.device.mark()))
            if len(self._open) >= MOST_OPEN:
                self._read_events()
        if self.counts:
            self._count(kernel, blocks)

    def _count(self, kernel: str, blocks: int) -> None:
        threads = self.device.threads
        now = self.device.get(self._edges[: blocks * threads])
        before = self._before[: now.size]
        if np.array_equal(now, before):
            return
        new = (now - before).reshape(blocks, threads)
        before[:] = now
        self._round[kernel] = self._round[kernel] + new if kernel in self._round else new

    def round(self) -> dict[str, np.ndarray]:
        """Return kernel → edges by thread since the last call, int64 (blocks, threads)."""
        taken, self._round = self._round, {}
        return taken

    def spent(self) -> list[Spent]:
        """Return seconds by kernel since the machine was made; waits for the GPU."""
        self._read_events()
        return [
            Spent("" if module in SHARED else module, kernel, self._walks(module, kernel), launches, seconds)
            for (module, kernel), (launches, seconds) in self._spent.items()
        ]

    def _read_events(self) -> None:
        """Add the seconds of all launches whose events are kept; waits for them."""
        if self._open:
            self.device.wait()
        for module, kernel, before, after in self._open:
            launches, seconds = self._spent.get((module, kernel), (0, 0.0))
            self._spent[module, kernel] = launches + 1, seconds + self.device.between(before, after)
        self._open.clear()

    def _walks(self, module: str, kernel: str) -> bool:
        """Return True if a kernel visits edges; under a schedule that was asked for, ``rounds`` only ends rounds."""
        if module in ("persistent_rounds", "multi_gpu_rounds"):
            return not self._strict
        return kernel.startswith(("edges", "pull"))
