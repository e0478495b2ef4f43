"""NetworkX's own tests with dgraph as the backend: how many reach our functions, and how many of those pass.

``python -m benchmarks networkx`` runs the whole suite of the NetworkX that is installed. The same file is the plug-in
that counts inside that run.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import dgraph.networkx_backend  # noqa: F401 - now: NetworkX's conftest.py puts the folder of installed packages first

COUNTS = "DGRAPH_NETWORKX_COUNTS"
"""Environment variable with the file to which the plug-in writes."""

reached: dict[str, set] = defaultdict(set)
computed, passed, failed, skipped = set(), set(), set(), set()
_running: list[str] = []


def _counted(name, function):
    def call(*args, **kwargs):
        if _running:
            reached[name].add(_running[-1])
        return function(*args, **kwargs)

    return call


def pytest_collection_finish(session):
    import networkx as nx

    backend = nx.utils.backends.backends["dgraph"].load()
    for name in nx.utils.backends.backend_info["dgraph"]["functions"]:
        setattr(backend, name, _counted(name, getattr(backend, name)))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    from dgraph.networkx_backend import calls

    before = calls.total()
    _running.append(item.nodeid)
    yield
    _running.pop()
    if calls.total() > before:
        computed.add(item.nodeid)


def pytest_runtest_logreport(report):
    if report.failed:
        failed.add(report.nodeid)
    elif report.skipped:
        skipped.add(report.nodeid)
    elif report.when == "call":
        passed.add(report.nodeid)


def pytest_sessionfinish(session):
    from dgraph.networkx_backend import calls

    good = passed - failed
    functions = {name: [len(tests), len(tests & good)] for name, tests in sorted(reached.items())}
    some = set().union(*reached.values()) if reached else set()
    Path(os.environ[COUNTS]).write_text(
        json.dumps(
            {
                "passed": len(good), "failed": sorted(failed), "skipped": len(skipped),
                "reach": len(some), "reach and pass": len(some & good), "engine ran and pass": len(computed & good),
                "functions": functions, "runs": dict(calls),
            }
        )
    )  # fmt: skip


def run(*tests: str, extra: tuple[str, ...] = ()) -> tuple[dict, str]:
    """Run NetworkX's tests in a process of their own; return the counts and the end of pytest's output."""
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        root = str(Path(__file__).parent.parent)
        environment = os.environ | {
            COUNTS: str(counts), "NETWORKX_TEST_BACKEND": "dgraph", "NETWORKX_FALLBACK_TO_NX": "True",
            "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        }  # fmt: skip
        words = [sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.networkx_suite", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*words, *extra, "--pyargs", *tests], cwd=folder, env=environment, capture_output=True, text=True
        )
        if not counts.exists():
            raise RuntimeError(done.stdout[-4000:] + done.stderr[-4000:])
        return json.loads(counts.read_text()), done.stdout[-8000:]


def measure(results: Path) -> None:
    """Run the whole suite and write ``networkx.md``."""
    import networkx as nx

    started = time.monotonic()
    counts, end = run("networkx")
    minutes = (time.monotonic() - started) / 60
    print(end)
    runs = ", ".join(f"{name} {number:,}" for name, number in Counter(counts["runs"]).most_common())
    lines = [
        "# NetworkX's tests with dgraph as the backend",
        "",
        f"`python -m benchmarks networkx`: NetworkX {nx.__version__}, {os.cpu_count()} cores, {minutes:.1f} minutes.",
        "",
        "|tests|number|",
        "|-|-|",
        f"|passed|{counts['passed']:,}|",
        f"|failed|{len(counts['failed']):,}|",
        f"|skipped or expected to fail|{counts['skipped']:,}|",
        f"|that reach a function of dgraph|{counts['reach']:,}|",
        f"|that reach a function of dgraph and pass|{counts['reach and pass']:,}|",
        f"|in which the engine ran, and pass|{counts['engine ran and pass']:,}|",
        "",
        f"Runs of the engine: {runs}.",
        "",
        "|function|tests that reach it|of these pass|",
        "|-|-|-|",
        *(f"|{name}|{some}|{good}|" for name, (some, good) in counts["functions"].items()),
    ]
    if counts["failed"]:
        lines += ["", "Failed: " + ", ".join(f"`{test}`" for test in counts["failed"]) + "."]
    (results / "networkx.md").write_text("\n".join(lines) + "\n")
