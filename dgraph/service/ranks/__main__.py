"""``python -m dgraph.service.ranks``: one rank of the service; the supervisor starts it."""

from __future__ import annotations

import argparse
import faulthandler
import gc
import signal
import sys
from pathlib import Path


def main() -> int:
    """Run this rank until the front ends or sends ``stop``; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m dgraph.service.ranks", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="Unix socket of the front")
    parser.add_argument("--front", type=int, required=True, help="process that this rank ends with")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the front decides
    faulthandler.register(signal.SIGUSR1, all_threads=True)  # prints to ranks.log where this rank stands
    gc.set_threshold(50_000)
    sys.modules.setdefault("scipy.linalg.cython_blas", None)  # type: ignore[arg-type] # Numba would import SciPy

    from dgraph.comm import world
    from dgraph.service.parent_death import killed_with_parent
    from dgraph.service.ranks.front_watch import end_with
    from dgraph.service.ranks.worker import work_for

    killed_with_parent()()
    end_with(options.front)
    return work_for(options.socket, options.device, world())


if __name__ == "__main__":
    sys.exit(main())
