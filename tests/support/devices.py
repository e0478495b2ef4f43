"""Devices for tests of the GPU backend: the emulated one, and a GPU under the marker ``gpu``."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from emulated import Device, needs_compiler

from dgraph.graph.local import Csr, LocalGraph


def on_devices(test=None, *, gpu: bool = True):
    """Parametrise a test by the device's name."""
    names = [pytest.param("emulated", marks=needs_compiler)]
    names += [pytest.param("gpu", marks=pytest.mark.gpu)] * gpu
    mark = pytest.mark.parametrize("device", names)
    return mark if test is None else mark(test)


def device_of(name: str, blocks: int = 2, mutant: tuple[str, str] | None = None):
    """Return a device by name.

    For the emulated one: its number of ``blocks``, and a ``mutant`` of its kernels' text.
    """
    device = _emulated(blocks, mutant) if name == "emulated" else _gpu()
    device.use()
    device.texts.clear()  # a test may have changed a constant that the text contains
    return device


@cache
def _emulated(blocks: int, mutant: tuple[str, str] | None):
    return Device(blocks, seed=blocks, mutant=mutant)


@cache
def _gpu():
    pytest.importorskip("cupy")
    from dgraph.backend.cuda.device.device import CudaDevice, count

    if not count():
        pytest.skip("there is no GPU")
    return CudaDevice(0)


def local_graph(n, src, dst, weights=None, directed=True) -> LocalGraph:
    """Return a graph of arcs on one rank; parallel arcs and loops are kept."""
    order = np.argsort(src, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=n))]).astype(np.int64)
    ids = np.arange(n, dtype=np.int64)
    rows = Csr(offsets, dst[order].astype(np.uint32), None if weights is None else weights[order])
    arcs = src.size
    return LocalGraph(
        n=n, m=arcs if directed else arcs // 2, arcs=arcs, masters=n, gids=ids, original=ids,
        out_degree=np.diff(offsets), out=rows, directed=directed,
    )  # fmt: skip
