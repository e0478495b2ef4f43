"""One rank against the programs of GAPBS [Beamer et al., 2015] on the same files and with the same threads.

Files are written by ``convert``. A pair is one process of GAPBS, whose lines "Trial Time:" count, and as many calls of
ours on a resident graph; pairs alternate. Columns of a result are made when they are read, and are not read here.
Build GAPBS outside the checkout: ``g++ -std=c++11 -O3 -march=native -fopenmp src/bfs.cc -o FOLDER/bfs``, likewise bc,
cc, pr, sssp and tc.
"""

from __future__ import annotations

import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dgraph
from benchmarks import record

GRAPHS = "kron:18+uniform:18,symmetric+road:1024x1024+grid:1024x1024"
WEIGHTS = "1..255"
DELTAS = (2, 16, 256)
"""Bucket widths of GAPBS's sssp; the fastest one on the graph is compared."""

ROUNDS = 20
MANY = 16
"""Rounds of PageRank; sources of the second row of betweenness."""

TRIALS = 3
"""Trials of a process, and calls of ours, in a pair; the median of each is compared."""

GOAL, GOAL_SMALLEST, NARROW = 1.0, 0.85, 0.05
"""Ratios to reach, and the half width of an interval that holds the goal and may count as reaching it."""

SOURCES = 4


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        program: name of GAPBS's program.
        call: function of the graph and a list of sources: one call of ours.
        words: its other words, of the sources.
        weighted: the graph has weights.
        reached: pattern of GAPBS's analysis with one number, and the name of the same number in our summary.
        goal: ratio to reach.
    """

    program: str
    call: Callable[[dgraph.Graph, list[int]], dgraph.Result]
    words: Callable[[list[int]], list] = lambda sources: ["-r", sources[0]]
    weighted: bool = False
    reached: tuple[str, str] | None = None
    goal: float = GOAL


def _bfs(**parameters) -> Callable:
    return lambda graph, sources: dgraph.run("bfs", graph, source=sources[0], **parameters)


def _bc(count: int) -> Callable:
    return lambda graph, sources: dgraph.run("bc", graph, sources=sources[:count], normalized=False)


TREE = (r"BFS Tree has (\d+) nodes", "reached")
ROWS = {
    "bfs": Row("bfs", _bfs(return_predecessors=False), reached=TREE),
    "bfs, any": Row("bfs", _bfs(predecessors="any"), reached=TREE),
    "bfs, smallest": Row("bfs", _bfs(), reached=TREE, goal=GOAL_SMALLEST),
    "sssp": Row(
        "sssp",
        lambda graph, sources: dgraph.run("sssp", graph, source=sources[0], return_predecessors=False),
        weighted=True,
        reached=(r"SSSP Tree reaches (\d+) nodes", "reached"),
    ),
    "cc": Row(
        "cc",
        lambda graph, sources: dgraph.run("cc", graph),
        lambda sources: [],
        reached=(r"There are (\d+) components", "components"),
    ),
    "pagerank": Row(
        "pr",
        lambda graph, sources: dgraph.run("pagerank", graph, tol=0, max_iter=ROUNDS, precision="single"),
        lambda sources: ["-i", ROUNDS, "-t", 0],
    ),
    "bc, 1": Row("bc", _bc(1), lambda sources: ["-r", sources[0], "-i", 1]),
    "bc, 16": Row("bc", _bc(MANY), lambda sources: ["-i", MANY]),
    "triangles": Row(
        "tc",
        lambda graph, sources: dgraph.run("triangles", graph),
        lambda sources: [],
        reached=(r"(\d+) triangles", "triangles"),
    ),
}


def measure(programs: Path, graphs: list[str], rows: list[str], threads: list[int], repeat: int, folder: Path) -> None:
    """Run everything and write ``gapbs.json`` and ``gapbs.md``; ``repeat``: pairs of a row."""
    missing = [name for name in sorted({ROWS[row].program for row in rows}) if not (programs / name).is_file()]
    if missing:
        raise SystemExit(f"{programs}: no program {', '.join(missing)}; build GAPBS there, as benchmarks/gapbs.py says")
    document: dict = {"circumstances": record.circumstances(), "pairs": repeat, "trials": TRIALS, "rows": []}
    with tempfile.TemporaryDirectory() as place:
        for spec in graphs:
            files = _converted(spec, Path(place))
            for number in threads:
                for row in _rows(programs, files, rows, number, repeat):
                    document["rows"].append(row | {"graph": spec, "threads": number})
                    print(_line(document["rows"][-1]), flush=True)
    record.write(folder, "gapbs", document, _table(document["rows"]))


def _converted(spec: str, folder: Path) -> dict[bool, Path]:
    """Write the graph of ``spec`` without and with weights."""
    files = {False: folder / "graph.sg", True: folder / "graph.wsg"}
    for weighted, file in files.items():
        weights = WEIGHTS if weighted else "unit"
        words = [sys.executable, "-m", "dgraph", "convert", spec, str(file), "--weights", weights, "--quiet"]
        subprocess.run(words, check=True)
    return files


def _rows(programs: Path, files: dict[bool, Path], names: list[str], threads: int, repeat: int) -> Iterator[dict]:
    """Yield the row of each name."""
    graphs = {
        weighted: dgraph.Graph.load(files[weighted], device=dgraph.Cpu(threads=threads))
        for weighted in {ROWS[name].weighted for name in names}
    }
    any_graph = next(iter(graphs.values()))
    labels = dgraph.run("cc", any_graph).columns["labels"]
    largest = np.flatnonzero(labels == np.bincount(labels).argmax())
    drawn = np.random.default_rng(27).choice(largest, (SOURCES, MANY), replace=False).tolist()
    for name in names:
        row = ROWS[name]
        graph = graphs[row.weighted]
        command = [programs / row.program, "-f", files[row.weighted]]
        extra: list = []
        if row.weighted:
            extra = min(
                (["-d", delta] for delta in DELTAS),
                key=lambda words: _theirs([*command, *row.words(drawn[0]), *words], threads)[0],
            )
        try:
            for sources in drawn:
                result = row.call(graph, sources)
        except dgraph.DataError as error:  # numbers of paths beyond float64, which GAPBS lets overflow
            print(f"{name}: left out: {error}", flush=True)
            continue
        _check(name, row, [*command, *row.words(drawn[-1]), *extra], threads, result)
        pairs = []
        for i in range(repeat):
            sources = drawn[i % SOURCES]
            theirs, _ = _theirs([*command, *row.words(sources), *extra], threads)
            pairs.append((theirs, _ours(row, graph, sources)))
        yield {"row": name, "pairs": pairs, "words": [str(word) for word in extra]} | compared(pairs)


def _theirs(command: list, threads: int, *words: str) -> tuple[float, str]:
    """Return the median trial of a process of GAPBS, in seconds, and what it printed."""
    call = [str(word) for word in (*command, "-n", TRIALS, *words)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    text = subprocess.run(call, check=True, capture_output=True, text=True, env=environment).stdout
    return statistics.median(float(seconds) for seconds in re.findall(r"Trial Time:\s+(\S+)", text)), text


def _ours(row: Row, graph: dgraph.Graph, sources: list[int]) -> float:
    """Return the median call, in seconds."""
    seconds = []
    for _ in range(TRIALS):
        began = time.perf_counter()
        row.call(graph, sources)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _check(name: str, row: Row, command: list, threads: int, result: dgraph.Result) -> None:
    """Stop if the answers differ: a wrong answer is not timed."""
    if row.reached is None:
        return
    pattern, key = row.reached
    text = _theirs(command, threads, "-a")[1]
    counted = re.search(pattern, text)
    if counted is None or int(counted[1]) != result.summary[key]:
        raise SystemExit(f"{name}: {key} is {result.summary[key]}; GAPBS printed this, nothing was measured:\n{text}")


def compared(pairs: list[tuple[float, float]]) -> dict:
    """Return medians, and the median ratio with its 95 % interval by order statistics of the pairs."""
    ratios = sorted(theirs / ours for theirs, ours in pairs)
    count, below, cut = len(ratios), 0.0, 0
    while cut < count // 2 and (below := below + math.comb(count, cut) / 2**count) <= 0.025:
        cut += 1
    cut = max(cut - 1, 0)
    return {
        "theirs": statistics.median(theirs for theirs, _ in pairs),
        "ours": statistics.median(ours for _, ours in pairs),
        "ratio": statistics.median(ratios),
        "interval": [ratios[cut], ratios[count - 1 - cut]],
    }


def _line(row: dict) -> str:
    low, high = row["interval"]
    goal = ROWS[row["row"]].goal
    narrow = low <= goal <= high and high - low <= 2 * NARROW * row["ratio"]
    verdict = "yes" if row["ratio"] >= goal or narrow else "no"
    return (
        f"| {row['graph']} | {row['threads']} | {row['row']} | {row['theirs']:.4f} | {row['ours']:.4f} | "
        f"{row['ratio']:.2f} | {low:.2f}–{high:.2f} | {goal} {verdict} |"
    )


def _table(rows: list[dict]) -> str:
    head = "| graph | threads | row | GAPBS s | dgraph s | ratio | 95 % interval | goal |\n|-|-|-|-|-|-|-|-|"
    return "\n".join([head, *map(_line, rows)]) + "\n"
