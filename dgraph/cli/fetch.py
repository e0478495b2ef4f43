"""``python -m dgraph fetch``: download real graphs by name; rank 0 does it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dgraph.cli.arguments import PROGRAM, flag, program
from dgraph.cli.commands import Task, command_parser
from dgraph.comm import Comm
from dgraph.errors import UsageError, unknown
from dgraph.tools.fetch import DATASETS, fetch


def task(words: Sequence[str]) -> Task | str:
    """Parse the words behind ``fetch``; without a name the table is the answer."""
    parser = command_parser("fetch", f"Runs read the files as they are: {PROGRAM} sssp data/USA-road-d.USA.gr.gz")
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets; without a name, all are listed")
    parser.add_argument("--to", type=Path, metavar="DIR", help="folder (default: data)")
    parser.add_argument("--json", **flag(), help="the list as JSON")
    parser.add_argument("-q", "--quiet", **flag(), help="print nothing but the paths and errors")
    args = parser.parsed(words)
    names = args.get("names") or []
    if "json" in args:
        if names:
            raise UsageError("--json lists the data sets; leave the names out")
        return json.dumps({name: asdict(dataset) for name, dataset in DATASETS.items()}, indent=1)
    for name in names:
        if name not in DATASETS:
            raise unknown("data set", name, DATASETS)
    if not names:
        return _table()
    return Task(lambda comm: _do(comm, names, args.get("to", Path("data")), "quiet" in args))


def _do(comm: Comm, names: Sequence[str], folder: Path, quiet: bool) -> int:
    with comm.together():
        if comm.rank == 0:
            for name in names:
                _one(name, folder, quiet)
    return 0


def _one(name: str, folder: Path, quiet: bool) -> None:
    dataset = DATASETS[name]

    def show(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    show(f"{name}: {dataset.url}")
    path = fetch(dataset, folder, show)
    show(f"licence: {dataset.licence}\ncite: {dataset.citation}\nsee {dataset.page}")
    print(path, flush=True)


def _table() -> str:
    width = max(map(len, DATASETS))
    lines = []
    for name, dataset in DATASETS.items():
        counts = "" if dataset.size is None else f" ({dataset.size[0]:,} vertices, {dataset.size[1]:,} edges)"
        lines += [
            f"{name:{width}}  {dataset.help}{counts}",
            f"{'':{width}}  {dataset.url}",
            f"{'':{width}}  {dataset.licence}",
        ]
    return "\n".join([*lines, "", f"{program()} fetch NAME --to DIR"])
