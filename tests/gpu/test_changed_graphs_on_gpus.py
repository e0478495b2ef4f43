"""Changed graphs and runs from a previous answer with the GPU's kernels, emulated, against the CPU."""

import numpy as np
import pytest
from emulated import backend, needs_compiler

import dgraph

pytestmark = [needs_compiler, pytest.mark.mpi_skip]

RUNS = {"sssp": {"source": 3}, "bfs": {"source": 3}, "cc": {}, "pagerank": {"tol": 1e-9}, "kcore": {}, "color": {}}


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", RUNS)
def test_answers_on_a_changed_graph(name, directed):
    graph = dgraph.Graph.load("rmat:6", weights="1..9", directed=directed)
    rng = np.random.default_rng(1)
    grown = graph.with_edges(rng.integers(0, graph.n + 3, (8, 2)), weights=rng.integers(1, 9, 8))
    wanted, how = dgraph.run(name, grown, **RUNS[name]).columns, RUNS[name]
    results = [dgraph.run(name, grown.on(device=backend()), **how)]
    if name in ("bfs", "sssp", "cc", "pagerank"):
        before = dgraph.run(name, graph.on(device=backend()), **how)
        results.append(dgraph.run(name, grown.on(device=backend()), previous=before, **how))
        assert results[1].summary["started"] == "previous answer"
    for result in results:
        for column, values in wanted.items():
            if column == "pagerank":
                assert np.abs(values - result.columns[column]).sum() < 1e-7
            else:
                assert values.tolist() == result.columns[column].tolist()
