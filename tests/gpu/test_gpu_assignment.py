"""Assignment of GPUs to ranks, with reports and refusals, on emulated devices."""

import json

import emulated
import numpy as np
import pytest
from emulated import Device, needs_compiler
from emulated_raw import Raw
from flat_run import flat_run
from simulated import on_ranks, succeed

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.backend import connect
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.device import gpu_assignment
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.transports import aware, selftest
from dgraph.backend.cuda.transports import connect as connect_gpus
from dgraph.backend.transport_names import TRANSPORTS
from dgraph.cli import main
from dgraph.cli.parser import parse
from dgraph.comm import world
from dgraph.comm.hosts import FAKE
from dgraph.errors import UsageError
from dgraph.report import Record
from dgraph.tools.doctor import FAIL, OK, WARN
from dgraph.tools.doctor import transport_checks as doctor


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.delenv(FAKE, raising=False)
    monkeypatch.setattr(selftest, "SIZES", (64, 20_000))
    monkeypatch.setattr(selftest, "TURNS", 4)
    monkeypatch.setattr(aware, "library_says", lambda: aware.NO)


@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    ("gpus", "place", "here", "visible", "number"),
    [
        (None, 0, 4, 4, (0, "by place on the node")),
        (None, 3, 4, 4, (3, "by place on the node")),
        (None, 3, 4, 2, (1, "by place on the node")),
        (None, 3, 4, 1, (0, "the only one visible")),
        ("3,2, 1,0", 1, 4, 4, (2, "as gpus='3,2, 1,0' says")),
        ("1,1", 1, 2, 2, (1, "as gpus='1,1' says")),
        ("0", 0, 1, 1, (0, "as gpus='0' says")),
    ],
)
def test_a_rank_finds_its_gpu(gpus, place, here, visible, number):
    assert gpu_assignment.number(gpus, place, here, visible) == number


@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    ("gpus", "told"),
    [
        ("0,x", "gpus='0,x' is not a list of GPUs; write their numbers"),
        ("", "is not a list of GPUs"),
        ("0", "gpus='0' names 1 for the 2 ranks of this node"),
        ("0,7", "gpus='0,7': there is no GPU 7, only 0 to 3"),
    ],
)
def test_a_wrong_map(gpus, told):
    with pytest.raises(UsageError, match=told):
        gpu_assignment.number(gpus, 1, 2, 4)


def backend_of(comm, uuid=None, mps=False):
    device = Device(2, seed=comm.rank + 1)
    device.raw = Raw(uuid, mps=mps)
    return CudaBackend(comm.rank, comm.size, comm.size == 1, GpuPlan(), device)


@needs_compiler
@pytest.mark.mpi_skip
def test_gpus_that_ranks_share_are_refused_unless_allowed():
    told = on_ranks(3, lambda comm: connect(backend_of(comm, f"GPU-{comm.rank % 2}"), comm))
    assert all(isinstance(error, UsageError) for error in told)
    assert len(set(map(str, told))) == 1
    assert str(told[0]).startswith("ranks 0, 2 share GPU 0 (GPU-0): they would take turns")
    assert "share=True" in str(told[0])
    joined = succeed(3, lambda comm: connect(backend_of(comm, f"GPU-{comm.rank % 2}"), comm, "auto", True))
    assert joined[1].warnings == ["ranks 0, 2 share GPU 0 (GPU-0): they take turns"]
    assert joined[0].transport == "p2p, mpi-host"
    assert "mpi-host between 0-2: contents checked" in joined[2].reason
    assert "(no p2p: they share GPU-0; no nccl: " in joined[2].reason
    assert [gpu["uuid"] for gpu in joined[0].gpus] == ["GPU-0", "GPU-1", "GPU-0"]


@needs_compiler
@pytest.mark.mpi_skip
def test_mps_is_named():
    joined = succeed(2, lambda comm: connect(backend_of(comm, mps=comm.rank == 1), comm))
    assert joined[0].warnings == ["the Multi-Process Service (MPS) stands between ranks 1 and their GPUs"]


@needs_compiler
@pytest.mark.mpi_skip
def test_ranks_without_a_gpu_are_joined_through_the_host():
    class Cores:
        name = "cpu"

    def mixed(comm, transport="auto"):
        engine = Cores() if comm.rank == 1 else backend_of(comm)
        return connect(engine, comm, transport), getattr(engine, "links", None)

    for joined, links in succeed(2, mixed):
        assert joined.reason == "host memory, because rank 1 has no GPU"
        assert links is None
    told = on_ranks(2, lambda comm: mixed(comm, "p2p"))
    assert str(told[0]).startswith("transport p2p connects GPUs, but rank 1 computes on the cpu")
    assert isinstance(told[1], UsageError)


@needs_compiler
@pytest.mark.mpi_skip
def test_the_self_test_runs_once_for_the_same_ranks_and_gpus(monkeypatch):
    tried = []
    monkeypatch.setattr(
        "dgraph.backend.cuda.transports.choice.selftest",
        lambda device, comm, *rest: tried.append(comm.rank) or selftest.selftest(device, comm, *rest),
    )

    def work(comm):
        backends = [backend_of(comm, f"GPU-{comm.rank}") for _ in range(3)]
        for backend in backends:
            connect(backend, comm)
        assert backends[0].links is backends[2].links
        connect(backend_of(comm, ("GPU-0", "GPU-7")[comm.rank]), comm)  # only rank 0 has tested this GPU

    succeed(2, work)
    assert sorted(tried) == [0, 0, 1, 1]


@needs_compiler
@pytest.mark.mpi
def test_the_report_says_which_gpu_and_which_transport(monkeypatch):
    """Check the report of an emulated run: choices, the ranks' GPUs, simulated hosts."""
    comm = world()
    graph = dgraph.Graph.from_edges(*np.arange(40).reshape(2, 20), n=40, comm=comm)
    for fake in (None, "2"):
        if fake:
            monkeypatch.setenv(FAKE, fake)
        report = flat_run("cc", graph, backend=emulated.backend()).report
        choices = {choice["what"]: choice for choice in report["choices"]}
        assert choices["gpus"]["taken"] == ", ".join("0" * comm.size)
        assert f"rank {comm.size - 1} emulated GPU-emulated-" in choices["gpus"]["reason"]
        assert all(rank["gpu"]["uuid"].startswith("GPU-emulated-") for rank in report["ranks"])
        assert len(report["hosts"]) == (2 if fake and comm.size > 1 else 1)
        if comm.size == 1:
            assert choices["transport"]["taken"] == "none"
        elif fake and comm.size == 2:
            assert choices["transport"]["taken"] == "mpi-host"
            assert "no p2p: they are on different hosts" in choices["transport"]["reason"]
        elif not fake:
            assert choices["transport"]["taken"] == "p2p"
            assert "contents checked" in choices["transport"]["reason"]


@pytest.mark.mpi
def test_cpu_ranks_have_one_transport(monkeypatch):
    comm = world()
    graph = dgraph.Graph.from_edges(np.arange(3), np.arange(1, 4), n=4, comm=comm)
    monkeypatch.setenv(FAKE, "2")
    result = flat_run("cc", graph, backend="cpu", transport="mpi-host")
    assert len(result.report["hosts"]) == min(comm.size, 2)
    with pytest.raises(UsageError, match="--transport nccl is about GPUs, and --backend cpu takes none"):
        flat_run("cc", graph, backend="cpu", transport="nccl")
    with pytest.raises(UsageError, match="unknown transport 'ncll': did you mean 'nccl'"):
        flat_run("cc", graph, backend="cpu", transport="ncll")
    with pytest.raises(UsageError, match="--gpus 0 is about GPUs"):
        flat_run("cc", graph, backend="cpu", gpus="0")


@needs_compiler
@pytest.mark.mpi_skip
def test_the_doctor_tries_every_transport(monkeypatch):
    findings = {
        finding.what: finding
        for finding in succeed(3, lambda comm: list(doctor._tried(comm, backend_of(comm).device)))[1]
    }
    assert list(findings) == [*(f"transport {name}" for name in TRANSPORTS), "transport of GPUs"]
    assert [finding.level for finding in findings.values()] == [OK, WARN, OK, OK, OK]
    assert "rank 0 finds no NCCL" in findings["transport nccl"].found
    assert "auto takes p2p between all ranks: contents checked" in findings["transport of GPUs"].found
    monkeypatch.setattr(doctor, "_has_gpu", lambda: False)
    assert succeed(2, doctor.transport_findings) == [[], []]


@needs_compiler
@pytest.mark.mpi_skip
def test_findings_of_transports():
    def work(comm):
        device = backend_of(comm).device
        return connect_gpus(device, comm)

    links = succeed(3, work)[0]
    figures = links.figures["p2p"]
    good = doctor._finding("p2p", 3, figures, {}, set())
    assert good.level == OK
    assert good.found.startswith("every pair, contents checked; ")
    assert len(good.found.splitlines()) == 5
    assert good.found.splitlines()[2].split()[:2] == ["0", "-"]
    some = doctor._finding("p2p", 3, figures, {(0, 1): "they share X"}, set())
    assert (some.level, some.cure[:17]) == (WARN, "ranks of one host")
    assert some.found.startswith("not between 1 of the pairs, as ranks 0 and 1: they share X\nthe others: ")
    none = doctor._finding("mpi-device", 2, None, {(0, 1): "MPI is not CUDA-aware"}, set())
    assert (none.level, none.found) == (OK, "not between any ranks: MPI is not CUDA-aware")
    bad = doctor._finding("nccl", 3, figures, {(1, 2): "from rank 1 to 2: 3 words"}, {(1, 2)})
    assert bad.level == FAIL
    assert "WRONG BYTES" in bad.found
    assert json.dumps(bad.found)


@pytest.mark.mpi_skip
def test_a_trace_without_a_gpu_has_none():
    assert "gpu" not in Record(world()).collect()["ranks"][0]


@pytest.mark.mpi_skip
def test_the_command_line(capsys):
    asked = parse(["cc", "x.el", "--gpus", "1,0", "--allow-gpu-sharing", "--transport", "nccl"], ALGORITHMS)
    assert asked.run == {"gpus": "1,0", "allow_gpu_sharing": True, "transport": "nccl"}
    with pytest.raises(UsageError, match="argument --transport: invalid choice: 'tcp'"):
        parse(["cc", "--transport", "tcp"], ALGORITHMS)
    for name in ("auto", *TRANSPORTS):
        assert parse(["cc", "--transport", name], ALGORITHMS).run["transport"] == name
    assert main(["list"]) == 0
    told = capsys.readouterr().out
    assert all(f"  {name} " in told for name in TRANSPORTS)


@needs_compiler
@pytest.mark.mpi
def test_answers_do_not_depend_on_transports(monkeypatch):
    """Check p2p within each of two simulated hosts with host memory between them, and host memory alone."""
    comm = world()
    graph = dgraph.Graph.load("rmat:6,seed=3", comm=comm, weights="1..9")
    for algorithm, parameters in (("sssp", {"source": 5}), ("pagerank", {"tol": 0.0, "max_iter": 6})):
        (column,) = {"distance", "pagerank"} & set(flat_run(algorithm, graph, backend="cpu", **parameters).columns)
        wanted = flat_run(algorithm, graph, backend="cpu", policy="cvc", **parameters).columns[column]
        for fake, transport in (("2", "auto"), ("1", "mpi-host")):
            monkeypatch.setenv(FAKE, fake)
            result = flat_run(
                algorithm, graph, backend=emulated.backend(), policy="cvc", transport=transport, **parameters
            )
            with comm.together():
                np.testing.assert_allclose(result.columns[column], wanted, rtol=1e-12)
