"""Graphs of the ranks stay as they were built: a first job builds, uploads and reads nothing; emulated GPU."""

from functools import partial
from importlib import import_module

import pytest
from emulated import Device, needs_compiler
from ranks_served import Served

import dgraph
from dgraph.backend import build
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm
from dgraph.engine.rounds.progress import Progress
from dgraph.errors import OutOfMemory, UsageError
from dgraph.service.ranks import graph_operations, memory_operations, run_operations
from dgraph.service.ranks.rank_state import RankState

pytestmark = pytest.mark.mpi_skip

SPEC = "rmat:9,seed=3"


class Noting(Device):
    """Emulated GPU that notes the sizes of arrays copied to it and from it."""

    def __init__(self):
        super().__init__(seed=1)
        self.sizes = set()

    def put(self, array, kind=None):
        self.sizes.add(array.size)
        return super().put(array, kind)

    def get(self, array):
        self.sizes.add(array.size)
        return super().get(array)

    read = get

    def give_back(self):
        """Do nothing: there is no pool."""


@pytest.fixture
def gpu(monkeypatch):
    """Let "cuda" mean an emulated GPU, on which every generated graph is large."""
    device = Noting()
    for module in (build, import_module("dgraph.engine.opened_device")):
        monkeypatch.setattr(module, "backend", lambda *_, **more: CudaBackend(0, 1, True, GpuPlan(), device))
    for module in (build, memory_operations):
        monkeypatch.setattr(module, "has_gpu", lambda: True)
    monkeypatch.setattr(build, "FEW", 40)
    return device


def run(state, top=3, graph="g"):
    fields = {"graph": graph, "version": 1, "job": "j", "algorithm": "bfs", "parameters": {"source": 1}, "top": top}
    return run_operations.run(state, fields, Progress())["top"]


def expected(graph):
    return {name: values.tolist() for name, values in dgraph.bfs(graph, source=1).top(3).items()}


@pytest.fixture
def build_nothing(monkeypatch):
    """Return a function after whose call no graph is built, read or put together from parts."""

    def refuse(*_, **__):
        raise AssertionError("a graph was built or read")

    def begin():
        for place in (
            "dgraph.graph.build.local_graph.build_parts", "dgraph.graph.handle.build",
            "dgraph.graph.handle.rows_of", "dgraph.graph.stored_graph.read_part", "dgraph.graph.handle.cleaned",
            "dgraph.backend.cuda.graph_build.built_graph.rows", "dgraph.backend.cuda.gpu_graphs.graph_on",
        ):  # fmt: skip
            monkeypatch.setattr(place, refuse)

    return begin


@needs_compiler
def test_a_generated_graph_stays_on_the_gpu_and_needs_no_store(gpu, build_nothing, tmp_path):
    want = expected(dgraph.Graph.load(SPEC, device="cpu", comm=SerialComm()))
    state, store = RankState(SerialComm(), "cuda"), tmp_path / "g" / "1"
    request = {"graph": "g", "version": 1, "source": SPEC, "store": str(store)}
    loaded = graph_operations.load(state, request, Progress())
    graph = state.graphs.find("g", 1)
    assert (graph.built_on, [path.name for path in store.iterdir()]) == (gpu, ["graph.json"])
    assert loaded["bytes_by_rank"][0] > 4 * graph.arcs
    state.graphs.drop("g")
    assert graph_operations.reopen(state, request, Progress())["facts"] == loaded["facts"]
    build_nothing()
    gpu.sizes.clear()
    assert run(state) == want
    assert not {graph.n, graph.n + 1, graph.arcs} & gpu.sizes, "rows or a column were copied"


@needs_compiler
def test_a_table_is_uploaded_at_the_load_and_its_store_is_for_restarts(gpu, build_nothing, tmp_path):
    here = dgraph.Graph.load(SPEC, device="cpu", comm=SerialComm())
    here.to_pandas().to_csv(tmp_path / "edges.csv", index=False)
    want, state, store = expected(here), RankState(SerialComm(), "cuda"), tmp_path / "g" / "1"
    request = {"graph": "g", "version": 1, "format": "csv", "path": str(tmp_path / "edges.csv"), "store": str(store)}
    graph_operations.table(state, request | {"options": {"header": True}}, Progress())
    graph = state.graphs.find("g", 1)
    assert graph.built_on is gpu
    assert sorted(path.name for path in store.iterdir()) == ["graph.json", "parts"]
    build_nothing()
    assert run(state) == want


@needs_compiler
def test_a_graph_that_only_the_gpu_holds_makes_room_and_comes_back(gpu, monkeypatch, tmp_path):
    want = expected(dgraph.Graph.load(SPEC, device="cpu", comm=SerialComm()))
    state, refused = RankState(SerialComm(), "cuda"), []
    state.graphs.reopen = partial(graph_operations.reopened, state)

    def short_of_memory(*arguments, **more):
        if len(refused) < 2:
            refused.append(len(list(state.graphs)))
            raise OutOfMemory("no memory")
        return solve(*arguments, **more)

    for name in ("old", "older", "g"):
        request = {"graph": name, "version": 1, "source": SPEC, "store": str(tmp_path / name / "1")}
        graph_operations.load(state, request, Progress())
    older = state.graphs.find("older", 1)
    assert state.graphs.find("old", 1).built_on is gpu
    solve = run_operations.run_algorithm
    monkeypatch.setattr(run_operations, "run_algorithm", short_of_memory)
    assert run(state) == want
    assert refused == [3, 2]
    assert not list(state.graphs)[1:]
    with pytest.raises(UsageError, match="closed"):
        older.fingerprint()
    for name in ("old", "older"):
        assert run(state, graph=name) == want
    refused.clear()
    monkeypatch.setattr(state.graphs, "evict", lambda but: False)
    with pytest.raises(OutOfMemory, match="no memory"):
        run(state)


@pytest.mark.gpu
@pytest.mark.compiled
@pytest.mark.starts_children
def test_jobs_on_a_gpu_end(tmp_path):
    """Load a graph that the GPU builds, and a smaller one that the host builds, and run jobs on both."""
    pytest.importorskip("cupy")
    served = Served(tmp_path, 1, device="cuda")
    try:
        for name, spec in (("large", "rmat:20,symmetric"), ("small", "rmat:12")):
            served.load(name, spec)
            want = expected(dgraph.Graph.load(spec, device="cpu", comm=SerialComm()))
            for number in range(3):
                answer = served.run(name, "bfs", job=f"{name}-{number}", parameters={"source": 1}, top=3, keep=True)
                assert answer["top"] == want
        assert served.call("memory")["by_rank"][0]["device_used"] > 0
        assert [path.name for path in tmp_path.glob("graphs/*/1/*")] == ["graph.json"] * 2
    finally:
        served.stop()
