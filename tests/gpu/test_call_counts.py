"""Operations that a repeated call on a resident graph asks of a GPU: launches, copies, reads, allocations."""

import sys
from collections import Counter

import numpy as np
import pytest
from emulated import Device, Garbage, Module, needs_compiler

import dgraph
from dgraph.algorithms.sssp_parts import gather_near_hubs
from dgraph.backend.cuda import gpu_options
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.device.compiled_module import Environment
from dgraph.backend.cuda.device_graph import small_graph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm

pytestmark = [pytest.mark.mpi_skip, needs_compiler]

PARAMETERS = {
    "bfs": {"source": 0},
    "sssp": {"source": 0},
    "cc": {},
    "pagerank": {"tol": 0.0, "max_iter": 8},
    "kcore": {},
    "mis": {},
    "scc": {},
}

MOST = {
    "bfs": {"launch": 6, "upload": 5, "clear": 3, "allocation": 3, "read": 2},
    "sssp": {"launch": 7, "upload": 6, "clear": 4, "allocation": 2, "read": 4},
    "cc": {"launch": 11, "upload": 2, "clear": 2, "allocation": 1, "read": 1},
    "pagerank": {"launch": 2 + 3 * 8, "upload": 4, "clear": 2, "allocation": 3, "read": 2},
    "kcore": {"launch": 4, "upload": 3, "clear": 2, "allocation": 2, "read": 2},
    "mis": {"launch": 5, "upload": 2, "clear": 1, "allocation": 3, "read": 1},
}
"""Algorithm → most operations of a repeated call. Uploads: ``env`` of each module, whose fields may have moved."""


MOST_FUNCTIONS = {"bfs": 1200, "sssp": 1170, "cc": 625, "pagerank": 1240, "kcore": 710, "mis": 630, "scc": 1790}
"""Algorithm → most functions, of Python and C, of a repeated call: a twentieth above their number under Python 3.11."""


class Numpy(Garbage):
    """NumPy that counts allocations."""

    def __init__(self, counts):
        self.counts = counts

    def empty(self, *shape_and_dtype):
        self.counts["allocation"] += 1
        return super().empty(*shape_and_dtype)

    def zeros(self, *shape_and_dtype):
        self.counts["allocation"] += 1
        self.counts["clear"] += 1
        return np.zeros(*shape_and_dtype)


@pytest.fixture
def counts(monkeypatch):
    calls: Counter = Counter()

    def counted(owner, method, name):
        plain = getattr(owner, method)

        def call(*args, **kwargs):
            calls[name] += 1
            return plain(*args, **kwargs)

        monkeypatch.setattr(owner, method, call)

    for method, name in (("put", "upload"), ("write", "upload"), ("get", "read"), ("read", "read"), ("copy", "copy")):
        counted(Device, method, name)
    counted(Device, "clear", "clear")
    counted(Module, "launch", "launch")
    counted(Module, "_upload", "upload")
    return calls


@pytest.mark.parametrize("algorithm", MOST)
def test_a_repeated_call_asks_little_of_the_gpu(algorithm, counts, monkeypatch):
    monkeypatch.setattr(small_graph, "FEW", 0)
    monkeypatch.setattr(gpu_options, "SMALL_GRAPH", 1 << 20)
    monkeypatch.setattr(gather_near_hubs, "FEW", 1 << 20)
    device = Device(2)
    monkeypatch.setattr(device, "xp", Numpy(counts))
    engine = CudaBackend(0, 1, True, GpuPlan(), device)
    graph = dgraph.Graph.load("rmat:6,symmetric", weights="1..9", device=engine, comm=SerialComm())
    for _ in range(2):
        dgraph.run(algorithm, graph, **PARAMETERS[algorithm])
    counts.clear()
    result = dgraph.run(algorithm, graph, **PARAMETERS[algorithm])
    assert {name: count for name, count in counts.items() if count > MOST[algorithm].get(name, 0)} == {}
    wanted = dgraph.run(algorithm, graph.on(device="cpu"), **PARAMETERS[algorithm]).gather()
    assert all(np.allclose(values, wanted[name]) for name, values in result.gather().items())


@pytest.mark.parametrize("algorithm", MOST_FUNCTIONS)
def test_a_repeated_call_runs_few_functions(algorithm, monkeypatch):
    monkeypatch.setattr(small_graph, "FEW", 0)
    engine = CudaBackend(0, 1, True, GpuPlan(), Device(2))
    spec = "rmat:6" if algorithm == "scc" else "rmat:6,symmetric"
    graph = dgraph.Graph.load(spec, weights="1..9", device=engine, comm=SerialComm())
    for _ in range(3):
        dgraph.run(algorithm, graph, **PARAMETERS[algorithm])
    events: Counter = Counter()
    former = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: events.update([event]))
    try:
        dgraph.run(algorithm, graph, **PARAMETERS[algorithm])
    finally:
        sys.setprofile(former)
    assert events["call"] + events["c_call"] <= MOST_FUNCTIONS[algorithm]


def test_equal_words_are_uploaded_once():
    class Uploads(Environment):
        def __init__(self):
            self.uploads = []

        def _upload(self, words):
            self.uploads.append(words.tolist())

    module = Uploads()
    for words in ([1, 2], [1, 2], [1, 3], [1, 2]):
        module.set_environment(np.array(words))
    assert module.uploads == [[1, 2], [1, 3], [1, 2]]
