"""Choice of a transport per pair of ranks: impossible ones are refused, wrong bytes detected, hosts simulated."""

import threading
import time

import numpy as np
import pytest
from emulated import needs_compiler
from emulated_raw import Raw
from linked import Nccl, chosen, device_of, memory, small
from simulated import on_ranks, succeed

from dgraph.backend.cuda.transports import aware, compare, connect, selftest
from dgraph.comm import SerialComm, world
from dgraph.comm.hosts import FAKE, hosts, ranks_here
from dgraph.errors import InternalError, UsageError

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    small(monkeypatch)


@pytest.mark.mpi_skip
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_auto_takes_p2p_on_one_host(size):
    for links in succeed(size, chosen):
        assert links.direct
        assert set(links.table.values()) == {"p2p"} - ({"p2p"} if size == 1 else set())
        if size > 1:
            assert all("contents checked, " in told and "GB/s" in told for told in links.why.values())
            assert links.names() == "p2p"
            latency, bandwidth = links.figures["p2p"]
            off = ~np.eye(size, dtype=bool)
            assert (latency[off] > 0).all()
            assert (bandwidth[off] > 0).all()
            assert np.isnan(latency[~off]).all()


@pytest.mark.mpi_skip
@pytest.mark.parametrize("with_nccl", [False, True])
def test_two_hosts_that_are_one(monkeypatch, with_nccl):
    monkeypatch.setenv(FAKE, "2")
    nccl = Nccl() if with_nccl else None
    every = succeed(4, lambda comm: chosen(comm, nccl=nccl))
    for rank, links in enumerate(every):
        assert links.table == every[0].table
        assert {pair for pair, name in links.table.items() if name == "p2p"} == {(0, 1), (2, 3)}
        assert set(links.table.values()) - {"p2p"} <= {"nccl", "mpi-host"}
        assert not links.direct
        assert "some ranks are joined by" in links.not_direct
        far = (rank + 2) % 4
        assert "no p2p: they are on different hosts" in links.why[far]
        assert ("no nccl" in links.why[far]) != with_nccl
        assert set(links.figures) == {"p2p", "mpi-host"} | ({"nccl"} if with_nccl else set())
    assert hosts(SerialComm())[0].endswith("#0")


@pytest.mark.mpi_skip
@pytest.mark.parametrize("sooner", ["nccl", "mpi-host"])
def test_auto_takes_what_is_sooner(monkeypatch, sooner):
    monkeypatch.setenv(FAKE, "2")
    monkeypatch.setattr(selftest.Trial, "timed", lambda self, size: 1e-9 * size * (1 + (self.name != sooner)))
    nccl = Nccl()
    for links in succeed(2, lambda comm: chosen(comm, nccl=nccl)):
        assert links.table == {(0, 1): sooner}
        assert set(links.figures) == {"nccl", "mpi-host"}


@pytest.mark.mpi_skip
def test_different_libraries_of_nccl_are_not_joined():
    told = on_ranks(3, lambda comm: chosen(comm, "nccl", nccl=Nccl(22_800 + comm.rank // 2)))
    assert "rank 0 has NCCL 22800, rank 2 22801: one would wait" in str(told[1])


@pytest.mark.mpi_skip
def test_nccl_that_does_not_start_is_left_out(monkeypatch):
    class Broken(Nccl):
        def NcclCommunicator(self, size, name, rank):
            if rank == 1:
                raise RuntimeError("NCCL_ERROR_SYSTEM_ERROR: unhandled system error")
            return super().NcclCommunicator(size, name, rank)

    monkeypatch.setenv(FAKE, "2")
    nccl = Broken()
    for links in succeed(2, lambda comm: chosen(comm, nccl=nccl)):
        assert links.table == {(0, 1): "mpi-host"}
        assert "no nccl: NCCL does not start: RuntimeError: NCCL_ERROR_SYSTEM_ERROR" in str(links.against[0, 1])
    assert "NCCL does not start" in refusals(2, "nccl", nccl=nccl)


@pytest.mark.mpi_skip
@pytest.mark.parametrize(("fails", "told"), [(True, "RuntimeError: no memory"), (False, "a rank did not come")])
def test_nccl_that_waits_for_a_rank_in_vain_is_left_out(monkeypatch, fails, told):
    """Check a deadline for NCCL's start, which has none if a rank is missing; the failed rank's reason is reported."""

    class Waiting(Nccl):
        def NcclCommunicator(self, size, name, rank):
            if rank == 1 and fails:
                raise RuntimeError("no memory")
            time.sleep(40)

    monkeypatch.setattr("dgraph.backend.cuda.transports.nccl.PATIENCE", 0.1)
    began, nccl = time.monotonic(), Waiting()
    assert told in refusals(2, "nccl", nccl=nccl)
    assert time.monotonic() - began < 20


@pytest.mark.mpi_skip
def test_a_rank_without_nccl_does_not_leave_others_waiting(monkeypatch):
    class Nameless(Nccl):
        def get_unique_id(self):
            raise RuntimeError("no socket")

    nccl = Nameless()
    assert "no socket" in refusals(2, "nccl", nccl=nccl)


@pytest.mark.mpi_skip
def test_machines_of_one_name_are_told_apart(monkeypatch):
    monkeypatch.setattr("dgraph.comm.hosts.machine", lambda: "localhost")
    boots = threading.local()
    monkeypatch.setattr("dgraph.comm.hosts.boot", lambda: boots.id)

    def work(comm):
        boots.id = "abbc"[comm.rank]
        return hosts(comm), ranks_here(comm)

    told = succeed(4, work)
    assert all(names == ["localhost", "localhost (2)", "localhost (2)", "localhost (3)"] for names, _ in told)
    assert [here for _, here in told] == [[0], [1, 2], [1, 2], [3]]


@pytest.mark.mpi_skip
def test_a_wrong_number_of_fake_hosts(monkeypatch):
    monkeypatch.setenv(FAKE, "two")
    with pytest.raises(UsageError, match="DGRAPH_FAKE_HOSTS=two is not a number of hosts"):
        hosts(SerialComm())


def refusals(size, transport, **raw):
    """Return the error message that every rank raises."""
    told = on_ranks(size, lambda comm: chosen(comm, transport, **raw))
    assert all(isinstance(error, UsageError) for error in told), told
    assert len(set(map(str, told))) == 1
    return str(told[0])


@pytest.mark.mpi_skip
def test_a_transport_that_cannot_be_is_refused_with_the_pair(monkeypatch):
    assert "unknown transport 'p2q': did you mean 'p2p'" in refusals(2, "p2q")
    assert "transport p2p cannot join ranks 0 and 1: they share GPU-one" in refusals(2, "p2p", uuid="GPU-one")
    told = refusals(3, "nccl", uuid="GPU-one", nccl=Nccl())
    assert "transport nccl cannot join ranks 0 and 1 (and 2 pairs more): ranks 0 and 1 share GPU-one" in told
    assert "rank 0 finds no NCCL (pip install" in refusals(2, "nccl")
    assert "ranks 0 and 1: MPI is not CUDA-aware, says the library on rank 0" in refusals(2, "mpi-device")
    monkeypatch.setenv(FAKE, "2")
    assert "p2p cannot join ranks 0 and 2 (and 3 pairs more): they are on different hosts" in refusals(4, "p2p")


@pytest.mark.mpi_skip
def test_gpus_that_do_not_reach_each_other():
    def work(comm):
        return chosen(comm, blind=("GPU-1",) if comm.rank == 0 else (), uuid=f"GPU-{comm.rank}")

    for links in succeed(3, work):
        assert links.table == {(0, 1): "mpi-host", (0, 2): "p2p", (1, 2): "p2p"}
        assert "no access to each other" in str(links.against[0, 1])


@pytest.mark.mpi_skip
def test_memory_that_cannot_be_opened():
    class Walled(Raw):
        def open(self, handle):
            raise RuntimeError("cudaErrorMapBufferObjectFailed")

    def work(comm):
        device = device_of(comm.rank)
        if comm.rank == 1:
            device.raw = Walled()
        return connect(device, comm, "auto")

    for links in succeed(3, work):
        assert links.table == {(0, 1): "mpi-host", (0, 2): "p2p", (1, 2): "mpi-host"}
        assert "rank 1 cannot open rank 0's memory: cudaErrorMap" in str(links.against[0, 1])


@pytest.mark.mpi_skip
def test_ranks_that_share_a_gpu_go_through_the_host():
    for links in succeed(3, lambda comm: chosen(comm, uuid=f"GPU-{comm.rank // 2}")):
        assert links.table == {(0, 1): "mpi-host", (0, 2): "p2p", (1, 2): "p2p"}
    for links in succeed(2, lambda comm: chosen(comm, mps=True)):
        assert links.table == {(0, 1): "p2p"}
        assert not links.direct
        assert "Multi-Process Service" in links.not_direct


class Elsewhere(Raw):
    """Peer memory in which nothing arrives."""

    def open(self, handle):
        super().open(handle)
        return self.malloc(1 << 17)


class Flipping(Raw):
    """Copies of more than 100 bytes with one wrong bit."""

    def copy(self, to, source, size, stream=None):
        super().copy(to, source, size, stream)
        if size > 100:
            stream.until(len(stream.work))
            memory(to, size)[99] ^= 4


@pytest.mark.mpi_skip
def test_a_transport_that_brings_wrong_bytes_is_found_and_named(monkeypatch):
    def work(comm, kind, transport="auto", **raw):
        device = device_of(comm.rank)
        device.raw = kind(**raw) if comm.rank == 1 else Raw(**raw)
        return connect(device, comm, transport)

    monkeypatch.setattr(selftest, "PATIENCE", 0.5)
    for links in succeed(3, lambda comm: work(comm, Elsewhere)):
        assert links.table == {(0, 1): "mpi-host", (0, 2): "p2p", (1, 2): "mpi-host"}
        assert [(name, a, b) for name, a, b, _ in links.broken] == [("p2p", 0, 1), ("p2p", 1, 2)]
        assert "from rank 1 to 0: no signal within" in str(links.against[0, 1])
    told = on_ranks(2, lambda comm: work(comm, Flipping, "mpi-host"))
    assert all(isinstance(error, UsageError) for error in told)
    assert "transport mpi-host cannot join ranks 0 and 1: from rank 1 to 0: " in str(told[0])
    assert "words of a message are wrong, the first is number" in str(told[0])
    nccl = Nccl()
    nccl.flip = True
    for links in succeed(2, lambda comm: work(comm, Elsewhere, nccl=nccl)):
        assert links.table == {(0, 1): "mpi-host"}
        assert [name for name, *_ in links.broken] == ["p2p", "nccl"]
        assert "1 of 2500 words of a message are wrong, the first is number 624" in str(links.against[0, 1])
    told = on_ranks(2, lambda comm: work(comm, type("Both", (Elsewhere, Flipping), {})))
    assert all(isinstance(error, InternalError) for error in told)
    assert "no transport brings ranks 0 and 1 the right bytes: no p2p: " in str(told[0])


@pytest.mark.mpi
def test_processes():
    """Check messages between processes, whose memory is opened by handles, and over MPI."""
    comm = world()
    for transport in ("auto", "p2p", "mpi-host"):
        links = chosen(comm, transport)
        assert set(links.chosen.values()) <= {"p2p" if transport == "auto" else transport}


@pytest.mark.gpu
@pytest.mark.mpi(min_size=2)
def test_gpus():
    """Check ranks on the available GPUs, in turn: the self-test of every possible transport finds no error."""
    pytest.importorskip("cupy")
    from dgraph.backend.cuda.device.device import CudaDevice, count

    comm = world()
    if not count():
        pytest.skip("there is no GPU")
    device = CudaDevice(comm.rank % count())
    device.use()
    links, refused = compare(device, comm)
    assert links.broken == []
    assert refused["mpi-host"] == {}
    alone = comm.size <= count()
    assert not alone or not refused["p2p"] or "no access" in str(refused["p2p"])
    assert alone or "share GPU-" in str(refused["p2p"])
    assert links.figures["mpi-host"][1][0, 1] > 1e6


@pytest.mark.mpi_skip
@pytest.mark.starts_children
def test_a_child_that_dies_is_an_answer(monkeypatch):
    told = {
        "import os; os.kill(os.getpid(), 11)": "died of SIGSEGV",
        "raise RuntimeError('no such device')": "ended with 1: RuntimeError: no such device",
        "import sys; sys.exit(3)": "ended with 3: no message",
        "import time; time.sleep(60)": "gave no answer within 1 s",
        "import sys; assert sys.argv[1] == '7'": "",
    }
    monkeypatch.setattr(aware, "PATIENCE", 1)
    for text, expected in told.items():
        monkeypatch.setattr(aware, "CHILD", text)
        assert aware.tried(7).endswith(expected) if expected else aware.tried(7) == ""


@pytest.mark.mpi_skip
def test_mpi_device_is_tried_in_a_child_first(monkeypatch):
    monkeypatch.setattr(aware, "library_says", lambda: aware.YES)
    monkeypatch.setattr(aware, "tried", lambda number: "a child died of SIGSEGV")
    assert "ranks 0 and 1: on the host of rank 0, a child died of SIGSEGV" in refusals(2, "mpi-device")
    monkeypatch.setattr(aware, "tried", lambda number: "")
    assert set(succeed(2, lambda comm: chosen(comm, "mpi-device"))[0].table.values()) == {"mpi-device"}
    monkeypatch.setattr(aware, "library_says", lambda: aware.UNKNOWN)
    monkeypatch.setenv(FAKE, "2")
    assert "unknown on rank 0" in succeed(2, chosen)[0].why[1]


@pytest.mark.mpi_skip
@pytest.mark.parametrize("step", ["malloc", "share", "pinned", "uuid", "can_access"])
def test_a_fault_of_one_rank_is_raised_on_all(step):
    def fails(*_):
        raise RuntimeError(f"cudaErrorMemoryAllocation in {step}")

    def work(comm):
        device = device_of(comm.rank)
        if comm.rank == 1:
            setattr(device.raw, step, fails)
        return connect(device, comm, "mpi-host" if step == "pinned" else "auto")

    told = on_ranks(3, work)
    assert all(isinstance(error, InternalError) for error in told), told
    assert all(f"cudaErrorMemoryAllocation in {step}" in str(error) for error in told)
