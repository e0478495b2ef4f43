"""Smoke test, in seconds: every algorithm once in this process, on six vertices.

0 →(1) 1 →(2) 2 →(1) 0,  0 →(4) 2,  3 →(5) 4,  5 isolated
"""

import numpy as np
import pytest
from algorithm_cases import KNOWN
from flat_run import flat_run

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.cli import main

pytestmark = [pytest.mark.tiny, pytest.mark.mpi_skip]

SRC, DST, WEIGHTS = [0, 1, 0, 2, 3], [1, 2, 2, 0, 4], [1, 2, 4, 1, 5]
ANSWERS = {name: module.TINY for name, module in KNOWN.items()}


def graph(**options):
    return dgraph.Graph.from_edges(np.array(SRC), np.array(DST), np.array(WEIGHTS, np.int32), n=6, **options)


def test_every_algorithm_is_here():
    assert set(ANSWERS) == set(ALGORITHMS)


@pytest.mark.parametrize("algorithm", ANSWERS)
@pytest.mark.parametrize("direction", ["push", "pull"])
def test_answers(algorithm, direction):
    parameters, columns = ANSWERS[algorithm]
    result = flat_run(algorithm, graph(), direction=direction, **parameters)
    assert list(result.columns) == ["vertex", *columns]
    assert result.columns["vertex"].tolist() == list(range(6))
    for name, wanted in columns.items():
        np.testing.assert_allclose(
            result.columns[name], wanted, rtol=1e-15 if np.asarray(wanted).dtype.kind == "f" else 0
        )


@pytest.mark.exhaustive
def test_one_graph_takes_many_runs():
    once = graph(directed=False)
    assert dgraph.run("bfs", once, source=2).columns["distance"][:3].tolist() == [1, 1, 0]
    assert dgraph.run("sssp", once, source=2).columns["distance"][:3].tolist() == [1, 2, 0]
    assert dgraph.run("kcore", once, k=2).columns["in_core"].tolist() == [1, 1, 1, 0, 0, 0]


def test_command_line(capsys, tmp_path):
    assert main(["bfs", "path:6", "--source", "2", "--output", str(tmp_path / "levels.txt"), "--quiet"]) == 0
    lines = (tmp_path / "levels.txt").read_text().splitlines()
    assert lines == ["0 2", "1 1", "2 0", "3 1", "4 2", "5 3"]
    assert main(["bfs", "path:6", "--source", "9"]) == 2
    assert "source 9 is not a vertex" in capsys.readouterr().err
