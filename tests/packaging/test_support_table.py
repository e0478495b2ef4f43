"""Cells of the table of functions in ``docs/algorithms.md`` against what runs do."""

from functools import cache

import emulated
import numpy as np
import pytest
import support_table
from emulated import needs_compiler
from flat_run import flat_run

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError
from dgraph.networkx_backend.backend_info import ENGINE, NOT_ANSWERED

pytestmark = pytest.mark.interpreted

NAMES = pytest.mark.parametrize("name", sorted(ALGORITHMS))
SETTINGS = {"katz": {"alpha": 1e-4}, "pagerank": {"tol": 1e-12}}
"""Parameters with which an algorithm converges on the graphs here, by weights too."""


def cell(name, column):
    return support_table.support(name)[column]


def parameters(name, **more):
    source = {"source": 1} if ALGORITHMS[name].needs_source else {}
    sources = {"sources": [1, 39]} if name in ("multi_source_bfs", "multi_source_sssp", "reachability") else {}
    return source | sources | SETTINGS.get(name, {}) | more


@cache
def graph(directed=True, weighted=True, comm=None):
    """Return a graph with triangles, sinks, and weights that make detours shorter."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 34, 170), rng.integers(0, 40, 170)
    weights = rng.integers(1, 60, src.size) if weighted else None
    mine = slice(comm.rank, None, comm.size) if comm else slice(None)
    pieces = [src[mine], dst[mine], None if weights is None else weights[mine]]
    return dgraph.Graph.from_edges(*pieces, n=41, directed=directed, comm=comm or SerialComm())


def answer(name, on, **more):
    """Return all that a run answers as one list: columns, edges, matrix, summary."""
    result = flat_run(name, on, **parameters(name, **more))
    columns = [np.asarray(column, np.float64) for column in result.columns.values()]
    if result.matrix is not None:
        columns.append(np.asarray(result.matrix.here, np.float64).ravel())
    return np.concatenate(columns)


def equal(one, other):
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-6, equal_nan=True)


@NAMES
def test_cpu(name):
    every, able = support_table.variants_on_cpu(ALGORITHMS[name])
    assert cell(name, "CPU") == ("yes" if able == every else f"yes, {len(able)} of {len(every)} variants")
    for variant in every or [None]:
        if variant is None or variant in able:
            assert flat_run(name, graph(), variant=variant, **parameters(name)).columns
        else:
            with pytest.raises(UsageError, match=f"{variant} .* GPU"):
                flat_run(name, graph(), variant=variant, **parameters(name))


@NAMES
def test_weights(name):
    says, plain = cell(name, "weights"), answer(name, graph(weighted=False))
    assert equal(answer(name, graph()), plain) == (says != "yes")
    if says == "no":
        with pytest.raises(UsageError, match="uses no weights"):
            dgraph.run(name, graph(), weight="time", **parameters(name))
    elif says != "yes":
        assert says == "with `weighted`"
        assert not equal(answer(name, graph(), weighted=True), plain)


@NAMES
def test_directed(name):
    says, directed = cell(name, "directed"), graph()
    without = directed.undirected("min")
    edges = {"count": "edges"} if "count" in ALGORITHMS[name].parameters else {}
    assert equal(answer(name, directed, **edges), answer(name, without, **edges)) == (says != "yes")
    if says not in ("yes", "symmetrised"):
        assert says == "with `count=arcs`"
        assert not equal(answer(name, directed, count="arcs"), answer(name, directed, count="edges"))


@NAMES
def test_certificate(name):
    assert cell(name, "certificate") == "yes"
    verdict = flat_run(name, graph(), validate=True, **parameters(name)).report["outcome"]["validation"]
    assert verdict["passed"] is True, verdict


@pytest.mark.mpi
@NAMES
def test_several_ranks(name):
    comm = world()
    result = flat_run(name, graph(comm=comm), policy="cvc", validate=True, **parameters(name))
    policy = next(choice["taken"] for choice in result.report["choices"] if choice["what"] == "policy")
    with comm.together():
        assert (policy == "oec") == (comm.size > 1 and cell(name, "several ranks") == "yes, as `oec`"), policy


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.mpi_skip
@NAMES
def test_gpu(name, monkeypatch):
    """Count launches: a run on CPU threads has none, and any other has some."""
    launches, launch = [], emulated.Module.launch
    monkeypatch.setattr(emulated.Module, "launch", lambda *call: launches.append(call) or launch(*call))
    says, edges = cell(name, "GPU"), "count" in ALGORITHMS[name].parameters
    for more in [{"count": "edges"} if edges else {}, *support_table.switched(ALGORITHMS[name])]:
        launches.clear()
        flat_run(name, graph(), backend=emulated.backend(), **parameters(name, **more))
        (key, value), *_ = more.items() or [("", "")]
        moved = f"`{key}`" if value is True else f"`{key}={value}`"
        assert (not launches) == (says == "CPU threads" or f"{moved}" in says), (more, launches)


@pytest.mark.mpi_skip
def test_each_networkx_function_is_in_one_row():
    cells = [functions for functions, _ in support_table.answered_functions()]
    listed = [function.strip("`") for cell in cells for function in cell.split(", ")]
    assert sorted(listed) == sorted([*ENGINE, *NOT_ANSWERED])
    reasons = [reason for _, reason in support_table.answered_functions()]
    assert len(reasons) == len(set(reasons)) < len(listed) / 2
