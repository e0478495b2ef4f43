"""Record skipped tests, and compare them with the skips that ``tests/skips.toml`` allows.

Every session of a run, those that tests start included, appends to the folder that ``DGRAPH_TEST_SKIPS`` names.
Afterwards ``python tests/support/skips.py FOLDER`` prints what could not be had and how many tests skipped for it, and
exits with 1 if a test skipped for another reason.
"""

import json
import os
import re
import shutil
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

ALLOWED = Path(__file__).resolve().parents[1] / "skips.toml"
FOLDER = "DGRAPH_TEST_SKIPS"
NO_GPU = "a GPU"


class SkipRecord:
    """Plugin that writes one JSON line per skipped test or file: its name and the reason."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / f"{os.getpid()}.jsonl"

    def pytest_runtest_logreport(self, report):
        self._note(report)

    def pytest_collectreport(self, report):
        self._note(report)

    def _note(self, report):
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2].removeprefix("Skipped: ")
            with self.file.open("a") as file:
                file.write(json.dumps({"test": report.nodeid, "reason": reason}) + "\n")


def register(config: pytest.Config) -> None:
    """Record this session's skips if ``DGRAPH_TEST_SKIPS`` names a folder."""
    if folder := os.environ.get(FOLDER):
        config.pluginmanager.register(SkipRecord(Path(folder)))


def recorded(folder: Path) -> set[tuple[str, str]]:
    """Return test and reason of every skip; a test that skipped on several ranks counts once."""
    lines = [line for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]
    return {(entry["test"], entry["reason"]) for entry in map(json.loads, lines)}


def sorted_out(
    skips: Iterable[tuple[str, str]], allowed: Mapping, has=shutil.which
) -> tuple[dict[str, set[str]], list[str]]:
    """Return tests by what they lacked, and a line for every skip that is not allowed.

    Args:
        skips: test and reason.
        allowed: content of ``tests/skips.toml``.
        has: returns a true value if a command is there.
    """
    lacking: dict[str, set[str]] = defaultdict(set)
    wrong = []
    for test, reason in sorted(skips):
        thing = _lacked(reason, allowed, has)
        if thing is None:
            wrong.append(f"{test}: {reason}")
        else:
            lacking[thing].add(test)
    return lacking, wrong


def _lacked(reason: str, allowed: Mapping, has) -> str | None:
    """Return what a test lacked; None if it skipped for a reason that is not allowed, or lacks what is there."""
    if _one_of(allowed["gpu"], reason):
        return NO_GPU
    for thing, table in allowed["missing"].items():
        if _one_of(table["reasons"], reason):
            return None if "command" in table and has(table["command"]) else thing
    return None


def _one_of(patterns: Iterable[str], reason: str) -> bool:
    return any(re.fullmatch(pattern, reason, re.DOTALL) for pattern in patterns)


def main(folder: str) -> int:
    """Print the summary of a run; return 1 if a test skipped that should have run."""
    skips = recorded(Path(folder))
    lacking, wrong = sorted_out(skips, tomllib.loads(ALLOWED.read_text()))
    for thing, tests in sorted(lacking.items()):
        print(f"{thing} could not be had: {len(tests)} tests skipped for it")
    for line in wrong:
        print(f"skipped for no reason in {ALLOWED.name}: {line}")
    print(f"{len({test for test, _ in skips})} tests skipped, {len(wrong)} of them for no reason in {ALLOWED.name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
