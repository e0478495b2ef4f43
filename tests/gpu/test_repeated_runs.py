"""Runs on ranks that share GPUs, one closely after the other: their transfers must not overtake each other."""

import sys
from pathlib import Path

import numpy as np
import pytest
import rank_checks
from children import Children

pytestmark = [pytest.mark.mpi_skip, pytest.mark.starts_children]
ASKED = "--allow-gpu-sharing --times 10 --policies cvc,oec --algorithms mst,triangles,mis"


@pytest.mark.parametrize(
    "backend", [pytest.param("cpu", marks=pytest.mark.exhaustive), pytest.param("cuda", marks=pytest.mark.gpu)]
)
def test_runs_that_follow_each_other_are_right(backend, tmp_path):
    if backend == "cuda":
        pytest.importorskip("cupy")
    edges = np.random.default_rng(2).integers(0, 450, (8000, 2)) ** 2 // 450
    np.savetxt(tmp_path / "hubs.txt", edges, fmt="%d")
    asked = f"{ASKED} --backend {backend} --data {tmp_path} --done {tmp_path / 'done'}"
    checks = [sys.executable, Path(rank_checks.__file__), *asked.split()]
    ranks = Children(checks, tmp_path / "ranks", 3).wait(180)
    output = (ranks.folder / "rank-0.log").read_text()
    assert ranks.code == 0, output
    assert "6 runs on 3 ranks: 0 wrong" in output
