"""Loops and parallel edges that graphs keep: every algorithm follows its ``edge_rule``, on any ranks and policies."""

import zlib

import numpy as np
import pytest
from flat_run import flat_run
from kept_edges import FREE, KEPT, ORACLES, Kept, check, check_free

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.comm import SerialComm, world

pytestmark = pytest.mark.interpreted

POLICIES = ("oec", "iec", "cvc", "hvc,threshold=2", "metis")
GRAPHS = [Kept(directed, kept, weighted) for kept in KEPT for directed in (True, False) for weighted in (True, False)]
RUNS = [(graph, name, parameters, None) for name, parameters in FREE for graph in GRAPHS]
RUNS += [(graph, name, parameters, oracle) for name, parameters, oracle in ORACLES for graph in GRAPHS]


def label(value):
    if isinstance(value, Kept):
        return f"{'directed' if value.directed else 'undirected'}-{value.kept}{'-weighted' * value.weighted}"
    return "-".join(map(str, value.values())) if isinstance(value, dict) else value if isinstance(value, str) else ""


def policy_of(graph, name):
    """Return a policy; all policies are taken by some graphs of each algorithm."""
    return POLICIES[zlib.crc32(f"{name}{label(graph)}{world().size}".encode()) % len(POLICIES)]


def test_all_algorithms_are_here():
    elsewhere = {"leiden", "louvain"}  # test_communities.py compares their quality on multigraphs with loops
    missing = set(ALGORITHMS) - elsewhere - {name for _, name, *_ in RUNS}
    assert not missing, (
        "write KEPT in their modules of tests/support/algorithm_cases/, or a row in tests/support/kept_edges.py"
    )


@pytest.mark.mpi
@pytest.mark.parametrize(("graph", "name", "parameters", "oracle"), RUNS, ids=label)
def test_answers(graph, name, parameters, oracle):
    comm = world()
    settings = {"policy": policy_of(graph, name), "validate": True, **parameters}
    result = flat_run(name, graph.engine(comm), **settings)
    with comm.together():
        if oracle is not None:
            check(graph, result, oracle)
    if oracle is None:
        plain = flat_run(name, graph.engine(comm, keep_loops=False, keep_parallel=False), **settings)
        check_free(graph, name, parameters, result, plain)


@pytest.mark.parametrize(("name", "parameters"), [row[:2] for row in ORACLES] + FREE, ids=label)
@pytest.mark.parametrize("part", ["loops", "parallel"])
def test_rules_are_what_the_answers_say(name, parameters, part):
    """Check that what a rule leaves out changes no answer, and that what it counts changes one."""
    rule, equal = ALGORITHMS[name].edge_rule, True
    for seed in range(4):
        for directed in (True, False):
            graph = Kept(directed, part, seed=seed)
            kept, plain = (
                flat_run(name, graph.engine(SerialComm(), **changes), **parameters).to_pandas()
                for changes in ({}, {"keep_loops": False, "keep_parallel": False})
            )
            equal &= bool(((kept - plain).abs().max() < 1e-9).all())
    assert equal == (rule.loops == "ignored" if part == "loops" else rule.parallel == "once")


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "parameters", "oracle"), ORACLES, ids=label)
@pytest.mark.parametrize("directed", [True, False])
def test_answers_on_changed_graphs(name, parameters, oracle, directed):
    """Edges are added in two batches, with loops and parallel edges in each; answers start from those before."""
    graph, comm = Kept(directed), world()
    src, dst, weights = (values[comm.rank :: comm.size] for values in graph.edges)
    options = {"n": graph.n, "directed": directed, "keep_loops": True, "keep_parallel": True, "comm": comm}
    grown, result = dgraph.Graph.from_edges(src[::2], dst[::2], weights[::2], **options), None
    for batch in (slice(1, None, 4), slice(3, None, 4)):
        if ALGORITHMS[name].continues and "variant" not in parameters:
            result = dgraph.run(name, grown, previous=result, **parameters)
        grown = grown.with_edges(np.stack([src[batch], dst[batch]], axis=1), weights=weights[batch])
    result = dgraph.run(name, grown, previous=result, validate=True, **parameters)
    with comm.together():
        check(graph, result, oracle)


@pytest.mark.mpi_skip
@pytest.mark.parametrize(("name", "parameters", "oracle"), ORACLES, ids=label)
@pytest.mark.parametrize("directed", [True, False])
def test_answers_of_networkx_graphs(name, parameters, oracle, directed):
    graph = Kept(directed)
    check(graph, dgraph.run(name, graph.multigraph, validate=True, **parameters), oracle)
