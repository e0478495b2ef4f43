"""Graph500's searches and command: trees and counts of edges against SciPy, statistics against their definitions."""

import json

import emulated
import numpy as np
import pytest
from emulated import Device, needs_compiler
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, dijkstra

from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.graph_build import BuiltGraph
from dgraph.cli import main
from dgraph.comm import SerialComm
from dgraph.errors import UsageError, ValidationFailed
from dgraph.graph.generate import recipe_of
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.stored_graph import Graph
from dgraph.result.columns import UNREACHED
from dgraph.run import run
from dgraph.tools import graph500_searches
from dgraph.tools.graph500_searches import Graph500Searches, depths

pytestmark = pytest.mark.mpi_skip
SCALE, SPEC = 8, "kron:8,edge_factor=2,seed=5"


def edges(spec):
    """Return the ends of the generator's edges, loops and parallel ones included, and their matrix."""
    recipe, _ = recipe_of(spec)
    src, dst, _ = recipe.edges(0, recipe.items)
    n = recipe.n
    return src, dst, coo_array((np.ones(src.size), (src.astype(int), dst.astype(int))), (n, n)).tocsr()


def check(tree, root, matrix):
    """Check a tree of parents: its depths are distances, and its arcs are edges."""
    parent = np.asarray(tree).astype(np.int64)
    parent[parent == 2**32 - 1] = -1
    assert parent[root] == root
    distance = dijkstra(matrix, directed=False, indices=root, unweighted=True)
    child = np.flatnonzero((parent >= 0) & (np.arange(parent.size) != root))
    assert np.array_equal(parent >= 0, np.isfinite(distance))
    assert np.array_equal(distance[parent[child]] + 1, distance[child])
    either = matrix + matrix.T
    assert np.all(np.asarray(either[child, parent[child]]).ravel() > 0)


def on_gpu(build: bool, renumber: bool | None, seed: int = 1):
    """Return a graph on an emulated GPU, built there or loaded."""
    comm = SerialComm()
    if not build:
        graph = Graph.load(SPEC, comm=comm)
        return graph.on(device=emulated.backend(renumber=renumber))
    device = Device(seed=seed)
    graph = BuiltGraph.from_spec(SPEC, comm, device, "oec", LoadOptions(), renumber)
    return graph.on(device=CudaBackend(0, 1, True, GpuPlan(renumber=renumber), device))


@needs_compiler
@pytest.mark.parametrize(("build", "renumber"), [(True, True), (True, False), (False, True)])
def test_trees_on_a_gpu(build, renumber, monkeypatch):
    trees = []
    search = graph500_searches._first_parents

    def kept(ctx, root):
        tree = search(ctx, root)
        trees.append((root, tree[1]))
        return tree

    monkeypatch.setattr(graph500_searches, "_first_parents", kept)
    searches = Graph500Searches(on_gpu(build, renumber), SPEC, 6, seed=3, check=True)
    run(searches, searches.graph)
    src, dst, matrix = edges(SPEC)
    _, component = connected_components(matrix, directed=False)
    measured = searches.measured
    assert len(set(measured.roots)) == 6
    assert [root for root, _ in trees[1:]] == measured.roots
    for (root, tree), counted in zip(trees[1:], measured.edges, strict=True):
        check(tree, root, matrix)
        assert counted == np.count_nonzero(component[src] == component[root])
        assert np.any((src == root) != (dst == root)), "a root without an edge that is not a loop"
    assert min(measured.seconds) > 0
    assert min(measured.validating) > 0


@needs_compiler
@pytest.mark.parametrize("build", [True, False])
def test_a_wrong_tree_is_refused(build, monkeypatch):
    search = graph500_searches._first_parents

    def wrong(ctx, root):
        _, tree = search(ctx, root)
        tree[np.flatnonzero((tree != 2**32 - 1) & (tree != root))[-1]] = root
        return None, tree

    monkeypatch.setattr(graph500_searches, "_first_parents", wrong)
    searches = Graph500Searches(on_gpu(build, True), SPEC, 2, seed=3, check=True)
    with pytest.raises(ValidationFailed, match="root"):
        run(searches, searches.graph)


def test_depths_of_a_cycle():
    parent = np.array([-1, 0, 1, 4, 3, -1])
    assert depths(parent, 0).tolist() == [0, 1, 2, UNREACHED, UNREACHED, UNREACHED]


def test_the_command(capsys):
    words = ["graph500", "--scale", str(SCALE), "--roots", "4", "--backend", "cpu", "--threads", "1", "-q"]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    src, _, matrix = edges("kron:8,edge_factor=16,seed=1")
    _, component = connected_components(matrix, directed=False)
    assert printed["edges"] == [int(np.count_nonzero(component[src] == component[root])) for root in printed["roots"]]
    mean = np.mean(np.array(printed["seconds"]) / printed["edges"])
    assert printed["harmonic_mean_TEPS"] == pytest.approx(1 / mean)
    assert printed["SCALE"] == SCALE
    assert printed["construction_time"] > 0
    assert main(words) == 0
    lines = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
    assert lines["NBFS"].strip() == "4"
    assert "bfs  harmonic_mean_TEPS" in lines


def test_too_few_vertices_with_edges():
    graph = Graph.load("kron:2", comm=SerialComm(), device="cpu")
    with pytest.raises(UsageError, match="fewer than 5 roots"):
        run(Graph500Searches(graph, "kron:2", 5, 1, True), graph)
