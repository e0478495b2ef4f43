"""Runs on ranks that share GPUs, one closely after the other: their transfers must not overtake each other."""

import sys
from pathlib import Path

import pytest
import repeated_runs
from children import Children

pytestmark = [pytest.mark.mpi_skip, pytest.mark.starts_children]


@pytest.mark.parametrize(
    "backend", [pytest.param("cpu", marks=pytest.mark.exhaustive), pytest.param("cuda", marks=pytest.mark.gpu)]
)
def test_runs_that_follow_each_other_are_right(backend, tmp_path):
    if backend == "cuda":
        pytest.importorskip("cupy")
    ranks = Children([sys.executable, Path(repeated_runs.__file__), "--backend", backend], tmp_path, 3).wait(180)
    output = (tmp_path / "rank-0.log").read_text()
    assert ranks.code == 0, output
    assert "60 runs on 3 ranks: 0 wrong" in output
