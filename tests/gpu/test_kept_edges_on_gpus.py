"""Loops and parallel edges that graphs keep, on GPUs: answers of all algorithms, against NetworkX."""

import numpy as np
import pytest
from emulated import Device, needs_compiler
from flat_run import flat_run
from kept_edges import FREE, ORACLES, Kept, check, check_free
from linked import links_for
from simulated import succeed

import dgraph
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm
from dgraph.graph.load_options import LoadOptions

pytestmark = pytest.mark.mpi_skip

GPUS = [pytest.param("emulated", marks=needs_compiler), pytest.param("cuda", marks=pytest.mark.gpu)]
RUNS = [*ORACLES, *((name, parameters, None) for name, parameters in FREE)]
BETWEEN_GPUS = [row for row in RUNS if row[0] in ("bc", "cdlp", "color", "kcore", "mis") and "weighted" not in row[1]]
"""Runs of algorithms that get rows without what they leave out; by weights the hosts search."""
DIRECTED = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


def label(value):
    return "-".join(map(str, value.values())) if isinstance(value, dict) else value if isinstance(value, str) else ""


def answered(graph, name, parameters, oracle, comm, device):
    """Check an answer and its certificate on the ranks of ``comm``."""
    settings = {"backend": device, "validate": True, **parameters}
    result = flat_run(name, graph.engine(comm), **settings)
    if oracle is not None:
        check(graph, result, oracle)
    else:
        plain = flat_run(name, graph.engine(comm, keep_loops=False, keep_parallel=False), **settings)
        check_free(graph, name, parameters, result, plain)


@pytest.mark.parametrize("gpu", GPUS)
@DIRECTED
@pytest.mark.parametrize(("name", "parameters", "oracle"), RUNS, ids=label)
def test_answers_on_one_gpu(name, parameters, oracle, directed, gpu):
    if gpu == "cuda":
        pytest.importorskip("cupy")
    device = gpu if gpu == "cuda" else CudaBackend(0, 1, True, GpuPlan(), Device(blocks=2, seed=1))
    answered(Kept(directed), name, parameters, oracle, SerialComm(), device)


BUILT = ("bc", "cdlp", "color", "kcore", "mis", "pagerank", "triangles")


def equal(built, host, name):
    """Check an answer on a graph that a GPU built against that on the same graph of the host."""
    answer, expected = dgraph.run(name, built, validate=True).columns, dgraph.run(name, host, validate=True).columns
    for column, values in expected.items():
        np.testing.assert_allclose(answer[column], values, rtol=1e-6, atol=1e-9, err_msg=f"{name} {column}")


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("spec", ["rmat:6", "rmat:6,symmetric", "rmat-alb:6"])
def test_graphs_that_gpus_build_keep_them(spec, gpu):
    """One graph runs all algorithms: a simple form takes the place of its rows on the GPU, and they come back."""
    options = {"keep_loops": True, "keep_parallel": True}
    if gpu == "cuda":
        pytest.importorskip("cupy")
        built = dgraph.build_on_gpus(spec, comm=SerialComm(), device="cuda", **options)
    else:
        engine = CudaBackend(0, 1, True, GpuPlan(), Device(blocks=2, seed=1))
        built = engine.build(spec, SerialComm(), "auto", LoadOptions(**options)).on(device=engine)
    host = dgraph.Graph.load(spec, comm=SerialComm(), device="cpu", build="host", **options)
    assert (built.facts.loops, built.facts.duplicates) == (host.facts.loops, host.facts.duplicates)
    assert built.facts.loops
    assert built.facts.duplicates
    for name in (*BUILT, *BUILT[::-1]):
        equal(built, host, name)
    for form in ((True, False), (False, True), (True, True)):
        assert built.simplified(*form).fingerprint() == host.simplified(*form).fingerprint()


@needs_compiler
@DIRECTED
@pytest.mark.parametrize(("name", "parameters", "oracle"), BETWEEN_GPUS, ids=label)
def test_answers_between_gpus(name, parameters, oracle, directed):
    def on_rank(comm):
        device = CudaBackend(0, 1, False, GpuPlan(), Device(blocks=2, seed=comm.rank + 1))
        device.links = links_for(comm, "p2p")
        answered(Kept(directed), name, parameters, oracle, comm, device)

    succeed(2, on_rank)


@needs_compiler
@pytest.mark.parametrize("spec", ["rmat:6", "rmat:6,symmetric"])
def test_graphs_that_two_gpus_build_keep_them(spec):
    options = {"keep_loops": True, "keep_parallel": True}

    def on_rank(comm):
        device = CudaBackend(0, 1, False, GpuPlan(), Device(blocks=2, seed=comm.rank + 1))
        device.links = links_for(comm, "p2p")
        built = device.build(spec, comm, "auto", LoadOptions(**options)).on(device=device)
        host = dgraph.Graph.load(spec, comm=comm, device="cpu", build="host", **options)
        for name in ("kcore", "bfs", "mis", "cdlp"):
            source = {"source": 1} if name == "bfs" else {}
            answer, expected = (dgraph.run(name, graph, validate=True, **source).gather() for graph in (built, host))
            if comm.rank == 0:
                for column, values in expected.items():
                    np.testing.assert_array_equal(answer[column], values, err_msg=f"{name} {column}")
        assert built.simplified(True, True).fingerprint() == host.simplified(True, True).fingerprint()

    succeed(2, on_rank)
