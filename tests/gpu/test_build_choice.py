"""Choice of a generated graph's builder, and what follows on a host or with little memory; emulated GPUs."""

import json
from importlib import import_module

import emulated
import numpy as np
import pytest
from building_checks import built
from emulated import Device, needs_compiler
from flat_run import flat_run
from simulated import succeed

import dgraph
from dgraph.backend import build
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.cli import main
from dgraph.comm import SerialComm
from dgraph.errors import OutOfMemory, UsageError

pytestmark = [pytest.mark.mpi_skip, needs_compiler]


@pytest.fixture
def gpu(monkeypatch):
    """Let descriptions of devices mean an emulated GPU, on which every graph is large."""
    device = Device(seed=1)

    def opened(*_, **options):
        return CudaBackend(0, 1, True, GpuPlan(), device)

    for module in (build, import_module("dgraph.engine.opened_device")):
        monkeypatch.setattr(module, "backend", opened)
    monkeypatch.setattr(build, "has_gpu", lambda: True)
    monkeypatch.setattr("dgraph.engine.opened_device._cpus", {})
    monkeypatch.setattr("dgraph.cli.solve.refuse_early", lambda *_: None)
    monkeypatch.setattr(build, "FEW", 40)
    return device


def load(spec, device="cuda", **options):
    return dgraph.Graph.load(spec, device=device, comm=SerialComm(), **options)


def test_gpus_build_large_generated_graphs(gpu):
    for device in ("auto", "cuda", dgraph.Cuda()):
        graph = load("rmat:6", device)
        assert (graph.built_on, graph.building[0]) == (gpu, "device")
        assert graph.fingerprint() == load("rmat:6", "cpu").fingerprint()
    assert load("rmat:6", emulated.backend()).built_on is None, "a device that exists already was named"


@pytest.mark.parametrize(("spec", "options", "reason"), [
    ("rmat:1", {}, "40 edges or fewer"),
    ("rmat:6", {"order": "degree"}, "order= needs the edges on the host"),
    ("rmat:7", {}, "arcs needs"),
])  # fmt: skip
def test_the_host_builds_the_others(gpu, spec, options, reason):
    gpu.memory = 4_000
    graph = load(spec, **options)
    assert graph.built_on is None
    assert graph.building[0] == "host"
    assert reason in graph.building[1]
    with pytest.raises(UsageError, match="way to build"):
        load(spec, build="gpu")


@pytest.mark.parametrize(("lacking", "memory", "taken"), [(None, 1 << 30, "device"), (1, 4_000, "host")])
def test_ranks_choose_alike(lacking, memory, taken, monkeypatch):
    """Check that a rank whose GPU lacks memory sends all to the host, and a rank without a GPU likewise."""

    def opened(device, ranks, place, alone, **_):
        gpu = Device(seed=place + 1, memory=memory if place == lacking else 1 << 30)
        return CudaBackend(0, 1, alone, GpuPlan(), gpu)

    monkeypatch.setattr(build, "backend", opened)
    monkeypatch.setattr(build, "has_gpu", lambda: True)
    monkeypatch.setattr(build, "FEW", 40)
    graphs = succeed(2, lambda comm: dgraph.Graph.load("rmat:7", device="cuda", comm=comm))
    assert [graph.building[0] for graph in graphs] == [taken] * 2
    assert [graph.built_on is not None for graph in graphs] == [taken == "device"] * 2


def test_both_reasons_are_given_where_nobody_can(gpu, monkeypatch):
    gpu.memory = 4_000
    monkeypatch.setattr("dgraph.graph.build.collective_checks.free_memory", lambda: 1000)
    with pytest.raises(OutOfMemory, match=r"GiB are free on .*; building [\d,]+ arcs needs .* GPU memory"):
        load("rmat:7")


def test_the_report_names_the_choice(gpu, tmp_path, capsys):
    for words, taken in (([], "device"), (["--build", "host"], None), (["--order", "degree"], "host")):
        file = tmp_path / "report.json"
        assert main(["bfs", "rmat:6", "--source", "3", "-q", "--report", str(file), *words]) == 0
        report = json.loads(file.read_text())
        assert [choice["taken"] for choice in report["choices"] if choice["what"] == "build"] == [taken] * (
            taken is not None
        )


def test_a_built_graph_has_the_methods_of_others(gpu, tmp_path):
    """Compare with a graph that the host built: runs on a CPU, changes, subgraphs, tables, stores."""
    graph, want = load("rmat:6", weights="1..9"), load("rmat:6", "cpu", weights="1..9")
    edges = [source.to_arrow() for source in (graph, want)]
    assert edges[0].equals(edges[1])
    np.testing.assert_array_equal(graph.vertices(), want.vertices())
    missing = next(v for v in range(1, want.n) if v not in want.block.targets[: want.block.offsets[1]])
    changed = [source.with_edges([(0, missing)], weights=[4]) for source in (graph, want)]
    assert changed[0].fingerprint() == changed[1].fingerprint() != want.fingerprint()
    chosen = [source.filter_vertices(lambda v: v.vertex < 32) for source in (graph, want)]
    assert chosen[0].fingerprint() == chosen[1].fingerprint()
    assert graph.undirected().fingerprint() == want.undirected().fingerprint()
    graph.save_store(tmp_path / "store")
    assert load(tmp_path / "store", "cpu").fingerprint() == want.fingerprint()


def test_a_built_graph_runs_on_a_cpu():
    graph, want = built("rmat:6"), load("rmat:6", "cpu")
    parents = [dgraph.bfs(source.on(device="cpu"), 3).columns["predecessor"] for source in (graph, graph, want)]
    np.testing.assert_array_equal(parents[0], parents[2])
    np.testing.assert_array_equal(parents[1], parents[2])
    graph.close()
    with pytest.raises(UsageError, match="was closed"):
        dgraph.bfs(graph.on(device="cpu"), 3)


@pytest.mark.exhaustive
def test_a_search_pushes_where_in_edges_do_not_fit():
    """Take away memory until pulls do not fit; then until nothing does."""
    want, taken = dgraph.bfs(load("rmat:6", "cpu"), 3), []
    for memory in (1 << 30, *range(712_000, 690_000, -2_000)):
        device = Device(seed=1)
        graph = built("rmat:6", device=device)
        device.memory = memory
        try:
            result = dgraph.bfs(graph.on(device=CudaBackend(0, 1, True, GpuPlan(), device)), 3)
        except OutOfMemory:
            taken.append("none")
            continue
        np.testing.assert_array_equal(result.columns["predecessor"], want.columns["predecessor"])
        taken += [choice["taken"] for choice in result.report["choices"] if choice["what"] == "direction"] or ["auto"]
    assert taken == sorted(taken, key=["auto", "push", "none"].index)
    assert set(taken) == {"auto", "push", "none"}


def test_without_a_gpu(capsys, monkeypatch):
    monkeypatch.setattr("dgraph.backend.has_gpu", lambda: False)
    assert main(["bfs", "rmat:5", "--build", "device"]) == 2
    assert "--build device is about GPUs, and this run has none" in capsys.readouterr().err
    with pytest.raises(UsageError, match="build='device' is about GPUs"):
        flat_run("bfs", "rmat:5", source=0, build="device", backend="cpu", comm=SerialComm())


def test_the_command_builds_once_for_all_sources(monkeypatch, capsys):
    opened_on = []

    def chosen(*args, built_on=None, **options):
        opened_on.append(built_on)
        return CudaBackend(0, 1, True, GpuPlan(), built_on or Device())

    for name in ("dgraph.engine.opened_device", "dgraph.backend.build"):
        monkeypatch.setattr(import_module(name), "backend", chosen)
    monkeypatch.setattr("dgraph.cli.solve.refuse_early", lambda *args, **options: None)
    assert main(["bfs", "rmat:6", "--build", "device", "--source", "2,3", "--validate"]) == 0
    told = capsys.readouterr()
    assert "1024 edges drawn over 64 vertices" in told.out + told.err
    assert told.err.count("validated: levels") == 2
    built, *opened = opened_on
    assert built is None
    assert len(opened) == 1, "the second run finds the device open"
    assert opened[0] is not None, "both runs are on the device of the build"
