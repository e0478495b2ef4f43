"""Vertex colouring by priority order, with stealing, and by end of the rounds by degree: colours and time.

Compare Figures 6 and 8 of Che et al., "Graph Coloring on the GPU" (003).
"""

from __future__ import annotations

import statistics
from pathlib import Path

import dgraph
from benchmarks import record
from benchmarks.graphs import sized

GRAPHS = {
    "gtgraph20": "gtgraph:20", "rmat22": "rmat:22,symmetric", "rmat24": "rmat:24,symmetric",
    "uniform22": "uniform:22,symmetric", "road4900": "road:4900x4900",
}  # fmt: skip
SWITCHES = (1, 2, 4, 8, 16)
"""Numbers of rounds by degree."""

WAYS: list[dict] = [
    {"variant": "greedy"}, {"variant": "jones-plassmann"}, {"variant": "degree"}, {"variant": "hybrid"},
    *({"variant": "hybrid", "switch_round": rounds} for rounds in SWITCHES),
]  # fmt: skip
STEALING: list[dict] = [{"variant": "steal"}, {"variant": "hybrid", "schedule": "steal"}]
"""Runs on a GPU, only for ``STOLEN``: on other graphs one thread would walk a hub's edges for seconds."""

STOLEN = ("gtgraph20", "uniform22")


def measure(graphs: list[str], scale: int | None, repeat: int, folder: Path) -> None:
    """Write ``coloring-cpu.json`` and ``.md``; with a GPU, ``coloring-gpu``.

    Args:
        graphs: of ``GRAPHS``.
        scale: log2 of the vertices of every graph; None: as they are named.
        repeat: timed runs, after one that is not timed.
        folder: of the results.
    """
    rows = []
    for name in graphs:
        graph = dgraph.Graph.load(GRAPHS[name] if scale is None else sized(GRAPHS[name], scale)).undirected()
        first = dgraph.run("color", graph)
        gpu = first.report["ranks"][0].get("gpu")
        for traversal in WAYS + (STEALING if gpu and name in STOLEN else []):
            runs = [dgraph.run("color", graph, **traversal) for _ in range(repeat + 1)]
            seconds = [run.report["ranks"][0]["seconds"]["compute"] for run in runs[1:]]
            rows.append({
                "graph": name, "way": traversal, "colors": runs[0].summary["colors"], "rounds": runs[0].rounds,
                "seconds": seconds,
            })  # fmt: skip
            print(_line(rows[-1]), flush=True)
    where = record.circumstances(("cupy-cuda13x",) if gpu else ()) | ({"gpu": gpu["name"]} if gpu else {})
    record.write(folder, f"coloring-{'gpu' if gpu else 'cpu'}", {"circumstances": where, "rows": rows}, _table(rows))


def _table(rows: list[dict]) -> str:
    return "\n".join(["| graph | way | colours | rounds | ms (least–most) |", "|-|-|-|-|-|", *map(_line, rows)]) + "\n"


def _line(row: dict) -> str:
    words = [row["way"]["variant"]]
    words += [f"--{name.replace('_', '-')} {value}" for name, value in row["way"].items() if name != "variant"]
    median, least, most = (1e3 * statistic(row["seconds"]) for statistic in (statistics.median, min, max))
    return (
        f"| {row['graph']} | {' '.join(words)} | {row['colors']:,} | {row['rounds']:,} "
        f"| {median:,.2f} ({least:,.2f}–{most:,.2f}) |"
    )
