"""Doctor: each problem is simulated, and must be reported with its remedy."""

import ctypes
import json
import mmap
import os
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from children import run

from dgraph.backend.cuda.transports import aware
from dgraph.cli import main
from dgraph.comm import SerialComm, memory, world
from dgraph.tools.doctor import FAIL, OK, WARN, Finding, examine, gpus, host, launch_checks
from dgraph.tools.doctor.checkup import _guarded, _merged


def of(findings, what):
    """Return the findings about one subject."""
    return [finding for finding in findings if finding.what == what]


@pytest.mark.mpi
def test_a_sound_launch_has_no_fault_and_is_told_alike_on_every_rank():
    comm = world()
    findings = examine(comm)
    assert [finding for finding in findings if finding.level == FAIL] == []
    names = [finding.what for finding in findings]
    assert {"launcher", "ranks", "versions", "cores", "memory", "compiled code", "compiler", "gpus"} <= set(names)
    told = comm.allgather_json([finding.found for finding in findings])
    assert all(one == told[0] for one in told)
    if comm.size > 1:
        (transport,) = of(findings, "transport")
        assert "every pair, contents checked" in transport.found
        assert f"{comm.size} on 1 host" in of(findings, "ranks")[0].found


@pytest.mark.mpi(min_size=2)
def test_a_transport_that_changes_bytes_is_caught():
    comm = world()

    class Broken(type(comm)):
        def __init__(self):
            vars(self).update(vars(comm))

        def exchange(self, sends, inboxes):
            out = comm.exchange(sends, inboxes)
            for inbox in inboxes.values():
                if comm.rank == 1:
                    inbox[12345] ^= 1
            return out

    findings = launch_checks.exchange_findings(Broken())
    (transport,) = of(findings, "transport")
    assert transport.level == FAIL
    assert "rank 1 got another message than rank" in transport.found


def test_the_command_prints_a_line_a_finding_and_its_cure(capsys, monkeypatch):
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith(("OK  ", "WARN", "FAIL", "    ")) for line in lines)
    assert any("Numba compiles" in line for line in lines)
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"level", "what", "found", "cure"} == set(told[0])
    monkeypatch.setattr(
        "dgraph.tools.doctor.checkup.gpu_findings", lambda ranks: [Finding(FAIL, "gpus", "burnt", "buy")]
    )
    assert main(["doctor", "-q"]) == 1
    words = capsys.readouterr().out.split()
    assert words[-5:] == ["FAIL", "gpus", "burnt", "cure:", "buy"]
    assert main(["doctor", "--what"]) == 2


@pytest.mark.starts_children
def test_ranks_that_cannot_find_each_other_are_a_finding(tmp_path):
    """Check srun without PMI, where every process is alone: only one of them reports it."""
    extra = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"}
    done = run([sys.executable, "-m", "dgraph", "doctor"], tmp_path / "0", timeout=110, extra=extra)
    assert done.code == 1, done.story()
    assert "FAIL  launcher" in done.text
    assert "srun started 4 processes, but each is alone" in done.text
    assert "OK    versions" in done.text
    done = run(
        [sys.executable, "-m", "dgraph", "doctor"], tmp_path / "1", timeout=110, extra=extra | {"SLURM_PROCID": "1"}
    )
    assert (done.code, done.text) == (1, ""), done.story()


Usage = namedtuple("Usage", "free")


def test_sick_hosts(monkeypatch, tmp_path):
    assert [f.level for f in host._cores(1)] == [OK]
    monkeypatch.setattr("os.cpu_count", lambda: len(os.sched_getaffinity(0)))
    assert "ranks take turns" in next(host._cores(4096)).found
    monkeypatch.setattr("os.cpu_count", lambda: 4096)
    assert "--bind-to none" in next(host._cores(4096)).cure
    monkeypatch.setattr("dgraph._support.affinity.quota", lambda: 0.5)
    assert next(host._cores(1)).cure.startswith("give --threads 1")
    monkeypatch.setattr(host, "free_memory", lambda: 3 << 30)
    assert [next(host._memory(ranks)).level for ranks in (3, 4)] == [OK, WARN]
    monkeypatch.setattr(host, "free_memory", lambda: None)
    assert next(host._memory(1)).level == WARN
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(64 << 20))
    assert "--shm-size" in next(host._shared_memory(2)).cure

    assert list(host._shared_memory(1)) == []
    assert next(host._cache()).level == WARN
    monkeypatch.setattr("dgraph._support.cache.folder", lambda: tmp_path / "none")
    monkeypatch.undo()
    monkeypatch.setattr(host, "PACKAGES", ("no-such-package",))
    assert "no-such-package is not installed" in next(host._versions()).found


def test_a_cache_folder_that_others_can_write_is_a_fault(monkeypatch, tmp_path):
    from dgraph._support import cache

    tmp_path.chmod(0o777)
    monkeypatch.setenv("DGRAPH_CACHE_DIR", str(tmp_path))
    cache.folder.cache_clear()
    try:
        (finding,) = host._cache()
    finally:
        cache.folder.cache_clear()
    assert finding.level == FAIL
    assert "can be written by others" in finding.found


def test_limits_of_a_container_count(monkeypatch, tmp_path):
    (tmp_path / "memory.max").write_text("2147483648\n")
    (tmp_path / "memory.current").write_text("1073741824\n")
    monkeypatch.setattr(
        memory, "Path", lambda *parts: Path(tmp_path, *parts[1:]) if parts[0] == "/sys/fs/cgroup" else Path(*parts)
    )
    assert memory.free_memory() == 1 << 30


def test_slow_ranks_are_told():
    comm = SerialComm()
    findings = list(launch_checks._judge(comm, 1, 1e-3, 1e8, 1, 0, np.array([-1.0, -1.0])))
    assert [f.level for f in findings] == [WARN, WARN]
    assert "1000 µs" in findings[0].found
    assert "0.1 GB/s (rank 0 to 1)" in findings[1].found
    assert next(launch_checks._judge(comm, 2, 1e-6, 1e9, 1, 0, np.array([-1.0]))).level == FAIL
    assert launch_checks._ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"


def test_a_check_that_breaks_is_a_finding():
    (finding,) = _guarded("gpus", lambda: 1 / 0)
    assert (finding.level, finding.what) == (FAIL, "gpus")
    assert "ZeroDivisionError" in finding.found


def test_hosts_that_differ_are_named_and_equal_ones_are_told_once():
    same, here, there = Finding(OK, "versions", "x"), Finding(OK, "memory", "1 GiB"), Finding(OK, "memory", "2 GiB")
    merged = _merged([[same, here], [], [same, there]], ["a", "a", "b"])
    assert [f.found for f in merged] == ["x", "a: 1 GiB", "b: 2 GiB"]


class Driver:
    """Stand-in for libcuda and NVML: status 0, results through pointers."""

    def __init__(self, count=2, start=0, peers=True, free=1 << 30, mps=False):
        self.count, self.start, self.peers, self.free, self.mps = count, start, peers, free, mps

    def cuInit(self, flags):
        return self.start

    def cuGetErrorName(self, status, text):
        text._obj.value = b"CUDA_ERROR_NO_DEVICE"

    def cuDeviceGetCount(self, number):
        number._obj.value = self.count

    def cuDriverGetVersion(self, number):
        number._obj.value = 12090

    def cuDeviceGetName(self, name, size, device):
        name.value = b"H200"

    def cuDeviceTotalMem_v2(self, total, device):
        total._obj.value = 1 << 32

    def cuDeviceGetPCIBusId(self, pci, size, device):
        pci.value = b"0000:0%d:00.0" % device

    def cuDeviceGetAttribute(self, value, attribute, device):
        value._obj.value = {75: 9, gpus.MPS_ENABLED: self.mps}.get(attribute, 0)

    def cuDeviceCanAccessPeer(self, able, a, b):
        able._obj.value = self.peers

    def nvmlInit_v2(self):
        return 0

    def nvmlDeviceGetHandleByPciBusId_v2(self, pci, handle):
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle, memory):
        memory._obj.total, memory._obj.free = 1 << 32, self.free
        return 0


@pytest.fixture
def driver(monkeypatch):
    """Simulate a host with GPUs: ``driver(...)`` sets the results of its libraries."""
    monkeypatch.setattr(gpus.glob, "glob", lambda pattern: ["/dev/nvidia0"] if pattern.startswith("/dev") else [])

    def install(libraries=("libcuda.so.1", "libnvidia-ml.so.1"), **says):
        library = Driver(**says)
        monkeypatch.setattr(gpus, "_library", lambda name: library if name in libraries else None)

    return install


def test_gpus_are_told_with_who_takes_which(driver, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    driver()
    findings = list(gpus.gpu_findings(2))
    assert of(findings, "cuda driver")[0].found == "CUDA 12.9"
    assert of(findings, "gpus")[0].found.startswith("0: H200 (9.0), 1 of 4 GiB free, 0000:00:00.0; 1: H200")
    assert of(findings, "gpu of each rank") == [Finding(OK, "gpu of each rank", "rank of the host → GPU: 0→0, 1→1")]
    assert of(findings, "peer access")[0].found == "between all 2 GPUs"
    assert of(findings, "nccl")[0].level == WARN
    assert len(of(findings, "gpu memory")) == 2
    assert of(findings, "cupy")[0].level in (WARN, FAIL)
    assert of(findings, "cuda-aware mpi")


def test_gpus_in_trouble(driver):
    driver(libraries=())
    assert "--nv" in next(gpus.gpu_findings(1)).cure
    driver(start=100)
    assert "CUDA_ERROR_NO_DEVICE" in next(gpus.gpu_findings(1)).found
    driver(count=0)
    assert next(gpus.gpu_findings(1)).level == WARN
    driver(peers=False, free=1 << 32)
    findings = list(gpus.gpu_findings(4))
    assert "4 ranks share 2 GPUs: 0→0, 1→1, 2→0, 3→1" in of(findings, "gpu of each rank")[0].found
    assert of(findings, "gpu of each rank")[0].level == FAIL
    told = of(findings, "peer access")[0].found.splitlines()
    assert told[0] == "not between GPUs 0-1, 1-0"
    assert [line.split() for line in told[1:]] == [["0", "1"], ["0", "-", "n"], ["1", "n", "-"]]
    assert of(findings, "mps") == []
    assert of(findings, "gpu memory") == []


def test_the_multi_process_service_is_named(driver):
    driver(mps=True)
    assert "Multi-Process Service stands between" in of(gpus.gpu_findings(1), "mps")[0].found


def test_what_mpi_says_of_gpus_is_tried(monkeypatch):
    pytest.importorskip("mpi4py")
    monkeypatch.setitem(sys.modules, "mpi4py", sys.modules.get("mpi4py", object()))
    monkeypatch.setattr(aware, "tried", lambda number: "a child died of SIGSEGV")
    for says, level, told in (
        (aware.NO, OK, "no: no address on a GPU is given to it"),
        (aware.UNKNOWN, OK, "unknown, so taken as no: "),
        (aware.YES, WARN, "it says yes, but a child died of SIGSEGV"),
    ):
        monkeypatch.setattr(aware, "library_says", lambda says=says: says)
        finding = gpus._cuda_aware()
        assert (finding.level, finding.found[: len(told)]) == (level, told)
    monkeypatch.setattr(aware, "tried", lambda number: "")
    assert gpus._cuda_aware().found == "yes: a child sent GPU memory to itself"


def test_cupy_is_tried_in_a_process_of_its_own(monkeypatch):
    monkeypatch.setattr(gpus, "CUPY", "raise SystemExit('no kernel image')")
    assert gpus._cupy(["cupy-cuda12x 14.2.0"]).found == "cupy-cuda12x 14.2.0 fails: no kernel image"
    monkeypatch.setattr(gpus, "CUPY", "print(1)")
    assert gpus._cupy(["cupy-cuda12x 14.2.0"]).level == OK
    assert "two at once" in gpus._cupy(["cupy-cuda12x 14.2.0", "cupy 14.2.0"]).found
    assert gpus._cupy([]).level == WARN


def test_a_library_that_is_not_there_is_none():
    assert gpus._library("libnosuchthing.so.7") is None
    assert isinstance(gpus._library("libc.so.6"), ctypes.CDLL)


def test_shared_memory_of_killed_runs_is_found(tmp_path):
    assert list(host._stale_segments(tmp_path)) == []
    (tmp_path / "mpich_shm_7_0").write_bytes(bytes(1 << 20))
    (tmp_path / "somebody_else").write_bytes(bytes(1 << 20))
    with (tmp_path / "mpich_shm_8_0").open("w+b") as file:
        file.truncate(1 << 20)
        with mmap.mmap(file.fileno(), 0):
            (finding,) = host._stale_segments(tmp_path)
    assert (finding.level, finding.found) == ("WARN", f"1 segments that ended MPI runs left in {tmp_path}, 1 MiB")
    assert f"rm -f {tmp_path / 'mpich_*'}" in finding.cure
