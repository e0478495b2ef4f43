"""``python -m benchmarks papers``: run the cells of figures, keep their rows, judge the claims, write the pages.

``results/papers-NNN.json`` has the rows. Each is written when it was measured; a row that the same commit measured on
the same machine is not measured again, nor with ``--missing`` one that has figures of any commit and machine.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
import warnings
from pathlib import Path

import dgraph
from benchmarks import record
from benchmarks.papers import p000, p001, p002, p003, p004, pages
from benchmarks.papers.bench import Bench
from benchmarks.papers.figure import BACKENDS, CPU, CUDA, EMULATED, Claim, Figure, Row, Rows, verdict

FIGURES: dict[str, list[Figure]] = {
    "000": p000.FIGURES_HERE, "001": p001.FIGURES_HERE, "002": p002.FIGURES_HERE, "003": p003.FIGURES_HERE,
    "004": p004.FIGURES_HERE,
}  # fmt: skip
CLAIMS: dict[str, list[Claim]] = {
    "000": p000.CLAIMS, "001": p001.CLAIMS, "002": p002.CLAIMS, "003": p003.CLAIMS, "004": p004.CLAIMS,
}  # fmt: skip
OMITTED = {
    "000": p000.OMITTED, "001": p001.OMITTED, "002": p002.OMITTED, "003": p003.OMITTED, "004": p004.OMITTED,
}  # fmt: skip
KEY = ("figure", "graph", "spec", "work", "system", "threshold", "ranks", "backend", "scale")
"""Fields that identify a row."""


def measure(
    papers: list[str], names: list[str], scale: str, backends: list[str], repeat: int, sources: int | None,
    folder: Path, docs: Path | None, missing: bool = False,
) -> None:  # fmt: skip
    """Run figures, and print the verdict on each claim.

    Args:
        papers: of ``FIGURES``.
        names: names of figures; empty: all.
        scale: small or full.
        backends: of ``BACKENDS``; a figure runs on those of them on which it means something.
        repeat: timed runs of a cell.
        sources: sources of a search; None: as the paper.
        folder: of the results.
        docs: folder of the pages; None: write no pages.
        missing: measure only rows that have no figures yet.

    Raises:
        UsageError: no figure of the papers has this name.
    """
    listed = [figure.name for paper in papers for figure in FIGURES[paper]]
    if unknown := [name for name in names if name not in listed]:
        raise dgraph.UsageError(
            f"--figure {unknown[0]}: papers {', '.join(papers)} have {', '.join(dict.fromkeys(listed))}"
        )
    for backend in backends:
        bench = Bench(backend, scale, repeat, sources)
        for paper in papers:
            kept = Kept(folder, paper, bench, missing)
            for figure in FIGURES[paper]:
                if backend in figure.backends and (not names or figure.name in names):
                    run(figure, bench, kept)
    for paper in papers:
        document = Kept(folder, paper, None).document
        if docs is not None and document["rows"]:
            pages.write(paper, FIGURES[paper], CLAIMS[paper], OMITTED[paper], document, folder, docs)
        for claim in CLAIMS[paper]:
            if not names or claim.figure in names:
                words = filter(None, verdict(claim, Rows(document["rows"])))
                print(f"{paper} {claim.figure} {claim.text}: {': '.join(words)}")


class Kept:
    """Rows of one paper in their file; with ``missing`` a row with figures counts whichever run measured it."""

    def __init__(self, folder: Path, paper: str, bench: Bench | None, missing: bool = False):
        self.missing = missing
        self.file = folder / f"papers-{paper}.json"
        self.document: dict = {"runs": [], "rows": []}
        if self.file.exists():
            self.document = json.loads(self.file.read_text())
        if bench is not None:
            self.bench = bench
            bench.rows = self.document["rows"]
            mine = record.circumstances() | {"device": bench.machine or "CPU"}
            runs = self.document["runs"]
            matching = [i for i, one in enumerate(runs) if _place(one) == _place(mine)]
            self.run = matching[0] if matching else len(runs)
            runs.extend([] if matching else [mine])

    def has(self, key: Row) -> bool:
        """Return True if the row needs no measurement."""
        rows = [row for row in self.document["rows"] if identity(row) == identity(key)]
        if self.missing and any("note" not in row for row in rows):
            return True
        return any(row["run"] == self.run and not row.get("note", "").startswith("failed") for row in rows)

    def add(self, row: Row) -> None:
        """Put a row in the place of an older one, and write the file."""
        rows = [older for older in self.document["rows"] if identity(older) != identity(row)]
        self.document["rows"] = self.bench.rows = [*rows, row | {"run": self.run}]
        self.write()

    def write(self) -> None:
        """Write the file, without runs whose rows were all replaced."""
        used = sorted({row["run"] for row in self.document["rows"]})
        rows = [row | {"run": used.index(row["run"])} for row in self.document["rows"]]
        lines = ",\n".join(json.dumps(row) for row in rows)
        runs = json.dumps([self.document["runs"][i] for i in used], indent=1)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        draft = self.file.with_suffix(".new")
        draft.write_text(f'{{"runs": {runs},\n"rows": [\n{lines}\n]}}\n')
        draft.replace(self.file)


def keep(folder: Path, paper: str, measured: dict) -> None:
    """Take the rows that another machine's file has of runs that this folder's file lacks, in place of older ones."""
    kept = Kept(folder, paper, None)
    runs = kept.document["runs"]
    runs_here = [(one["when"], _place(one)) for one in runs]
    for number, run in enumerate(measured["runs"]):
        if (run["when"], _place(run)) in runs_here:
            continue
        runs.append(run)
        mine = [row for row in measured["rows"] if row["run"] == number]
        identities = {identity(row) for row in mine}
        rows = [row for row in kept.document["rows"] if identity(row) not in identities]
        kept.document["rows"] = rows + [row | {"run": len(runs) - 1} for row in mine]
    kept.write()


def _place(where: dict) -> tuple[str, str, str]:
    """Return commit and machine; result files of this run are changes of the tree that do not count."""
    return where["commit"].split()[0], where["processor"], where["device"]


def identity(row: Row) -> tuple:
    """Return what distinguishes a row from others; graphs of a scale that is no longer drawn count as the same row."""
    return tuple(row.get(name) for name in KEY if name != "spec")


def run(figure: Figure, bench: Bench, kept: Kept) -> None:
    """Run the cells of a figure that are not there."""
    for key, cell in figure.cells(bench):
        key = {"figure": figure.name} | key | {"backend": bench.backend, "scale": bench.scale}
        if kept.has(key):
            continue
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", dgraph.ConvergenceWarning)
                measured = cell()
        except dgraph.UsageError as refused:
            measured = {"note": f"not tried: {_lack(str(refused))}"}
        except MemoryError as short:
            measured = {"note": f"not tried: memory: {str(short)[:120]}"}
        except Exception as error:  # a fault of one cell must not end a grid of hours; the row names it
            measured = {
                "note": f"failed: {type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"
            }
        row = key | measured
        kept.add(row)
        shown = [f"{name}={row[name]:.4g}" for name in figure.columns if isinstance(row.get(name), float)]
        words = [str(row.get(name, "")) for name in ("graph", "work", "system")]
        seconds = f"({time.perf_counter() - began:.1f} s)"
        print(figure.name, *words, *shown, row.get("note", ""), seconds, flush=True)


def _lack(refusal: str) -> str:
    """Return what this version or this backend does not have, of the message of a refusal."""
    line = refusal.splitlines()[0]
    if "says how a GPU" in line:
        return "it is a variant for GPUs"
    option = re.search(r"leave '([^']+)' out|unknown (?:parameter|option) of (?:the schedule )?(\w+) '?(\w+)", line)
    if option is None:
        return line
    return f"this version has no {option[1] or f'{option[3]} of {option[2]}'}"


def available(asked: str | None) -> list[str]:
    """Return the backends to run: the one that is named, none, or all that this machine has."""
    if asked is not None:
        return [] if asked == "none" else [asked]
    there = {CPU: True, EMULATED: shutil.which("g++") is not None, CUDA: shutil.which("nvidia-smi") is not None}
    chosen = [backend for backend in BACKENDS if there[backend]]
    print(f"backends: {', '.join(chosen)}", file=sys.stderr)
    return chosen
