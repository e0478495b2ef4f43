"""Machine code on a GPU: its kernels, the words that they all read, launches."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.layout import BLOCK, HUB_BLOCK, HUB_BYTES, TILE_BLOCK, TILE_BYTES, TILES_AT_ONCE

MOST_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""

SIZES = {
    "pull_hubs": (HUB_BLOCK, HUB_BYTES),
    "pull_tiles": (TILE_BLOCK, TILE_BYTES),
    **dict.fromkeys(("count_tiles", "fill_tiles", "bound_tiles"), (TILE_BLOCK, 4 * TILES_AT_ONCE)),
}
"""Kernel → threads of a block, and bytes that they share, where these are not BLOCK and what its text declares."""


class Module:
    """One loaded module.

    Attributes:
        owner: whose words ``env`` holds.
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
        """Fill ``env``, in the order of the stream."""
        runtime = self.xp.cuda.runtime
        stream = self.xp.cuda.get_current_stream().ptr
        address = getattr(self._environment, "ptr", self._environment)
        runtime.memcpyAsync(int(address), words.ctypes.data, words.nbytes, runtime.memcpyHostToDevice, stream)

    def resident(self, kernel: str) -> int:
        """Blocks of a kernel that a multiprocessor holds at once."""
        if kernel not in self._resident:
            found = self._kernel(kernel)
            driver = self.xp.cuda.driver
            sizes = SIZES.get(kernel, (BLOCK, 0))
            self._resident[kernel] = int(driver.occupancyMaxActiveBlocksPerMultiprocessor(found.ptr, *sizes))
        return self._resident[kernel]

    def _kernel(self, name: str):
        if name not in self._kernels:
            self._kernels[name] = found = self._module.get_function(name)
            if name in SIZES:
                self.xp.cuda.driver.funcSetAttribute(found.ptr, MOST_SHARED, SIZES[name][1])
        return self._kernels[name]

    def launch(self, kernel: str, blocks: int, argument: int = 0, cooperative: bool = False) -> None:
        """Start a kernel. ``cooperative``: all blocks run at once, so that they may wait for each other."""
        arguments, (threads, shared) = (np.int64(argument),), SIZES.get(kernel, (BLOCK, 0))
        self._kernel(kernel)((blocks,), (threads,), arguments, shared, enable_cooperative_groups=cooperative)
