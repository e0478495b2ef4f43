"""Kernels that a wheel installed are loaded in place of compiling, where text, options, GPU and driver fit."""

import base64
import csv
import hashlib
import importlib
import io
import zipfile
from pathlib import Path

import pytest

from dgraph._support.version import __version__
from dgraph.backend.cuda.device import machine_code, nvrtc, prebuilt
from dgraph.backend.cuda.device.machine_code import MachineCode
from dgraph.cli.warmup import task
from dgraph.errors import UsageError
from dgraph.tools.doctor.gpus import kernel_findings
from dgraph.tools.kernel_wheel import build

pytestmark = pytest.mark.mpi_skip

TEXT = '__constant__ long env[2]; extern "C" __global__ void kernel(long n) { *(long*)env[0] = n + %d; }'


@pytest.fixture
def code(monkeypatch, tmp_path):
    """Return what a process without machine code would compile with; every compilation fails the test."""

    def compiled(text, *_, quick=False):
        raise AssertionError(f"compiled {text}")

    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setattr(machine_code, "folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(nvrtc, "compiled", compiled)
    return lambda built: MachineCode("sm_90", built)


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Return a function that installs empty folders of architectures as the package of kernels."""

    def install(*names):
        for name in names:
            (tmp_path / "site" / prebuilt.PACKAGE / name).mkdir(parents=True)
        monkeypatch.syspath_prepend(tmp_path / "site")
        importlib.invalidate_caches()
        return tmp_path / "site" / prebuilt.PACKAGE

    prebuilt.folder.cache_clear()
    yield install
    prebuilt.folder.cache_clear()


@pytest.mark.parametrize("waiting", [None, "always"])
def test_code_of_the_wheel_is_loaded_without_compiling(code, monkeypatch, tmp_path, waiting):
    monkeypatch.setenv("DGRAPH_COMPILE", waiting) if waiting else monkeypatch.delenv("DGRAPH_COMPILE", raising=False)
    (tmp_path / prebuilt.file_name("text")).write_bytes(b"machine code")
    kernels = code(tmp_path)
    assert kernels.exists("text", "kernel")
    assert kernels.optimised("text", "kernel")
    kernels.prepare([("text", "kernel")])
    kernels.postpone([("text", "kernel")])
    assert kernels.load("text", "kernel") == ([b"machine code"], True)
    assert not kernels.lacks()
    assert not list((tmp_path / "cache").iterdir())


def test_another_text_or_other_options_compile(code, monkeypatch, tmp_path):
    (tmp_path / prebuilt.file_name("text")).write_bytes(b"machine code")
    with pytest.raises(AssertionError, match="compiled text "):
        code(tmp_path).prepare([("text ", "kernel")])
    monkeypatch.setattr(nvrtc, "OPTIONS", ("--fmad=true",))
    with pytest.raises(AssertionError, match="compiled text"):
        code(tmp_path).prepare([("text", "kernel")])


@pytest.mark.parametrize(
    ("architecture", "driver", "taken"),
    [
        ("sm_80", 13000, "cuda13/sm_80"),
        ("sm_86", 13020, "cuda13/sm_86"),
        ("sm_89", 13000, "cuda13/sm_86"),
        ("sm_90", 12080, "cuda12/sm_90"),
        ("sm_121", 13000, "cuda13/sm_120"),
        ("sm_100", 13000, None),
        ("sm_90", 11080, None),
        ("sm_75", 13000, None),
    ],
)
def test_a_gpu_takes_the_nearest_code_that_it_and_its_driver_can_run(installed, architecture, driver, taken):
    package = installed("cuda12/sm_90", "cuda13/sm_80", "cuda13/sm_86", "cuda13/sm_120", "cuda14/sm_90")
    assert prebuilt.folder(architecture, driver) == (taken and package / taken)


def test_without_the_wheel_there_is_no_folder(installed):
    assert prebuilt.folder("sm_90", 13000) is None


def test_the_wheel_holds_each_text_for_each_architecture(monkeypatch, tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    monkeypatch.setenv(prebuilt.TEXTS, str(texts))
    for number in range(2):
        MachineCode("sm_90").path(TEXT % number, f"first_{number}")
    MachineCode("sm_80").path(TEXT % 0, "again")
    monkeypatch.delenv(prebuilt.TEXTS)
    wheel = build(texts, tmp_path / "dist", ("sm_80", "sm_90"))
    assert wheel.name.startswith("dgraph_analytics_kernels-")
    archive = zipfile.ZipFile(wheel)
    assert archive.testzip() is None
    cuda = f"cuda{nvrtc.version().split('.')[0]}"
    for architecture in ("sm_80", "sm_90"):
        for number in range(2):
            content = archive.read(f"{prebuilt.PACKAGE}/{cuda}/{architecture}/{prebuilt.file_name(TEXT % number)}")
            assert content == nvrtc.compiled(TEXT % number, architecture, f"first_{number}")
    record = next(name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
    rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
    assert sorted(row[0] for row in rows) == sorted(archive.namelist())
    for path, digest, size in rows:
        if path != record:
            content = archive.read(path)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            assert (digest, int(size)) == (f"sha256={wanted}", len(content))
    assert [path.name for path in Path(wheel.parent).iterdir()] == [wheel.name]


def test_an_architecture_that_the_compiler_does_not_know_is_refused_by_name():
    with pytest.raises(UsageError, match="sm_99"):
        task(["bfs", "--wheel", "dist", "--architectures", "sm_90,sm_99"])


@pytest.mark.parametrize(
    ("built", "architecture", "says"),
    [(None, "sm_90", None), (__version__, "sm_90", "OK"), ("0.1", "sm_90", "0.1"), (__version__, "sm_80", "sm_80")],
)
def test_doctor_says_if_the_wheel_serves_this_machine(installed, tmp_path, built, architecture, says):
    if built:
        installed("cuda13/sm_90")
        about = tmp_path / "site" / f"dgraph_analytics_kernels-{built}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {prebuilt.DISTRIBUTION}\nVersion: {built}\n")
    findings = list(kernel_findings([architecture], 13000))
    assert len(findings) == bool(built)
    assert not built or says in str(findings[0])
