"""Machine code loaded on a GPU: its kernels, its constant ``env``, and launches."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block as at

MOST_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""


def sizes(kernel: str) -> tuple[int, int]:
    """Return (threads of a block, bytes of dynamic shared memory) of a kernel."""
    if kernel == "pull_hubs":
        return at.HUB_BLOCK, at.HUB_BYTES
    if kernel == "pull_tiles":
        return at.TILE_BLOCK, at.TILE_BYTES
    if kernel in ("count_tiles", "fill_tiles", "bound_tiles"):
        return at.TILE_BLOCK, 4 * at.TILES_AT_ONCE
    return at.BLOCK, 0


class Module:
    """One loaded module.

    Attributes:
        owner: token of the machine whose values ``env`` holds.
    """

    def __init__(self, xp, code: bytes):
        self.xp = xp
        self._module = xp.cuda.function.Module()
        self._module.load(code)
        self._kernels: dict[str, Any] = {}
        self._resident: dict[str, int] = {}
        self._environment = self._module.get_global_var("env")
        self.owner: object = None

    def set_environment(self, words: np.ndarray) -> None:
        """Copy ``env`` to the GPU, in stream order."""
        runtime = self.xp.cuda.runtime
        stream = self.xp.cuda.get_current_stream().ptr
        address = getattr(self._environment, "ptr", self._environment)
        runtime.memcpyAsync(int(address), words.ctypes.data, words.nbytes, runtime.memcpyHostToDevice, stream)

    def resident(self, kernel: str) -> int:
        """Return how many blocks of a kernel a multiprocessor holds at once."""
        if kernel not in self._resident:
            found = self._kernel(kernel)
            driver = self.xp.cuda.driver
            self._resident[kernel] = int(driver.occupancyMaxActiveBlocksPerMultiprocessor(found.ptr, *sizes(kernel)))
        return self._resident[kernel]

    def _kernel(self, name: str):
        if name not in self._kernels:
            self._kernels[name] = found = self._module.get_function(name)
            _, shared = sizes(name)
            if shared:
                self.xp.cuda.driver.funcSetAttribute(found.ptr, MOST_SHARED, shared)
        return self._kernels[name]

    def launch(self, kernel: str, blocks: int, argument: int = 0, cooperative: bool = False) -> None:
        """Start a kernel with one int64 argument.

        Args:
            kernel: name of the kernel.
            blocks: size of the grid.
            argument: value of its argument.
            cooperative: make all blocks resident at once, so that they may pass grid barriers.
        """
        arguments, (threads, shared) = (np.int64(argument),), sizes(kernel)
        self._kernel(kernel)((blocks,), (threads,), arguments, shared, enable_cooperative_groups=cooperative)
