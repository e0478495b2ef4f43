"""The text of the kernels: it compiles for every architecture without a GPU, and the choice of a backend is said."""

import itertools
import os
import sys

import numpy as np
import pytest

import dgraph
from dgraph.algorithms.bfs import Levels, Parents
from dgraph.algorithms.cc import Labels
from dgraph.algorithms.kcore import Peel
from dgraph.algorithms.pagerank import PageRank, PersonalizedPageRank
from dgraph.algorithms.sssp import (
    Distances,
    LimitedDistances,
    NearerParents,
    Overflowed,
    PlateauHops,
    PlateauParents,
)
from dgraph.backend.cuda import components, nvrtc, text
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.errors import InternalError, UsageError
from dgraph.program import trace

pytestmark = pytest.mark.mpi_skip
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")
PROGRAMS = (
    Levels(), Parents(), Labels(), Peel(), PageRank(), PersonalizedPageRank(), Distances(), LimitedDistances(),
    NearerParents(), PlateauHops(), PlateauParents(), Overflowed(),
)  # fmt: skip
WEIGHTS = (np.int32, np.float64, np.float32, np.int64)


def texts():
    """Every kernel of every program: (what it is, text)."""
    for i, program in enumerate(PROGRAMS):
        traced = trace(program, np.dtype(WEIGHTS[i % 4]))
        name = type(program).__name__
        for fused, wide in ((True, False), (False, True)):
            variant = text.Variant(wide=wide, fused=fused)
            yield f"{name} phases", text.phases(traced, variant)
            if fused:
                yield f"{name} rounds", text.rounds(traced, variant)
            for schedule in SCHEDULES:
                yield f"{name} {schedule}", text.edges(traced, variant, schedule)
        for schedule in SCHEDULES:
            pulling = text.Variant(pulling=True, record=True, blocked=True)
            yield f"{name} {schedule} backwards", text.edges(traced, pulling, schedule)
    for wide in (False, True):
        yield "components", components.text(wide)


def pairs():
    """Each text for one architecture, so that each architecture meets every kernel and every program; for all of them
    where DGRAPH_TEST_ALL is set, which takes minutes."""
    if os.environ.get("DGRAPH_TEST_ALL"):
        return [(*one, architecture) for one, architecture in itertools.product(texts(), ARCHITECTURES)]
    return [(*one, ARCHITECTURES[(i + i // 20) % 4]) for i, one in enumerate(texts())][::2]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_compile(architecture):
    pytest.importorskip("cuda.bindings.nvrtc")
    for what, whole, target in pairs():
        if target == architecture:
            assert nvrtc.compiled(whole, architecture, what)


def test_an_error_names_what_did_not_compile():
    pytest.importorskip("cuda.bindings.nvrtc")
    with pytest.raises(InternalError, match=r"kernels of mine does not compile for sm_90: .*undefined"):
        nvrtc.compiled("__global__ void f() { undefined(); }", "sm_90", "kernels of mine")


def run(**choices):
    return dgraph.run("cc", dgraph.Graph.from_edges(np.array([0]), np.array([1]), n=2), **choices)


def test_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(UsageError, match=r"the GPU backend needs CuPy.*pip install 'dgraph\[cuda13\]'"):
        run(backend="cuda")


def test_options_of_the_gpu_without_one(monkeypatch):
    monkeypatch.setattr("dgraph.backend._has_gpu", lambda: False)
    with pytest.raises(UsageError, match=r"--schedule is about GPUs, and this run has none"):
        run(schedule="alb")
    assert {"what": "backend", "taken": "cpu"}.items() <= run().report["choices"][0].items()


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"schedule": "abl"}, "unknown schedule 'abl': did you mean 'alb'"),
        ({"alb_threshold": "many"}, "alb threshold 'many' is no degree"),
        ({"alb_distribution": "cycle"}, "unknown alb distribution"),
        ({"backend": "gpu"}, "unknown backend 'gpu'"),
    ],
)
def test_wrong_choices(choices, told):
    with pytest.raises(UsageError, match=told):
        run(**({"backend": "cuda"} | choices))
