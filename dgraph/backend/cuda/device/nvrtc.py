"""NVRTC: CUDA C++ text in, machine code for one architecture out. Needs neither a GPU nor its driver."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from dgraph.errors import InternalError, UsageError

OPTIONS = ("--std=c++17", "--fmad=false")
"""Compiler options. No fused multiply-add: floats get the same bits as on the CPU."""

QUICK = ("--Ofast-compile=mid", "--define-macro=QUICK")
"""Further options of code that a first answer waits for: half the time to compile, kernels up to 1.8 times as slow.

Functions that are ``CALLED`` are then not copied to each place that calls them.
"""


def _library():
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise UsageError(
            "the GPU backend compiles with NVRTC through cuda-bindings, which is not installed; "
            "pip install 'dgraph-analytics[cuda13]' (or [cuda12], as your driver has it)"
        ) from error
    return nvrtc


def version() -> str:
    """Return the version of NVRTC, such as "13.0"."""
    nvrtc = _library()
    status, major, minor = nvrtc.nvrtcVersion()
    _check(nvrtc, status)
    return f"{major}.{minor}"


def architectures() -> list[str]:
    """Return the architectures that NVRTC compiles for, such as ``sm_90``."""
    nvrtc = _library()
    status, numbers = nvrtc.nvrtcGetSupportedArchs()
    _check(nvrtc, status)
    return [f"sm_{number}" for number in numbers]


def identity() -> str:
    """Return a text that differs between versions of NVRTC, without loading it where a package of its own holds it.

    A run whose machine code is in the cache folder then starts without the compiler.
    """
    spec = find_spec("cuda.bindings") if find_spec("cuda") else None
    packages = Path(spec.origin).parents[2].glob("nvidia_cuda_nvrtc*.dist-info") if spec and spec.origin else ()
    return " ".join(sorted(path.stem for path in packages)) or version()


def compiled(text: str, architecture: str, name: str, quick: bool = False) -> bytes:
    """Compile a text to machine code (cubin).

    Args:
        text: CUDA C++.
        architecture: target, such as ``sm_90``.
        name: name of the text in messages.
        quick: compile with :data:`QUICK`, where the compiler has that option.

    Raises:
        InternalError: the text does not compile; the message has the compiler's first lines.
    """
    nvrtc = _library()
    status, program = nvrtc.nvrtcCreateProgram(text.encode(), f"{name}.cu".encode(), 0, [], [])
    _check(nvrtc, status)
    words = (f"--gpu-architecture={architecture}", *OPTIONS, *(QUICK if quick else ()))
    options = [word.encode() for word in words]
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if quick and status == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            return compiled(text, architecture, name)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise InternalError(f"{name} does not compile for {architecture}: {_log(nvrtc, program)}")
        status, size = nvrtc.nvrtcGetCUBINSize(program)
        _check(nvrtc, status)
        code = b" " * size
        _check(nvrtc, nvrtc.nvrtcGetCUBIN(program, code)[0])
        return code
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _log(nvrtc, program) -> str:
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    return "\n".join(log.decode(errors="replace").splitlines()[:30])


def _check(nvrtc, status) -> None:
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise InternalError(f"NVRTC: {status}")
