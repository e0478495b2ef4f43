"""The wheel ``dgraph-analytics-kernels``: machine code of texts for several architectures, see ``device/prebuilt.py``.

A text is compiled by as many processes as cores, since NVRTC parses one text of a process at a time. What the cache
folder has for the GPU of this machine is taken from there.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path

from dgraph._support.affinity import cores
from dgraph._support.version import __version__
from dgraph.backend.cuda.device import nvrtc
from dgraph.backend.cuda.device.machine_code import MachineCode
from dgraph.backend.cuda.device.prebuilt import DISTRIBUTION, PACKAGE

ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")
"""Architectures of a wheel. Their code also runs on GPUs of the same major and a larger minor number."""

INIT = f'"""Machine code of kernels of dgraph-analytics {__version__}; dgraph loads it in place of compiling."""\n'


def build(texts: Path, place: Path, architectures: Sequence[str] = ARCHITECTURES) -> Path:
    """Compile the texts that :func:`prebuilt.collect` kept, and return the path of the wheel.

    Args:
        texts: folder of the texts.
        place: folder of the wheel, created if it is missing.
        architectures: targets, such as ``sm_90``.
    """
    place.mkdir(parents=True, exist_ok=True)
    wheel = place / f"{PACKAGE.replace('dgraph', 'dgraph_analytics')}-{__version__}-py3-none-any.whl"
    version = f"cuda{nvrtc.version().split('.')[0]}"
    sources = {path.name.partition(".")[0]: path for path in sorted(texts.glob("*.cu"))}  # some texts have two names
    jobs = list(product(architectures, sources))
    record: list[tuple[str, str, int]] = []
    draft = wheel.with_suffix(".tmp")
    with (
        zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive,
        ProcessPoolExecutor(cores(), get_context("spawn")) as pool,
    ):
        _add(archive, record, f"{PACKAGE}/__init__.py", INIT.encode())
        codes = pool.map(_code, *zip(*((target, sources[digest]) for target, digest in jobs), strict=True))
        for (target, digest), code in zip(jobs, codes, strict=True):
            _add(archive, record, f"{PACKAGE}/{version}/{target}/{digest}", code)
        folder = f"{DISTRIBUTION.replace('-', '_')}-{__version__}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: {__version__}\nLicense: Apache-2.0\n"
        kind = "Wheel-Version: 1.0\nGenerator: dgraph\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        _add(archive, record, f"{folder}/METADATA", metadata.encode())
        _add(archive, record, f"{folder}/WHEEL", kind.encode())
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\n").writerows([*record, (f"{folder}/RECORD", "", "")])
        archive.writestr(f"{folder}/RECORD", lines.getvalue())
    return draft.replace(wheel)


def _code(architecture: str, source: Path) -> bytes:
    """Return a text's optimised machine code, from the cache folder if it is there."""
    text, name = source.read_text(), source.stem.partition(".")[-1]
    kept = MachineCode(architecture).path(text, name)
    return kept.read_bytes() if kept.exists() else nvrtc.compiled(text, architecture, name)


def _add(archive: zipfile.ZipFile, record: list[tuple[str, str, int]], path: str, content: bytes) -> None:
    """Add a file to the wheel and to its record (PEP 427)."""
    archive.writestr(path, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record.append((path, f"sha256={digest}", len(content)))
