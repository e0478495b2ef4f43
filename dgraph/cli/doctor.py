"""``python -m dgraph doctor``: check this machine and this launch, alone or under mpirun."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict

from dgraph.cli.arguments import flag
from dgraph.cli.commands import Task, command_parser
from dgraph.comm import Comm, SerialComm, world
from dgraph.errors import DgraphError

COLOURS = {"OK": "green", "WARN": "yellow", "FAIL": "bold red"}
FOUND_A_FAULT = 1


def task(words: Sequence[str]) -> Task:
    """Parse the words behind ``doctor``."""
    as_json, quiet = _options(words)
    return Task(lambda comm: _do(comm, as_json, quiet))


def without_ranks(words: Sequence[str]) -> int | None:
    """Examine one process where ranks cannot find each other, which ends every other command.

    Returns:
        The exit code; None if ranks find each other, and :func:`task` works.
    """
    try:
        world()
        return None
    except DgraphError as error:
        broken = error
    as_json, quiet = _options(words)
    from dgraph.cli.exit_codes import PROCESS_NUMBER
    from dgraph.tools.doctor import FAIL, Finding, examine

    if not any(os.environ.get(name, "0") != "0" for name in PROCESS_NUMBER):
        first = Finding(FAIL, "launcher", str(broken), "see docs/guide/mpi-and-slurm.md")
        rest = [finding for finding in examine(SerialComm()) if finding.what not in ("launcher", "mpi", "ranks")]
        _print_findings([first, *rest], as_json, quiet)
    return FOUND_A_FAULT


def _options(words: Sequence[str]) -> tuple[bool, bool]:
    parser = command_parser("doctor", "exit codes: 0 dgraph works here; 1 a check failed")
    parser.add_argument("--json", **flag(), help="findings as JSON")
    parser.add_argument("-q", "--quiet", **flag(), help="print only findings that are not OK")
    args = parser.parsed(words)
    return "json" in args, "quiet" in args


def _do(comm: Comm, as_json: bool, quiet: bool) -> int:
    from dgraph.tools.doctor import FAIL, examine

    findings = examine(comm)
    if comm.rank == 0:
        _print_findings(findings, as_json, quiet)
    return FOUND_A_FAULT if any(finding.level == FAIL for finding in findings) else 0


def _print_findings(findings, as_json: bool, quiet: bool) -> None:
    shown = [finding for finding in findings if not quiet or finding.level != "OK"]
    if as_json:
        print(json.dumps([asdict(finding) for finding in shown], indent=1))
        return
    width = max((len(finding.what) for finding in shown), default=0)
    below = "\n" + " " * (width + 8)
    texts = [finding.found.replace("\n", below) for finding in shown]
    lines = [
        (finding.level, f"{finding.level:4}", f"  {finding.what:{width}}  {text}")
        for finding, text in zip(shown, texts, strict=True)
    ]
    cures = [f"{'':{width + 8}}cure: {finding.cure}" if finding.cure else "" for finding in shown]
    if not sys.stdout.isatty():
        for (_, level, text), cure in zip(lines, cures, strict=True):
            print(level + text, *filter(None, [cure]), sep="\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for (name, level, text), cure in zip(lines, cures, strict=True):
        console.print(Text.assemble((level, COLOURS[name]), text), soft_wrap=True)
        if cure:
            console.print(Text(cure, style="dim"), soft_wrap=True)
