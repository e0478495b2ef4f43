"""Machine code of kernels that a wheel installed, so that a first run on a GPU compiles nothing.

``python -m dgraph warmup --wheel FOLDER`` makes the wheel ``dgraph-analytics-kernels``. Its package has a folder for
each version of CUDA, in it one for each architecture, and there a file for each text, named by the hash of the text and
of the compiler's options. A file is used only where the hash is equal: a changed program compiles as without the wheel.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from dgraph._support.cache import publish
from dgraph.backend.cuda.device import nvrtc

DISTRIBUTION, PACKAGE = "dgraph-analytics-kernels", "dgraph_kernels"

TEXTS = "DGRAPH_KERNEL_TEXTS"
"""Environment variable with the folder that the texts which a process wants go to, while a wheel is made."""


def file_name(text: str) -> str:
    """Return the name of a text's machine code in the wheel."""
    return hashlib.sha256("\n".join((text, *nvrtc.OPTIONS)).encode()).hexdigest()[:32]


@cache
def folder(architecture: str, driver: int) -> Path | None:
    """Return the folder of machine code that a GPU and its driver can load; None if no wheel has any.

    A GPU runs code of its major architecture and an equal or smaller minor one. A driver loads what an equal or older
    major version of CUDA compiled.

    Args:
        architecture: that of the GPU, such as ``sm_86``.
        driver: version of CUDA that the driver supports, such as 13000.
    """
    spec = find_spec(PACKAGE)
    roots = [Path(root) for root in spec.submodule_search_locations or ()] if spec else []
    major, minor = architecture[:-1], int(architecture[-1])
    fits = [
        (int(path.parent.name.removeprefix("cuda")), int(path.name[-1]), path)
        for root in roots
        for path in root.glob(f"cuda*/{major}?")
    ]
    fits = [fit for fit in fits if fit[0] <= driver // 1000 and fit[1] <= minor]
    return max(fits)[-1] if fits else None


def collect(text: str, name: str) -> None:
    """Keep a text for the wheel, where one is made."""
    if place := os.environ.get(TEXTS):
        publish(Path(place, f"{file_name(text)}.{name}.cu"), text.encode())
