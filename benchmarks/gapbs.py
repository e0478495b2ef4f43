"""One rank against the programs of GAPBS [Beamer et al., 2015] on the same files and with the same threads.

Files are written by ``convert``. A pair is one process of GAPBS, whose lines "Trial Time:" count, and as many calls of
ours on a resident graph; pairs alternate. Columns of a result are made when they are read, and are not read here.
Figures are written after each number of threads, and stay in the folder of results beside those of other commands.
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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dgraph
from benchmarks import record

GRAPHS = "kron:18+uniform:18,symmetric+road:1024x1024+grid:1024x1024"
WEIGHTS = "1..255"
DELTAS = (2, 16, 128, 512)
"""Bucket widths of GAPBS's sssp; the fastest one on the graph is compared."""

ROUNDS = 20
MANY = 16
"""Rounds of PageRank; sources of the second row of betweenness."""

TRIALS = 3
"""Trials of a process, and calls of ours, in a pair; the median of each is compared. One of a run above LONG."""

LONG, LONGEST, FEW = 0.5, 5.0, 3
"""Seconds of a run from which a pair has one trial, and from which there are no more than FEW pairs."""

STREAM = 1 << 25
"""Entries of each of three arrays of float64 that are read and written to measure bandwidth."""

SATURATED = 0.5
"""Share of that bandwidth from which edges that are read count as bound by it; each moves more bytes than its own."""

ABOUT = f"""# CPU kernels against GAPBS, newest

Seconds are medians of pairs; ratio: above 1, dgraph is faster. A pair has {TRIALS} trials of each, or one where a call
of ours takes longer than {LONG} s; above {LONGEST:.0f} s there are {FEW} pairs. Bandwidth counts an edge's neighbour,
the value read there, and its weight."""
"""Text before the tables."""

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
    """Run everything and add rows to ``gapbs.json`` and ``gapbs.md``; ``repeat``: pairs of a row."""
    missing = [name for name in sorted({ROWS[row].program for row in rows}) if not (programs / name).is_file()]
    if missing:
        raise SystemExit(f"{programs}: no program {', '.join(missing)}; build GAPBS there, as benchmarks/gapbs.py says")
    run: dict = {"circumstances": record.circumstances(), "rows": []}
    bandwidth = {number: _bandwidth(number) for number in threads}
    with tempfile.TemporaryDirectory() as place:
        for spec in graphs:
            files = _converted(spec, Path(place))
            for number in threads:
                for row in _rows(programs, files, rows, number, repeat):
                    run["rows"].append(row | {"graph": spec, "threads": number, "stream": bandwidth[number]})
                    print(_line(run["rows"][-1]), flush=True)
                record.add(folder, "gapbs", [run], ("graph", "threads", "row"), ABOUT, _table)


def _bandwidth(threads: int) -> float:
    """Return the bytes a second of STREAM's addition of two arrays into a third one, the best of five."""
    a, b, c = (np.full(STREAM, float(i)) for i in range(3))
    parts = [slice(STREAM * i // threads, STREAM * (i + 1) // threads) for i in range(threads)]
    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(5):
            began = time.perf_counter()
            list(pool.map(lambda part: np.add(a[part], b[part], c[part]), parts))
            seconds.append(time.perf_counter() - began)
    return 3 * a.nbytes / min(seconds)


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
                key=lambda words: _theirs([*command, *row.words(drawn[0]), *words], threads, 1)[0],
            )
        try:
            for sources in drawn:
                result = row.call(graph, sources)
        except dgraph.DataError as error:  # numbers of paths beyond float64, which GAPBS lets overflow
            print(f"{name}: left out: {error}", flush=True)
            continue
        _check(name, row, [*command, *row.words(drawn[-1]), *extra], threads, result)
        once = _ours(row, graph, drawn[-1], 1)
        trials, count = 1 if once > LONG else TRIALS, min(repeat, FEW) if once > LONGEST else repeat
        pairs = []
        for i in range(count):
            sources = drawn[i % SOURCES]
            theirs, _ = _theirs([*command, *row.words(sources), *extra], threads, trials)
            pairs.append((theirs, _ours(row, graph, sources, trials)))
        rounds = result.report.get("rounds") or {}
        edges = rounds.get("frontier_edges") or graph.m
        figures = {"rounds": rounds.get("count", 0), "edges": edges, "bytes": 12 if row.weighted else 8}
        yield {"row": name, "pairs": pairs, "words": [str(word) for word in extra]} | figures | compared(pairs)


def _theirs(command: list, threads: int, trials: int, *words: str) -> tuple[float, str]:
    """Return the median trial of a process of GAPBS, in seconds, and what it printed."""
    call = [str(word) for word in (*command, "-n", trials, *words)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    text = subprocess.run(call, check=True, capture_output=True, text=True, env=environment).stdout
    return statistics.median(float(seconds) for seconds in re.findall(r"Trial Time:\s+(\S+)", text)), text


def _ours(row: Row, graph: dgraph.Graph, sources: list[int], trials: int) -> float:
    """Return the median call, in seconds."""
    seconds = []
    for _ in range(trials):
        began = time.perf_counter()
        row.call(graph, sources)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _check(name: str, row: Row, command: list, threads: int, result: dgraph.Result) -> None:
    """Stop if the answers differ: a wrong answer is not timed."""
    if row.reached is None:
        return
    pattern, key = row.reached
    text = _theirs(command, threads, 1, "-a")[1]
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
    reached = row["ratio"] >= goal or narrow
    return (
        f"| {row['graph']} | {row['threads']} | {row['row']} | {len(row['pairs'])} | {row['theirs']:.4f} | "
        f"{row['ours']:.4f} | {row['ratio']:.2f} | {low:.2f}–{high:.2f} | {goal} {'yes' if reached else 'no'} | "
        f"{row['stream'] / 1e9:.0f} | {'' if reached else _bound(row)} |"
    )


def _bound(row: dict) -> str:
    """Return the rates of our calls, by which a ratio below the goal is judged."""
    read = row["edges"] * row["bytes"] / row["ours"] / row["stream"]
    rounds = f", rounds {row['rounds']} of {1e6 * row['ours'] / row['rounds']:.0f} µs" if row["rounds"] else ""
    rate = row["edges"] / row["ours"] / row["threads"] / 1e6
    return f"{'bandwidth: ' if read > SATURATED else ''}{read:.0%} of STREAM, {rate:.0f} M edges/s a thread{rounds}"


def _table(rows: list[dict]) -> str:
    names = "graph, threads, row, pairs, GAPBS s, dgraph s, ratio, 95 % interval, goal, STREAM GB/s, below the goal"
    columns = names.split(", ")
    return "\n".join([f"| {' | '.join(columns)} |", "|-" * len(columns) + "|", *map(_line, rows)]) + "\n"
