"""Checks of this host's GPUs through the CUDA driver API and NVML, which work even if no GPU package does."""

from __future__ import annotations

import ctypes
import glob
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

from dgraph._support.version import __version__
from dgraph.backend.cuda.device import prebuilt
from dgraph.tools.doctor.finding import Finding, fail, ok, warn

CUPY = "import cupy; assert int(cupy.arange(5).sum()) == 10; print(cupy.__version__)"
NCCL = "from cupy.cuda import nccl; print(nccl.get_version())"
PATIENCE = 120
"""Seconds granted to CuPy for compiling its first kernel."""

MPS_ENABLED = 133
"""Value of CU_DEVICE_ATTRIBUTE_MPS_ENABLED."""

SMALL = 256
"""Bytes of a buffer for a device name."""


class NvmlMemory(ctypes.Structure):
    """NVML's nvmlMemory_t, in bytes."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def gpu_findings(ranks_here: int) -> Iterator[Finding]:
    """Yield the findings about the GPUs of this host, on which ``ranks_here`` ranks run."""
    cupy = [d for d in distributions() if (d.metadata["Name"] or "").lower().startswith("cupy")]
    if not Path("/proc/driver/nvidia/version").exists() and not glob.glob("/dev/nvidia[0-9]*"):
        yield ok("gpus", "none on this host: ranks run on its cores")
        return
    cuda = _library("libcuda.so.1")
    if cuda is None:
        yield fail(
            "gpus", "there are some, but no libcuda.so.1", "install the driver; in Docker: --gpus all; Apptainer: --nv"
        )
        return
    status = cuda.cuInit(0)
    if status:
        yield fail("gpus", f"the driver refuses to start (cuInit: {_error(cuda, status)})", "see nvidia-smi and dmesg")
        return
    number, driver = ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(number))
    cuda.cuDriverGetVersion(ctypes.byref(driver))
    count = number.value
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if count == 0:
        cure = "unset CUDA_VISIBLE_DEVICES, or ask the batch system for GPUs"
        yield warn("gpus", f"none is visible (CUDA_VISIBLE_DEVICES={visible})", cure)
        return
    yield ok("cuda driver", f"CUDA {driver.value // 1000}.{driver.value % 1000 // 10}")
    yield from _devices(cuda, count, visible, driver.value)
    yield _sharing(count, ranks_here)
    if _under_mps(cuda, count):
        cure = "end it (echo quit | nvidia-cuda-mps-control) for rounds across GPUs without the host"
        yield warn("mps", "the Multi-Process Service stands between ranks and GPUs: the host is in every round", cure)
    if count > 1:
        yield _peers(cuda, count)
    yield _cupy([f"{d.metadata['Name']} {d.version}" for d in cupy])
    yield _nccl(count)
    yield _cuda_aware()


def _library(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _error(cuda: ctypes.CDLL, status: int) -> str:
    text = ctypes.c_char_p()
    cuda.cuGetErrorName(status, ctypes.byref(text))
    return text.value.decode() if text.value else str(status)


def _devices(cuda: ctypes.CDLL, count: int, visible: str | None, driver: int) -> Iterator[Finding]:
    nvml = _library("libnvidia-ml.so.1")
    if nvml is not None and nvml.nvmlInit_v2():
        nvml = None
    texts, targets = [], []
    for device in range(count):
        name, pci = ctypes.create_string_buffer(SMALL), ctypes.create_string_buffer(SMALL)
        total, major, minor = ctypes.c_size_t(), ctypes.c_int(), ctypes.c_int()
        cuda.cuDeviceGetName(name, SMALL, device)
        cuda.cuDeviceTotalMem_v2(ctypes.byref(total), device)
        cuda.cuDeviceGetPCIBusId(pci, SMALL, device)
        for value, attribute in ((major, 75), (minor, 76)):  # compute capability
            cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        targets.append(f"sm_{major.value}{minor.value}")
        memory, handle = NvmlMemory(), ctypes.c_void_p()
        measured = False
        if nvml is not None and not nvml.nvmlDeviceGetHandleByPciBusId_v2(pci, ctypes.byref(handle)):
            measured = not nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
        free = f"{memory.free / 2**30:.0f} of " if measured else ""
        texts.append(
            f"{device}: {name.value.decode()} ({major.value}.{minor.value}), {free}{total.value / 2**30:.0f} GiB"
            f"{' free' if measured else ''}, {pci.value.decode()}"
        )
        if measured and memory.free < memory.total // 2:
            cure = "see nvidia-smi for the processes that hold it; choose another GPU with CUDA_VISIBLE_DEVICES"
            yield warn("gpu memory", f"more than half of GPU {device}'s is taken: {texts[-1]}", cure)
    yield ok("gpus", "; ".join(texts) + (f" (CUDA_VISIBLE_DEVICES={visible})" if visible else ""))
    yield from kernel_findings(sorted(set(targets)), driver)


def kernel_findings(architectures: list[str], driver: int) -> Iterator[Finding]:
    """Yield the finding about an installed wheel of kernels, see ``prebuilt.py``; none without a wheel."""
    try:
        built = version(prebuilt.DISTRIBUTION)
    except PackageNotFoundError:
        return
    cure = "make it again: python -m dgraph warmup --wheel FOLDER; other kernels compile at first runs"
    lacking = [target for target in architectures if prebuilt.folder(target, driver) is None]
    if lacking:
        yield warn("kernels", f"the wheel {prebuilt.DISTRIBUTION} has none for {', '.join(lacking)}", cure)
    elif built != __version__:
        yield warn("kernels", f"the wheel is of dgraph {built}, and this is {__version__}", cure)
    else:
        yield ok("kernels", f"of the wheel {prebuilt.DISTRIBUTION}, for {', '.join(architectures)}")


def _under_mps(cuda: ctypes.CDLL, count: int) -> bool:
    supported = ctypes.c_int()
    able = (not cuda.cuDeviceGetAttribute(ctypes.byref(supported), MPS_ENABLED, device) for device in range(count))
    return any(answered and supported.value for answered in able)


def _sharing(count: int, ranks_here: int) -> Finding:
    taken = ", ".join(f"{rank}→{rank % count}" for rank in range(min(ranks_here, 16)))
    if ranks_here > count:
        cure = f"start {count} ranks a host, or give --allow-gpu-sharing: they halve each other's memory and speed"
        return fail("gpu of each rank", f"{ranks_here} ranks share {count} GPUs: {taken}", cure)
    return ok("gpu of each rank", f"rank of the host → GPU: {taken}")


def _peers(cuda: ctypes.CDLL, count: int) -> Finding:
    able = ctypes.c_int()
    refused = []
    for a in range(count):
        for b in range(count):
            if a != b:
                cuda.cuDeviceCanAccessPeer(ctypes.byref(able), a, b)
                if not able.value:
                    refused.append(f"{a}-{b}")
    if not refused:
        return ok("peer access", f"between all {count} GPUs")
    rows = [
        "".join("  -" if a == b else "  n" if f"{a}-{b}" in refused else "  y" for b in range(count))
        for a in range(count)
    ]
    table = "\n".join(
        ["  " + "".join(f"{b:>3}" for b in range(count)), *(f"{a:>2}{row}" for a, row in enumerate(rows))]
    )
    cure = "ask Slurm for --gpu-bind=none; see nvidia-smi topo -p2p r; until then messages take other transports"
    return warn("peer access", f"not between GPUs {', '.join(refused)}\n{table}", cure)


def _cupy(names: list[str]) -> Finding:
    if not names:
        return warn("cupy", "not installed: GPUs stay unused", "pip install 'cupy-cuda12x[ctk]'")
    if len(names) > 1:
        return fail("cupy", f"two at once: {', '.join(names)}", f"pip uninstall {' '.join(names)}, then install one")
    try:
        done = subprocess.run(
            [sys.executable, "-c", CUPY], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return fail(
            "cupy", f"{names[0]}: no answer within {PATIENCE} s", "see nvidia-smi: another job may hold the GPU"
        )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return fail(
            "cupy", f"{names[0]} fails: {why}", "take the wheel of the driver's CUDA: cupy-cuda12x or cupy-cuda13x"
        )
    return ok("cupy", f"{names[0]} compiles and runs a kernel")


def _nccl(count: int) -> Finding:
    """Query NCCL in a child process: a library loaded here would become CuPy's, which may differ from other ranks'."""
    done = subprocess.run([sys.executable, "-c", NCCL], capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip().isdigit():
        if count == 1:
            return ok("nccl", "CuPy finds none; one GPU needs none")
        text = "CuPy finds none: GPUs of several hosts exchange through host memory"
        return warn("nccl", text, "pip install nvidia-nccl-cu13, or -cu12, as the driver has it")
    number = int(done.stdout)
    return ok("nccl", f"{number // 10000}.{number // 100 % 100}.{number % 100}")


def _cuda_aware() -> Finding:
    """Query the loaded MPI for CUDA support, and test a positive answer in a child process."""
    from dgraph.backend.cuda.transports import aware

    if "mpi4py" not in sys.modules:
        return ok("cuda-aware mpi", "no MPI is loaded: one process")
    says = aware.library_says()
    if says != aware.YES:
        answer = "no" if says == aware.NO else "unknown, so taken as no"
        return ok("cuda-aware mpi", f"{answer}: no address on a GPU is given to it")
    if died := aware.tried(0):
        cure = "nothing is given to it but host memory; see the MPI's documentation on CUDA if it should work"
        return warn("cuda-aware mpi", f"it says yes, but {died}", cure)
    return ok("cuda-aware mpi", "yes: a child sent GPU memory to itself")
