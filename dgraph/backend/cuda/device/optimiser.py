"""Process in the background that optimises kernels which a first answer took quickly compiled.

Its input are the texts in the cache folder (``machine_code.py``), so a later process goes on where one was killed. One
a host works at a time, at the lowest priority; it holds no GPU, and outlives the command that started it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dgraph._support.affinity import cores, unbound
from dgraph._support.cache import folder, publish
from dgraph._support.host_lock import locked
from dgraph.backend.cuda.device import nvrtc
from dgraph.backend.cuda.device.machine_code import OPTIMISED, TEXT, key
from dgraph.errors import DgraphError

LOCK = "optimiser"

MOST = 4
"""Texts that are compiled at a time."""

CODE = "import runpy, sys; sys.path.append(sys.argv[1]); runpy.run_module(sys.argv[2], run_name='__main__')"
"""Runs this file; the folder of dgraph comes last, since it may be that of all packages."""

_started: list[subprocess.Popen] = []
"""Processes that this one has started."""


def start(cache: Path) -> None:
    """Start the process, unless one works in this cache folder; where none can start, quick code stays in use."""
    with locked(LOCK, 0.0) as free:
        if not free:
            return
    entries = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    environment = os.environ | {
        "DGRAPH_CACHE_DIR": str(cache.resolve()),
        "PYTHONPATH": os.pathsep.join(str(Path(entry).resolve()) for entry in entries),
    }
    try:
        with unbound():
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", CODE, str(Path(__file__).parents[4]), __name__],
                env=environment, cwd="/", start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
    except OSError:
        return
    _started.append(process)


def optimise(cache: Path) -> None:
    """Compile the texts of the folder, also those that come meanwhile; return at once where another process does."""
    tried: set[Path] = set()
    while texts := [path for path in sorted(cache.glob(f"*{TEXT}")) if path not in tried]:
        with locked(LOCK, 0.0) as ours, ThreadPoolExecutor(min(cores(), MOST)) as pool:
            if not ours:
                return
            list(pool.map(_optimise, texts))
        tried.update(texts)


def _optimise(source: Path) -> None:
    """Publish the optimised code of a text, then remove the text and its quick code; keep them if that fails."""
    path, (name, sm, number, ending) = source.with_suffix(OPTIMISED), source.stem.rsplit("_", 3)
    architecture = f"{sm}_{number}"
    try:
        text = source.read_text()
        if key(text, architecture) != ending:
            return  # of another compiler, whose processes optimise it
        if not path.exists():
            publish(path, nvrtc.compiled(text, architecture, name))
    except (OSError, DgraphError):
        return
    for file in (source, *source.parent.glob(f"{source.stem}.*of*")):
        file.unlink(missing_ok=True)


if __name__ == "__main__":
    os.nice(19)
    optimise(folder())
