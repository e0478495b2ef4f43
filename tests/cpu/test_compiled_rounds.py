"""Compiled rounds answer what interpreted ones answer; the default session interprets rounds everywhere else."""

import numpy as np
import pytest

import dgraph
from dgraph.comm import SerialComm

pytestmark = pytest.mark.starts_children

RUNS = {
    "pagerank": {"max_iter": 20, "tol": 0.0},
    "bfs": {"source": 1},
    "sssp": {"source": 1},
    "cc": {},
    "kcore": {},
    "color": {"variant": "jones-plassmann"},
    "scc": {},
    "hits": {"tol": 1e-6},
    "cdlp": {},
    "mis": {},
}


@pytest.mark.parametrize("algorithm", RUNS)
def test_answers_are_those_of_interpreted_rounds(algorithm, monkeypatch):
    answers = []
    for mode in ("never", "always"):
        monkeypatch.setenv("DGRAPH_COMPILE", mode)
        graph = dgraph.Graph.load("rmat:9,symmetric", weights="1..9", comm=SerialComm(), device=dgraph.Cpu(threads=1))
        answers.append(dgraph.run(algorithm, graph, **RUNS[algorithm]).gather())
    interpreted, compiled = answers
    assert interpreted.keys() == compiled.keys()
    for name, values in interpreted.items():
        np.testing.assert_allclose(compiled[name], values, rtol=1e-13 if values.dtype.kind == "f" else 0)


def test_buckets_relax_few_edges_twice_where_hubs_are(monkeypatch):
    monkeypatch.setenv("DGRAPH_COMPILE", "always")
    graph = dgraph.Graph.load("kron:12", weights="1..255", comm=SerialComm(), device=dgraph.Cpu(threads=1))
    result = dgraph.run("sssp", graph, source=int(graph.block.targets[0]), return_predecessors=False)
    assert result.report["rounds"]["frontier_edges"] < 1.2 * graph.block.arcs
