"""Machine code loaded on a GPU: its kernels, its constant ``env``, and launches."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block as control

MOST_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""


def sizes(kernel: str) -> tuple[int, int]:
    """Return (threads of a block, bytes of dynamic shared memory) of a kernel."""
    if kernel == "pull_hubs":
        return control.HUB_BLOCK, control.HUB_BYTES
    if kernel == "join_windows":
        return control.WINDOW_BLOCK, control.WINDOW_BYTES
    if kernel == "pull_tiles":
        return control.TILE_BLOCK, control.TILE_BYTES
    if kernel in ("count_tiles", "fill_tiles", "bound_tiles"):
        return control.TILE_BLOCK, 4 * control.TILES_AT_ONCE
    if kernel in ("pull_middle", "pull_long"):
        return control.BLOCK, control.MIDDLE_BYTES if kernel == "pull_middle" else control.TABLE_BYTES
    return control.BLOCK, 0


class Environment:
    """Part of a module that knows the words in its constant ``env``, so that equal words are not copied again.

    Attributes:
        optimised: False if its code was compiled quickly, see ``machine_code.py``.
    """

    optimised = True
    _words = b""

    def set_environment(self, words: np.ndarray) -> None:
        """Make these the words of ``env``, in stream order."""
        wanted = words.tobytes()
        if wanted != self._words:
            self._upload(words)
            self._words = wanted

    def _upload(self, words: np.ndarray) -> None:
        """Copy ``env`` to the GPU, in stream order."""
        raise NotImplementedError


class Module(Environment):
    """One loaded module, of one code or of several, each with some of its kernels and an ``env`` of its own.

    Attributes:
        owner: token of the machine whose values ``env`` holds.
    """

    def __init__(self, xp, codes: Sequence[bytes], optimised: bool = True):
        self.xp, self.optimised = xp, optimised
        self._parts = [(xp.cuda.function.Module(), code) for code in codes]
        for part, code in self._parts:
            part.load(code)
        self._kernels: dict[str, tuple[Any, int, int]] = {}
        self._argument = ctypes.c_int64()
        self._parameters = ctypes.c_void_p(ctypes.addressof(self._argument))
        self._addresses = ctypes.addressof(self._parameters)
        self._resident: dict[str, int] = {}
        self._environments = [part.get_global_var("env") for part, _ in self._parts]
        self.owner: object = None

    def _upload(self, words: np.ndarray) -> None:
        runtime = self.xp.cuda.runtime
        stream = self.xp.cuda.get_current_stream().ptr
        for environment in self._environments:
            address = getattr(environment, "ptr", environment)
            runtime.memcpyAsync(int(address), words.ctypes.data, words.nbytes, runtime.memcpyHostToDevice, stream)

    def resident(self, kernel: str) -> int:
        """Return how many blocks of a kernel a multiprocessor holds at once."""
        if kernel not in self._resident:
            function, *size = self._kernel(kernel)
            driver = self.xp.cuda.driver
            self._resident[kernel] = int(driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, *size))
        return self._resident[kernel]

    def _kernel(self, name: str) -> tuple[Any, int, int]:
        """Return a kernel, the threads of its blocks, and their bytes of dynamic shared memory."""
        if name not in self._kernels:
            function = self._function(name)
            threads, shared = sizes(name)
            if shared:
                self.xp.cuda.driver.funcSetAttribute(function.ptr, MOST_SHARED, shared)
            self._kernels[name] = function, threads, shared
        return self._kernels[name]

    def _function(self, name: str) -> Any:
        section = b".text.%b\0" % name.encode()  # asking a part that lacks it is an error to compute-sanitizer
        part = next((part for part, code in self._parts if section in code), self._parts[-1][0])
        return part.get_function(name)

    def launch(self, kernel: str, blocks: int, argument: int = 0, cooperative: bool = False) -> None:
        """Start a kernel with one int64 argument.

        Args:
            kernel: name of the kernel.
            blocks: size of the grid.
            argument: value of its argument.
            cooperative: make all blocks resident at once, so that they may pass grid barriers.
        """
        function, threads, shared = self._kernels.get(kernel) or self._kernel(kernel)
        self._argument.value = argument  # CUDA copies it at the launch
        cuda = self.xp.cuda
        grid = function.ptr, blocks, 1, 1, threads, 1, 1, shared, cuda.get_current_stream().ptr
        if cooperative:
            cuda.driver.launchCooperativeKernel(*grid, self._addresses)
        else:
            cuda.driver.launchKernel(*grid, self._addresses, 0)
