"""Programs of ``examples/``, on any number of ranks."""

import importlib.util

import numpy as np
import pytest
from children import ROOT
from flat_run import flat_run

import dgraph
from dgraph.comm import world

EXAMPLES = ROOT / "examples"


def example(name: str):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def widest_by_kruskal(n, src, dst, weights, source):
    """Return path widths by joining edges from the widest down.

    A vertex's width is the weight of the edge that first connects it to the source.
    """
    parent, members = list(range(n)), {v: [v] for v in range(n)}
    width = np.full(n, np.iinfo(np.int64).min)
    width[source] = 2**62

    def root(v):
        while parent[v] != v:
            v = parent[v]
        return v

    for i in np.argsort(-weights, kind="stable"):
        a, b = root(int(src[i])), root(int(dst[i]))
        if a == b:
            continue
        for here, there in ((a, b), (b, a)):
            if source in members[here]:
                width[members[there]] = weights[i]
        parent[b] = a
        members[a] += members.pop(b)
    return width


@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["oec", "cvc", "hash"])
@pytest.mark.parametrize("direction", ["push", "pull", "flip"])
def test_widest_path(policy, direction):
    rng = np.random.default_rng(5)
    n, m = 60, 140
    src, dst = rng.integers(0, n, (2, m))
    keep = src != dst
    src, dst, weights = src[keep], dst[keep], rng.integers(1, 50, m)[keep]
    pairs = {}
    for a, b, w in zip(src, dst, weights, strict=True):
        key = (min(a, b), max(a, b))
        pairs[key] = min(w, pairs.get(key, w))
    src, dst = np.array(list(pairs)).T
    weights = np.array(list(pairs.values()))
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    graph = dgraph.Graph.from_edges(src[mine], dst[mine], weights[mine], n=n, directed=False, comm=comm)
    program = example("widest_path").WidestPath(source=3)
    whole = flat_run(program, graph, policy=policy, direction=direction).gather()
    if comm.rank == 0:
        np.testing.assert_array_equal(whole["width"], widest_by_kruskal(n, src, dst, weights, 3))
