"""Variants of sssp on paper 001's four shapes of graph: seconds, rounds, relaxations, and bars as SVG.

Whole calls without predecessors on a resident graph, the median of ``repeat`` after one that compiles and validates.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import dgraph
from benchmarks import record
from benchmarks.peers import install

VARIANTS = (
    "buckets", "near-far", "bucketing", "delta-stepping", "workfront", "bellman-ford", "bellman-ford-topology", "h-bf",
)  # fmt: skip

SHAPES = {
    "roads": ("roadnet:{side}x{side},seed=7", None),
    "mesh": ("smallworld:{n},k=24,p=0.0005,seed=7", "1..255"),
    "circuit": ("smallworld:{n},k=4,p=0.05,seed=7", "1..255"),
    "rmat": ("gtgraph:{scale},edge_factor=7,symmetric,seed=7", "1..255"),
}
"""Shape → generator of 2^scale vertices and weights (None: its own). They stand for the paper's asia.osm, msdoor,
circuit5M_dc and rmat.3Mv.20Me: long chains; a band matrix with a few far couplings; few edges and short ways; hubs."""

ABOUT = """Variants of sssp on the four shapes of graph of paper 001 (H-BF's Figure 7). Milliseconds of a call without
predecessors, rounds (passes over waiting vertices included), and edges walked in units of the graph's edges."""


def measure(shapes: list[str], scale: int, device: str, repeat: int, folder: Path) -> None:
    """Run everything; write ``variants.json``, ``variants.md`` and ``variants-DEVICE.svg``."""
    install(("matplotlib",))
    circumstances, rows = record.circumstances(), list[dict]()
    if gpu := dgraph.bfs("path:64", 0).report["ranks"][0].get("gpu"):
        circumstances["gpu"] = gpu["name"]
    for shape in shapes:
        graph, source = _loaded(shape, scale, device)
        rows += [_measure(graph, source, variant, repeat) | {"shape": shape, "device": device} for variant in VARIANTS]
        run = {"circumstances": circumstances, "rows": rows}
        if device == "cpu" and circumstances["load_before"] > circumstances["cores"]:
            run["note"] = "Other processes held the cores: compare rounds and edges; milliseconds are upper bounds."
        record.add(folder, "variants", [run], ("device", "shape", "variant"), ABOUT, _table)
    _plot(rows, folder / f"variants-{device}.svg")
    print(_table(rows))


def _loaded(shape: str, scale: int, device: str) -> tuple[dgraph.Graph, int]:
    spec, weights = SHAPES[shape]
    spec = spec.format(scale=scale, n=1 << scale, side=1 << scale // 2)
    graph = dgraph.Graph.load(spec, **({} if weights is None else {"weights": weights}))
    return graph.on(None, device), int(graph.block.targets[0])


def _measure(graph: dgraph.Graph, source: int, variant: str, repeat: int) -> dict:
    def call(validate: bool = False):
        return dgraph.run("sssp", graph, source=source, variant=variant, return_predecessors=False, validate=validate)

    first, seconds = call(validate=True), []
    for _ in range(repeat):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    rounds, summary = first.report["rounds"], first.summary
    row = {
        "variant": variant,
        "n": graph.n,
        "arcs": graph.arcs,
        "seconds": seconds,
        "rounds": summary.get("search_rounds", rounds["count"]),
        "walked": summary.get("walked", rounds["frontier_edges"]),
    }
    row |= {name: summary[name] for name in ("queued", "direct", "relaxations", "delta") if name in summary}
    print(f"{variant}: {1e3 * statistics.median(seconds):.3f} ms, {row['rounds']} rounds", flush=True)
    return row


def _table(rows: list[dict]) -> str:
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    sizes = {row["shape"]: f"{row['n']:,} vertices, {row['arcs']:,} edges" for row in rows}
    lines = [f"On {rows[0]['device']}. " + "; ".join(f"{shape}: {sizes[shape]}" for shape in shapes) + ".", ""]
    lines += [f"| ms / rounds / edges walked | {' | '.join(shapes)} |", "|-|" + "-|" * len(shapes)]
    row_of = {(row["variant"], row["shape"]): row for row in rows}
    for variant in dict.fromkeys(row["variant"] for row in rows):
        cells = [_cell(row_of.get((variant, shape))) for shape in shapes]
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(row: dict | None) -> str:
    if row is None:
        return ""
    walked = row["walked"] / max(row["arcs"], 1)
    return f"{1e3 * statistics.median(row['seconds']):.2f} / {row['rounds']:,} / {walked:.2f}"


def _plot(rows: list[dict], file: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot, ticker

    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    figure, every = pyplot.subplots(1, len(shapes), figsize=(3 * len(shapes), 3), layout="constrained", squeeze=False)
    for axes, shape in zip(every[0], shapes, strict=True):
        mine = [row for row in rows if row["shape"] == shape][::-1]
        times = [1e3 * statistics.median(row["seconds"]) for row in mine]
        bars = axes.barh([row["variant"] for row in mine], times)
        axes.bar_label(bars, fmt="%.3g", padding=2, fontsize=7)
        axes.set(xscale="log", xlabel="ms", title=shape, xlim=(min(times) / 2, max(times) * 4))
        axes.xaxis.set_minor_formatter(ticker.NullFormatter())
        if axes is not every[0][0]:
            axes.set_yticklabels([])
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
