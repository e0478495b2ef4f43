"""Texts of kernels are compiled once a host; NVRTC is a stub here."""

import subprocess
import sys

import pytest
from children import environment

from dgraph.backend.cuda.device import device as devices
from dgraph.backend.cuda.device import nvrtc

RANK = """
import sys, time
from pathlib import Path
from dgraph.backend.cuda.device import device, nvrtc
mine, other = map(Path, sys.argv[1:])

def compiled(text, architecture, name):
    time.sleep(0.2)
    sys.stdout.write(name + chr(10))
    return text.encode()

nvrtc.compiled, nvrtc.identity = compiled, lambda: "stub"
gpu = device.CudaDevice.__new__(device.CudaDevice)
gpu.architecture, gpu._keys, gpu._modules = "sm_90", {}, {}
texts = [(f"text {k}", f"kernel{k}") for k in range(4)]
mine.touch()
while not other.exists():
    time.sleep(0.001)
gpu.prepare(texts)
assert all(gpu.compiled(*text) for text in texts)
"""


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    monkeypatch.setattr(devices, "folder", lambda: tmp_path)
    monkeypatch.setattr(nvrtc, "identity", lambda: "stub")
    gpu = devices.CudaDevice.__new__(devices.CudaDevice)
    gpu.architecture, gpu._keys, gpu._modules = "sm_90", {}, {}
    return gpu


@pytest.mark.starts_children
def test_ranks_that_start_together_compile_each_text_once(tmp_path):
    tmp_path.chmod(0o700)
    extra = environment({"DGRAPH_CACHE_DIR": str(tmp_path)})
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, *places], cwd=tmp_path, env=extra, stdout=subprocess.PIPE, text=True
        )
        for places in (("a", "b"), ("b", "a"))
    ]
    lines = "".join([rank.communicate(timeout=100)[0] for rank in ranks])
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert sorted(lines.split()) == [f"kernel{k}" for k in range(4)]


def test_a_text_that_another_process_does_not_finish_is_compiled_here(gpu, monkeypatch):
    monkeypatch.setattr(nvrtc, "compiled", lambda text, *_: text.encode())
    monkeypatch.setattr("dgraph._support.host_lock.lock", lambda *_: False)
    gpu.prepare([("text", "kernel")])
    assert gpu.compiled("text", "kernel")


def test_a_text_that_does_not_compile_frees_its_lock(gpu, monkeypatch):
    def refuse(*_):
        raise nvrtc.InternalError("kernel does not compile")

    freed = []
    monkeypatch.setattr(nvrtc, "compiled", refuse)
    monkeypatch.setattr("dgraph._support.host_lock.unlock", freed.append)
    with pytest.raises(nvrtc.InternalError, match="does not compile"):
        gpu.prepare([("text", "kernel")])
    assert freed == [gpu._path("text", "kernel").name]
