"""Numbering by degree: the graph is unchanged, hubs come first, and results use original ids."""

import numpy as np
import pytest
from flat_run import flat_run
from loading import agreed, joined, share, written
from simulated import on_ranks

import dgraph
from dgraph.comm import world
from dgraph.errors import UsageError
from dgraph.graph.load import load
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.stored_graph import Graph

SPECS = ["rmat:7,seed=3", "rmat:7,symmetric", "grid:6x5", "star:9", "path:1"]


@pytest.mark.parametrize("spec", [*SPECS, "sparse"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_the_graph_is_the_same_and_degrees_fall(spec, ranks, tmp_path):
    if spec == "sparse":
        spec = str(written(tmp_path, "a.txt", "".join(f"{u << 33} {(u * u + 7) % 50 << 33}\n" for u in range(60))))

    def work(comm):
        block = load(spec, comm, LoadOptions(order="degree", weights="1..99", keep_loops=True))
        plain = load(spec, comm, LoadOptions(weights="1..99", keep_loops=True))
        gids = np.arange(block.n)
        ids = block.ids.to_original(gids, comm)
        assert np.array_equal(block.ids.to_gid(ids, comm), gids)
        assert np.all(block.ids.to_gid(np.array([-5, 1 << 62]), comm) == -1)
        assert Graph(block, comm).fingerprint() == Graph(plain, comm).fingerprint()
        return share(block, comm), share(plain, comm), np.diff(block.offsets).tolist()

    results = agreed(on_ranks(ranks, work))
    ordered, plain = (joined([parts[k] for parts in results]) for k in (0, 1))
    degrees = [degree for *_, here in results for degree in here]
    assert degrees == sorted(degrees, reverse=True)
    assert sorted(ordered.vertices) == plain.vertices
    assert sorted(ordered.arcs) == plain.arcs
    assert (ordered.m, ordered.directed) == (plain.m, plain.directed)
    equal = [v for v, d in zip(ordered.vertices, degrees, strict=True) if d == degrees[0]]
    assert equal == sorted(equal)


CHOSEN = [
    ("multi_source_bfs", {"k": 3}), ("random_walks", {"length": 3}), ("multi_source_pagerank", {"k": 3}),
    ("reachability", {"k": 3}), ("edge_bc", {"k": 3}),
]  # fmt: skip


@pytest.mark.mpi
@pytest.mark.parametrize(("algorithm", "parameters"), CHOSEN)
def test_answers_from_chosen_vertices_are_certified(algorithm, parameters):
    graph = Graph.load("rmat:6,symmetric", comm=world(), order="degree")
    assert dgraph.run(algorithm, graph, validate=True, **parameters).report["outcome"]["validation"]["passed"]


@pytest.mark.mpi
@pytest.mark.parametrize("algorithm", ["scc", "bfs", "sssp", "cc", "pagerank", "kcore"])
@pytest.mark.parametrize("spec", ["rmat:8,seed=5", "grid:9x7", "smallworld:90,p=0.2"])
def test_answers_are_by_original_id(algorithm, spec, tmp_path_factory):
    comm, answers = world(), []
    options = {"source": 3} if algorithm in ("bfs", "sssp") else {}
    for order in ("original", "degree"):
        graph = Graph.load(spec, comm=comm, weights="1..9", order=order)
        result = flat_run(algorithm, graph, validate=True, **options)
        here = result.columns["vertex"]
        assert np.all(np.diff(here) > 0)
        answers.append(result.gather())
    if comm.rank == 0:
        plain, ordered = answers
        for name, values in plain.items():
            if values.dtype.kind == "f":
                assert np.allclose(values, ordered[name], rtol=1e-6)
            else:
                assert np.array_equal(values, ordered[name]), name


def test_an_order_that_is_none():
    with pytest.raises(UsageError, match="unknown order 'size'"):
        Graph.load("path:4", order="size")
