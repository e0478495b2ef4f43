"""NetworkX's own tests with dgraph as the backend: how many reach our functions, and how many of those pass.

``python -m benchmarks networkx`` runs the whole suite of the NetworkX that is installed, and adds its column to the
table of versions. The same file is the plug-in that counts inside that run.
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
from benchmarks import record

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
            "DGRAPH_COMPILE": "",  # ``benchmarks`` sets it for its own runs; users of NetworkX do not
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
    """Run the whole suite, and write ``networkx.json`` and ``networkx.md``, which keep the last run of each version."""
    import networkx as nx

    where = record.circumstances(("networkx", "scipy", "pytest"))
    started = time.monotonic()
    counts, end = run("networkx")
    print(end)
    minutes = round((time.monotonic() - started) / 60, 1)
    keep(results, nx.__version__, counts | {"minutes": minutes, "circumstances": where})


def keep(results: Path, version: str, counts: dict) -> None:
    """Add a run of the suite of a version of NetworkX to those in ``networkx.json``."""
    file = results / "networkx.json"
    runs = json.loads(file.read_text())["versions"] if file.exists() else {}
    runs |= {version: counts}
    runs = dict(sorted(runs.items(), key=lambda row: [int(part) for part in row[0].split(".")]))
    record.write(results, "networkx", {"circumstances": counts["circumstances"], "versions": runs}, table(runs))


def table(runs: dict[str, dict]) -> str:
    """Return Markdown: figures of each version's run, what failed, a ``note`` of the run, and the functions."""
    rows = {
        "passed": lambda counts: f"{counts['passed']:,}",
        "failed": lambda counts: f"{len(counts['failed']):,}",
        "skipped or expected to fail": lambda counts: f"{counts['skipped']:,}",
        "reach a function of dgraph": lambda counts: f"{counts['reach']:,}",
        "reach a function of dgraph and pass": lambda counts: f"{counts['reach and pass']:,}",
        "pass after the engine ran": lambda counts: f"{counts['engine ran and pass']:,}",
        "functions of dgraph reached": lambda counts: f"{len(counts['functions']):,}",
        "minutes": lambda counts: f"{counts['minutes']}",
        "Python": lambda counts: counts["circumstances"]["python"],
        "commit": lambda counts: counts["circumstances"]["commit"],
    }
    lines = ["NetworkX's own tests with dgraph as the backend:", "", *_header("tests", runs)]
    lines += [f"|{name}|{'|'.join(map(shown, runs.values()))}|" for name, shown in rows.items()]
    for version, counts in runs.items():
        engine = ", ".join(f"{name} {number:,}" for name, number in Counter(counts["runs"]).most_common())
        lines += ["", f"Runs of the engine, NetworkX {version}: {engine}."]
        if counts["failed"]:
            lines += ["", f"Failed, NetworkX {version}: {', '.join(f'`{test}`' for test in counts['failed'])}."]
        lines += ["", counts["note"]] if "note" in counts else []
    lines += ["", "Tests that reach a function, and how many of them pass:", "", *_header("function", runs)]
    for name in sorted(set().union(*(counts["functions"] for counts in runs.values()))):
        reached = (counts["functions"].get(name, (0, 0)) for counts in runs.values())
        lines.append(f"|{name}|{'|'.join(f'{passing} of {tests}' for tests, passing in reached)}|")
    return "\n".join(lines) + "\n"


def _header(first: str, runs: dict[str, dict]) -> list[str]:
    return [f"|{first}|{'|'.join(f'NetworkX {version}' for version in runs)}|", "|-" * (len(runs) + 1) + "|"]
