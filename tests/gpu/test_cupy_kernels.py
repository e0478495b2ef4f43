"""CuPy's kernels that a first graph needs are compiled ahead: the operations of building are all listed."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from emulated import Device, backend, needs_compiler
from gpu_ranks import run
from recorded_operations import Recorder, recording
from simulated import succeed
from test_cuda_exchange import PROGRAMS, mesh
from test_on_replicas import answers, graph_of

import dgraph
from dgraph.backend.cuda.device import cupy_kernels
from dgraph.backend.cuda.gathered import small_replica
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.graph_build import BuiltGraph
from dgraph.comm import SerialComm
from dgraph.graph.load_options import LoadOptions

pytestmark = pytest.mark.mpi_skip


@needs_compiler
@pytest.mark.parametrize("spec", ["rmat:8", "rmat:8,symmetric", "road:20x20"])
@pytest.mark.parametrize("weights", ["1..255", "unit"])
def test_operations_of_building_are_listed(monkeypatch, spec, weights):
    with recording(monkeypatch) as operations:
        backend().build(spec, SerialComm(), "auto", LoadOptions(weights=weights))
        built = set(operations)
    with recording(monkeypatch) as operations:
        cupy_kernels.use(Recorder(), cupy_kernels.BUILDING)
        assert len(built) > 5
        assert built <= operations


@needs_compiler
@pytest.mark.parametrize("policy", ["oec", "cvc", "hash"])
@pytest.mark.parametrize("spec", ["rmat:9,symmetric", "rmat:9"])
def test_operations_of_building_on_several_ranks_are_listed(monkeypatch, policy, spec):
    with recording(monkeypatch) as operations:
        devices = [Device(seed=rank + 1) for rank in range(2)]
        options = LoadOptions()
        succeed(2, lambda comm: BuiltGraph.from_spec(spec, comm, devices[comm.rank], policy, options) and 1)
        built = set(operations)
    with recording(monkeypatch) as operations:
        cupy_kernels.use(Recorder(), cupy_kernels.BUILDING + cupy_kernels.SHARING)
        assert len(built) > 18
        assert built <= operations


@needs_compiler
def test_searches_for_communities_use_no_further_operations(monkeypatch):
    with recording(monkeypatch) as operations:
        graph = dgraph.Graph.load("rmat:7,symmetric", device=backend())
        operations.clear()
        for name in ("louvain", "leiden"):
            dgraph.run(name, graph)
        used = set(operations)
    with recording(monkeypatch) as operations:
        cupy_kernels.use(Recorder(), cupy_kernels.BUILDING)
        assert used - operations <= {("add reduce", "int64")}  # machine code of CUB


@needs_compiler
@pytest.mark.parametrize("name", ["kcore", "color", "louvain"])
def test_small_graphs_on_two_gpus_use_no_further_operations(monkeypatch, name):
    monkeypatch.setattr(small_replica, "FEW", 1 << 10)
    used = []
    for ranks in (1, 2):
        with recording(monkeypatch) as operations:
            answers(ranks, graph_of(False), name)
            used.append(set(operations))
    assert used[1] <= used[0]


@needs_compiler
def test_hosts_open_buckets_without_an_operation(monkeypatch):
    with recording(monkeypatch) as operations:
        run(2, mesh(), [PROGRAMS["dist"]], options=GpuPlan(host_rounds=True))
        assert not any(name == "assign" for name, *_ in operations)


class Gpu:
    """The members of CuPy's device that are used here."""

    architecture, number, code = "sm_90", 0, None

    def __init__(self):
        self.xp = Recorder()
        self.xp.__version__ = "1"
        self.xp.cuda = SimpleNamespace(Device=lambda number: SimpleNamespace(use=lambda: None))


def test_kernels_are_compiled_once_a_host_and_version(monkeypatch, tmp_path):
    monkeypatch.setattr(cupy_kernels, "folder", lambda: tmp_path)
    used, threads = [], set(threading.enumerate())
    monkeypatch.setattr(cupy_kernels, "BUILDING", (lambda xp, of: used.append(of["uint64"].dtype),))
    monkeypatch.setattr(cupy_kernels, "SHARING", (lambda xp, of: xp.no_such_function(),))  # as where CuPy lacks one
    for _ in range(2):
        device = Gpu()
        cupy_kernels.begin(device)
        cupy_kernels.begin(device)
        cupy_kernels.wait(device)
        assert used == [np.uint64]
        while started := set(threading.enumerate()) - threads:
            for thread in started:
                if thread.is_alive():  # else it is being started, or has ended
                    thread.join()
        assert [path.name for path in tmp_path.iterdir()] == ["cupy-1_sm_90_2.kernels"]


def test_nobody_waits_for_a_thread_that_failed(monkeypatch, tmp_path):
    def refuse(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(cupy_kernels, "folder", lambda: tmp_path)
    monkeypatch.setattr(cupy_kernels, "use", refuse)
    device = Gpu()
    cupy_kernels.begin(device)
    cupy_kernels.wait(device)
    assert not list(tmp_path.iterdir())
