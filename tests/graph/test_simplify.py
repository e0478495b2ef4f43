"""Simple form of a graph: when it is made, how often, its rows, and the counts by which it is decided."""

import numpy as np
import pytest
from kept_edges import Kept

import dgraph
from dgraph.comm import SerialComm, world

KEPT = {"keep_loops": True, "keep_parallel": True}
SIMPLE = {"keep_loops": False, "keep_parallel": False}


def arcs(graph):
    """Return the arcs of all ranks with their weights, in order; collective."""
    block = graph.block
    columns = block.sources(), block.targets, block.weights
    whole = [np.concatenate(graph.comm.allgatherv(column.astype(np.int64))).tolist() for column in columns]
    return sorted(zip(*whole, strict=True))


@pytest.mark.mpi
@pytest.mark.parametrize("directed", [True, False])
def test_rows_are_those_of_a_simple_load(directed):
    graph = Kept(directed).engine(world(), **KEPT)
    for loops, parallel in ((True, False), (False, True), (True, True)):
        loaded = Kept(directed).engine(world(), keep_loops=not loops, keep_parallel=not parallel)
        simple = graph.simplified(loops, parallel)
        assert arcs(simple) == arcs(loaded)
        assert (simple.m, simple.arcs, simple.fingerprint()) == (loaded.m, loaded.arcs, loaded.fingerprint())
        for name in ("loops_kept", "duplicates_kept", "isolated", "largest_degree"):
            assert getattr(simple.facts, name) == getattr(loaded.facts, name)


@pytest.mark.mpi
def test_a_graph_that_keeps_none_is_its_own_simple_form():
    lone = dgraph.Graph.from_edges([0, 1][: 2 * (world().rank == 0)], [1, 2][: 2 * (world().rank == 0)], **KEPT)
    for graph in (lone, Kept(True).engine(world(), **SIMPLE), Kept(False).engine(world(), **SIMPLE)):
        assert graph.simplified(True, True) is graph
    for kept in ("loops", "parallel"):
        graph = Kept(True, kept).engine(world())
        assert graph.simplified(kept != "loops", kept != "parallel") is graph


@pytest.mark.mpi_skip
def test_handles_share_the_form_and_close_it():
    graph = Kept(False).engine(SerialComm())
    dgraph.kcore(graph)
    simple = graph.simplified(True, True)
    block = simple.block
    dgraph.mis(graph.on("hash", "cpu"))
    assert graph.on("hash").simplified(True, True).block is block
    assert list(graph._simple) == [(True, True)]
    graph.close()
    with pytest.raises(dgraph.UsageError, match="closed"):
        simple.fingerprint()


def of_rows(directed):
    block = Kept(directed).engine(SerialComm()).block
    return dgraph.Graph.from_csr(block.offsets, block.targets, block.weights, directed=directed, **KEPT)


def of_a_store(directed, folder):
    Kept(directed).engine(SerialComm()).save_store(folder / "store", parts=3)
    return dgraph.Graph.open(folder / "store")


def of_networkx(directed):
    return dgraph.Graph.from_networkx(Kept(directed).multigraph)


def of_a_change(directed):
    src, dst, weights = Kept(directed).edges
    half = dgraph.Graph.from_edges(src[:9], dst[:9], weights[:9], n=Kept(directed).n, directed=directed, **KEPT)
    return half.with_edges(np.stack([src[9:], dst[9:]], axis=1), weights=weights[9:])


def of_vertices(directed):
    graph = Kept(directed).engine(SerialComm())
    return graph.induced(graph.vertices())


SOURCES = [of_rows, of_a_store, of_networkx, of_a_change, of_vertices]


@pytest.mark.mpi_skip
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("source", SOURCES)
def test_graphs_of_every_source_count_what_they_keep(source, directed, tmp_path):
    graph = source(directed, tmp_path) if source is of_a_store else source(directed)
    kept = Kept(directed)
    assert graph.facts.loops == sum(u == v for u, v, _ in kept.multigraph.edges)
    assert graph.facts.duplicates == kept.multigraph.number_of_edges() - len({*kept.multigraph.edges()})
    assert arcs(graph.simplified(True, True)) == arcs(kept.engine(SerialComm(), **SIMPLE))
