"""Base of machines of one round on one GPU, whose hand-written kernels finish a program."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.one_round import OneRound
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.snapshot import Snapshot
from dgraph.program import Traced


def single_text(names: tuple[str, ...], wide: bool, degrees: str, ids: str, constants: str = "") -> str:
    """Return the text of the kernels in .cuh files.

    Args:
        names: of the files, in their order in the text.
        wide: offsets are 64-bit.
        degrees: dtype of the array of degrees.
        ids: dtype of the array of original ids.
        constants: definitions that the files need.
    """
    types = (
        f"typedef {'i64' if wide else 'u32'} offset_t;\n"
        f"typedef {TYPES[degrees]} degree_t;\n"
        f"typedef {TYPES[ids]} original_t;\n"
        f"{constants}"
    )
    return own_text(types, *names)


class SingleMachine(OneRound):
    """Machine for a program on one rank; it serves run after run.

    Attributes:
        state: fields → empty arrays, since nothing is exchanged.
        module: the kernels.
        column: values of the program's field by position, of ``dtype``; the result of the run owns them.
        bytes: bytes of GPU memory that it holds between runs.
    """

    compiled, loaded, renewable = True, True, True
    dtype: type
    bytes = 0

    def __init__(self, traced: Traced, graph: DeviceGraph, device: Any, options: GpuPlan):
        self.graph, self.device = graph, device
        self.active, self.edges = graph.local.masters, graph.edges
        self.state = {field: np.empty(0, np.int64) for field in traced.fields}
        self._text = self.kernels()
        self.renew(traced)

    @abstractmethod
    def kernels(self) -> tuple[str, str]:
        """Return the text and the name of the kernels."""

    def renew(self, traced: Traced) -> None:
        """Prepare for a run; kernels that were optimised since the last one are loaded."""
        self.traced, self.round, self.done = traced, 0, False
        self.module = self.device.module(*self._text)

    def rest(self) -> None:
        """Let go of the column, which the result owns."""
        self.column = None

    def compile(self) -> None:
        """Do nothing: the kernels, which do not depend on the program, are loaded."""

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the fields, by position."""

    def fused(self, limit: int) -> int:
        """Run the one round, and wait for the GPU."""
        ran = super().fused(limit)
        self.device.wait()
        return ran

    def set_environment(self, *values: Any) -> None:
        """Pass arrays, None for a null pointer, and numbers to the kernels."""
        self.module.set_environment(words_of(self.device, values))

    def launch(self, kernel: str, together: bool = False) -> None:
        """Launch a kernel with as many blocks as fit the GPU; ``together``: all must be resident at once."""
        self.module.launch(kernel, self.device.blocks * self.module.resident(kernel), 0, together)

    def fields(self) -> LazyFields:
        """Return the fields, on the GPU."""
        graph, size = self.graph, self.graph.local.size
        views = {name: FieldView(self.device, values[:size], graph.place) for name, values in self.arrays().items()}
        return LazyFields(self.device, views, graph.degree, graph.original)

    def start(self, fields: Mapping[str, np.ndarray]) -> None:
        """Allocate the column; there are no given fields."""
        self.column = self.device.xp.empty((max(self.graph.local.size, 1) + 3) // 4 * 4, self.dtype)

    def restore(self, kept: Snapshot) -> None:
        """Do nothing: the one round is repeated."""
