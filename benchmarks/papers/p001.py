"""Paper 001: a chapter on graph algorithms on GPUs: representations, BFS, SSSP, APSP, and mapping techniques."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

import numpy as np

import dgraph
from benchmarks.papers.bench import LONG, LONGEST, Bench, Shape, System, grid
from benchmarks.papers.figure import (
    CPU,
    CUDA,
    EMULATED,
    NUMBERS,
    Cell,
    Claim,
    Figure,
    NotTried,
    Row,
    Rows,
    all_of,
    ratio,
)  # fmt: skip

GRAPHS = {
    "asia.osm": Shape("roadnet:{s}x{s},seed=7", (20, 128, 1000, 3450), None, "asia.osm"),
    "USA-road-d.CAL": Shape("roadnet:{s}x{s},seed=8", (18, 96, 700, 1375), None, "USA-road-d.CAL"),
    "msdoor": Shape("smallworld:{s},k=24,p=0.0005,seed=7", (256, 8192, 415_863, 415_863), "1..100", "msdoor"),
    "circuit5M_dc": Shape("smallworld:{s},k=4,p=0.05,seed=7", (512, 16384, 1 << 20, 3_523_317), "1..100", "circuit"),
    "rmat.3Mv.20Me": Shape("gtgraph:{s},edge_factor=7,symmetric,seed=7", (8, 13, 19, 21), "1..100", "rmat.3Mv.20Me"),
    "flickr": Shape("rmat:{s},edge_factor=12,seed=7", (8, 13, 19, 20), "1..100", "flickr"),
}
SEARCHES = [
    System("sequential", sequential="queue"),
    System("Harish: vertices", parameters={"variant": "topology"}),
    System("edge parallelism", parameters={"variant": "edge-topology"}),
    System("matrix", parameters={"variant": "matrix"}),
    System("virtual warps", "virtual_warp,warp_size=32"),
    System("Luo: queue", parameters={"variant": "queue"}),
    System("Merrill: expand-contract", parameters={"variant": "expand-contract"}),
    System("Merrill: contract-expand", parameters={"variant": "contract-expand"}),
    System("Merrill: hybrid", parameters={"variant": "hybrid"}),
    System("BFS-4K", parameters={"variant": "bfs-4k"}),
]
PATHS = [
    System("sequential frontier Bellman-Ford", sequential="frontier Bellman-Ford"),
    System("sequential Dijkstra", sequential="Dijkstra"),
    *(System(name, parameters={"variant": name}) for name in (
        "h-bf", "bellman-ford", "bellman-ford-topology", "workfront", "near-far", "bucketing", "delta-stepping")),
    System("h-bf, grids for hubs", "dynamic_parallelism", {"variant": "h-bf"}),
]  # fmt: skip
MAPPED = {
    "F12": ("regular", Shape("smallworld:{s},k=2,p=0.05", (512, 8192, 1 << 20, 1 << 22), None, "not named")),
    "F13": ("web-NotreDame", Shape("rmat:{s},edge_factor=5,symmetric", (9, 13, 18, 18), None, "web-NotreDame")),
    "F14": ("circuit5M", Shape("rmat-alb:{s},edge_factor=5", (8, 13, 20, 22), None, "circuit5M")),
    "F15": ("kron_g500-logn20", Shape("kron:{s},edge_factor=48", (8, 12, 19, 20), None, "kron_g500-logn20")),
}
WARPS = (2, 4, 8, 16, 32)
TECHNIQUES = [
    System("work-items to threads", "vertex"),
    *(System(f"virtual warps of {w}", f"virtual_warp,warp_size={w}") for w in WARPS),
    System("dynamic virtual warps", "dynamic_warp"),
    System("dynamic virtual warps + dynamic parallelism", "dynamic_parallelism"),
    System("CTA + Warp + Scan", "twc,small=scan"), System("CTA + Warp", "twc,small=thread"), System("twc", "twc"),
    System("direct search", "direct_search"), System("block search", "block_search"),
    System("local warp search", "warp_search"), System("warp shares", "warp_shares"),
    System("two-phase", "two_phase"), System("multi-phase", "multi_phase"),
]  # fmt: skip
LEFT_OUT = ("warp shares", "twc", "direct search", "block search")
ON_GPUS = {
    "johnson, dijkstra": {"search": "dijkstra"}, "johnson, bellman-ford": {"search": "bellman-ford"},
    "blocked, streamed": {"products": "streamed"}, "blocked, hybrid": {"products": "hybrid"},
    "squaring, streamed": {"products": "streamed"}, "floyd-warshall, streamed": {"products": "streamed"},
}  # fmt: skip
"""All pairs by searches on GPUs, and of matrices that exceed their memory: method and options beside the variant."""

SEARCHED = 30e-9
"""About the seconds that a thread takes for an arc of one search."""

METHODS = ("johnson", "blocked", "floyd-warshall", "recursive", "squaring", "separators")
RELAXED = NUMBERS["001"]["figures"]["Fig 6"]["rows"]
WORK = dict(zip(NUMBERS["001"]["figures"]["Table 2"]["columns"],
                NUMBERS["001"]["figures"]["Table 2"]["rows"]["work"], strict=True))  # fmt: skip
PRINTED = {"Harish: vertices": "Harish", "virtual warps": "virtual warps", "edge parallelism": "edge parallelism",
           "Luo: queue": "Luo", "Merrill: hybrid": "Garland (Merrill)", "BFS-4K": "BFS-4K"}  # fmt: skip


def _representations(bench: Bench) -> Iterator[Cell]:
    spec = "rmat:12" if bench.scale == "small" else "rmat:16"

    def measured(name: str) -> Row:
        words = [sys.executable, "-m", "dgraph", "info", spec, "--representations", "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        row = next(row for row in json.loads(done.stdout)["representations"] if row["name"] == name)
        return {"mib": row["memory"] / 2**20, "order": " · ".join(map(str, row["order"])), "lookup": row["lookup"],
                "neighbours": row["neighbours"], "sweep": row["sweep"]}  # fmt: skip

    printed = {row[0]: " · ".join(row[1:]) for row in NUMBERS["001"]["figures"]["Table 1"]["rows"]}
    for name, paper in {
        "adjacency matrix": "adjacency matrix",
        "CSR": "adjacency lists",
        "COO pairs": "edge lists",
    }.items():
        key = {"graph": spec, "spec": spec, "work": "representation", "system": name, "paper": printed[paper]}
        yield key, partial(measured, name)


def _drawn(bench: Bench) -> Iterator[Cell]:
    for row in RELAXED:
        yield (
            {"graph": "drawn", "system": f"iteration {row['iteration']}", "paper": row["relax_operations"]},
            partial(dict, note="not tried: the paper's text has not the edges of the drawn graph"),
        )


def _all_pairs(bench: Bench) -> Iterator[Cell]:
    sizes = {(CPU, "small"): (128, 256), (CUDA, "small"): (1024, 2048)}.get((bench.backend, bench.scale), (1024, 4096))
    threads = len(os.sched_getaffinity(0))

    def measured(spec: str, method: str) -> Row:
        variant, options = method.partition(", ")[0], ON_GPUS.get(method, {})
        graph = dgraph.Graph.load(spec, weights="1..100")
        searches = graph.n * (graph.n + graph.arcs) * SEARCHED / threads
        if method == "johnson" and searches > LONGEST[bench.scale]:
            return {"note": f"not tried: its searches take about {searches:.0f} s of {threads} threads"}
        placed = graph.on(device=bench.device("auto", None))
        seconds = []
        for _ in range(2):
            began = time.perf_counter()
            result = dgraph.apsp(placed, variant=variant, **options)
            seconds.append(time.perf_counter() - began)
            if seconds[-1] > LONG and result.report["ranks"][0]["seconds"]["compile"] < 0.01 * seconds[-1]:
                break
        distances = result.matrix.here
        total = float(distances.sum(where=np.isfinite(distances)))
        products = {"products": result.summary["products"]} if "products" in result.summary else {}
        return {"ms": 1e3 * seconds[-1], "n": graph.n, "answer": f"{total:.6g}"} | products

    for n in sizes:
        for shape, spec in {"sparse": f"uniform:{n.bit_length() - 1},symmetric", "dense": f"complete:{n}"}.items():
            for method in (*METHODS, *(ON_GPUS if bench.backend == CUDA else ())):
                key = {"graph": f"{shape} {n}", "spec": spec, "work": "apsp", "system": method}
                yield key, partial(measured, spec, method)


TIMES = {
    "graph": "graph", "system": "system", "ms": "ms", "mteps": "MTEPS", "rounds": "rounds",
    "walked": "edges visited ÷ m", "block": "max/mean edges a block",
    "warp": "max/mean edges a warp", "thread": "max/mean edges a thread",
}  # fmt: skip
FIGURES_HERE = [
    Figure("T1", "Table 1: representations", (CPU,), _representations,
           {"system": "representation", "mib": "MiB", "order": "space, look-up", "lookup": "ns a look-up",
            "neighbours": "ns a neighbour", "sweep": "ns an edge",
            "paper": "paper: space, look-up, neighbours, load balancing, coalescing"}),
    Figure("T2", "Table 2: edges visited by BFS", (EMULATED,),
           lambda bench: grid(bench, {g: GRAPHS[g] for g in ("asia.osm", "rmat.3Mv.20Me")}, ("bfs",), SEARCHES[1:],
                              lambda graph, work, system: WORK.get(PRINTED.get(system, ""))),
           {"graph": "graph", "system": "system", "walked": "edges visited ÷ m", "rounds": "rounds",
            "paper": "paper's work"}),
    Figure("F5", "Figure 5: BFS", (CPU, CUDA), lambda bench: grid(bench, GRAPHS, ("bfs",), SEARCHES), TIMES, "ms",
           log=True),
    Figure("F6", "Figure 6: relaxations by iteration", (CPU,), _drawn,
           {"system": "iteration", "relaxations": "relaxations", "paper": "paper", "graph": "graph"}),
    Figure("F7", "Figure 7: SSSP", (CPU, CUDA), lambda bench: grid(bench, GRAPHS, ("sssp",), PATHS), TIMES, "ms",
           log=True),
    Figure("F8", "Figure 8 and section 4: all pairs", (CPU, CUDA), _all_pairs, {"graph": "graph", "system": "method",
           "ms": "ms", "products": "products", "answer": "sum of distances"}, "ms", log=True),
    *(Figure(name, f"Figure {name[1:]}: mapping techniques, {graph}", (CUDA, EMULATED),
             partial(lambda bench, graph, shape: grid(bench, {graph: shape}, ("mapping",), TECHNIQUES),
                     graph=graph, shape=shape), TIMES, "ms", log=True)
      for name, (graph, shape) in MAPPED.items()),
]  # fmt: skip


def _times(rows: Rows, figure: str, graph: str, work: str, systems: list[System]) -> dict[str, float]:
    """Return milliseconds of the systems that ran on a GPU."""
    every = {}
    for system in systems:
        for row in rows.of(figure, graph=graph, work=work, system=system.name, backend=CUDA):
            if row.get("ms"):
                every[system.name] = row["ms"]
                break
    if len(every) < 2:
        raise NotTried(f"no times of {figure} on a GPU")
    return every


def _first(rows: Rows, figure: str, graph: str, work: str, systems: list[System], winner: str, within: float = 1.0):
    times = _times(rows, figure, graph, work, systems)
    if winner not in times:
        rows.ms(figure, graph, work, winner)
    best = min(times, key=times.__getitem__)
    return times[winner] <= within * times[best], f"{graph}: {best} {times[best]:.3g} ms, {winner} {times[winner]:.3g}"


def _h_bf(rows: Rows, graph: str) -> tuple[bool, str]:
    """Test the faster form of H-BF, without and with dynamic parallelism."""
    times = _times(rows, "F7", graph, "sssp", PATHS[2:])
    forms = [name for name in times if name.startswith("h-bf")]
    return _first(rows, "F7", graph, "sssp", PATHS[2:], min(forms, key=times.__getitem__, default="h-bf"))


def _over_dijkstra(rows: Rows, graph: str, least: float, most: float = float("inf")) -> tuple[bool, str]:
    times = [rows.ms("F7", graph, "sssp", name) for name in ("sequential Dijkstra", "h-bf")]
    return ratio(f"{graph} Dijkstra / h-bf", *times, least, most)


def _mapped(figure: str, winner: str, within: float, rows: Rows) -> tuple[bool, str]:
    plain = [system for system in TECHNIQUES if system.name not in LEFT_OUT]
    return _first(rows, figure, MAPPED[figure][0], "mapping", plain, winner, within)


def _technique(rows: Rows, figure: str, slow: str, fast: str, least: float = 1.0, most: float = float("inf")):
    graph = MAPPED[figure][0]
    times = [rows.ms(figure, graph, "mapping", name) for name in (slow, fast)]
    return ratio(f"{graph} {slow} / {fast}", *times, least, most)


def _methods(rows: Rows, slow: str, fast: str) -> tuple[bool, str]:
    tests = []
    for row in rows.of("F8", system=slow, backend=CUDA):
        if row.get("ms"):
            other = rows.value("ms", "F8", graph=row["graph"], system=fast, backend=CUDA)
            tests.append(ratio(f"{row['graph']} {slow} / {fast}", row["ms"], other))
    if not tests:
        raise NotTried(f"{slow} and {fast} have no times on a GPU")
    return all_of(*tests)


def _products(rows: Rows, *methods: str) -> str:
    for backend in (CUDA, CPU):
        counted = [row for row in rows.of("F8", system=methods[0], backend=backend) if "products" in row]
        if counted:
            key = {"graph": counted[-1]["graph"], "backend": backend}
            counts = (rows.value("products", "F8", system=method, **key) for method in methods)
            parts = [f"{method} {count:,}" for method, count in zip(methods, counts, strict=True)]
            where = "" if backend == CUDA else " (counted on a CPU, in its blocks)"
            return f"{key['graph']}: min-plus products {', '.join(parts)}{where}; the recursive ones are smaller"
    raise NotTried("no products of F8")


def _warp_size(rows: Rows) -> tuple[bool, str]:
    times = {w: rows.ms("F13", MAPPED["F13"][0], "mapping", f"virtual warps of {w}") for w in WARPS}
    best = min(times, key=times.__getitem__)
    return best in (4, 8, 16), f"best size {best}, mean degree about 10"


def _works(rows: Rows) -> tuple[bool, str]:
    key = {"graph": "asia.osm", "backend": EMULATED}
    visited = {s: rows.value("walked", "T2", system=s, **key) for s in ("edge parallelism", "Luo: queue", "BFS-4K")}
    text = ", ".join(f"{name} {share:.3g} m" for name, share in visited.items())
    return visited["edge parallelism"] > 5 and max(visited["Luo: queue"], visited["BFS-4K"]) <= 1.01, text


def _second(rows: Rows) -> tuple[bool, str]:
    graph, techniques = MAPPED["F12"][0], [s for s in TECHNIQUES if s.name not in LEFT_OUT]
    times = _times(rows, "F12", graph, "mapping", techniques)
    order = sorted(times, key=times.__getitem__)
    return order[1] == "multi-phase", f"order {', '.join(order[:3])}; median {statistics.median(times.values()):.3g} ms"


OMITTED = (
    "Allocation of output places by a prefix scan (Merrill) and queues of blocks (Luo): a warp stages 64 vertices and "
    "reserves 32 places by an atomic. Edges and culled candidates are the same; no claim compares allocations.",
    "Switches of BFS-4K for coalescing and the shuffle scan: lists of all schedules have both, by ballots of a warp; "
    "no figure varies them.",
    "H-BF on floats: its 64-bit word has an integer distance and a round.",
    "The register stage of multi-phase: owners go to shared memory at once. Edges by thread are those of the model.",
    "Figure 6: the text does not have the edges of its graph.",
)
"""What the paper has and no row here, with the reason."""
CLAIMS = [
    Claim("T2", "edge parallelism visits O(E D) edges, queues O(V + E)", _works),
    Claim("F5", "BFS-4K is the fastest on every graph",
          lambda rows: all_of(*(_first(rows, "F5", g, "bfs", SEARCHES, "BFS-4K") for g in GRAPHS)),
          lambda rows: "roads have few edges a round, and a round is a launch: "
          + rows.each_round("F5", "asia.osm", "bfs", "BFS-4K", "virtual warps")),
    Claim("F7", "H-BF is the fastest parallel SSSP on every graph",
          lambda rows: all_of(*(_h_bf(rows, g) for g in GRAPHS)),
          lambda rows: rows.each_round("F7", "asia.osm", "sssp", "h-bf", "bellman-ford", "delta-stepping")
          + "; the last two run their rounds in one launch"),
    Claim("F7", "H-BF is faster than Dijkstra on asia.osm", lambda rows: _over_dijkstra(rows, "asia.osm", 1.0)),
    Claim("F7", "H-BF is about as fast as Dijkstra on USA-road-d.CAL",
          lambda rows: _over_dijkstra(rows, "USA-road-d.CAL", 0.5, 2.0),
          lambda rows: "H-BF gains more: " + rows.each_round("F7", "USA-road-d.CAL", "sssp", "h-bf")),
    Claim("F8", "blocks with lazy minimum are slower than the recursive elimination (Buluç)",
          lambda rows: _methods(rows, "blocked", "recursive"),
          lambda rows: _products(rows, "blocked", "recursive")),
    Claim("F8", "squaring beats plain Floyd-Warshall where the matrix passes through the GPU",
          lambda rows: _methods(rows, "floyd-warshall, streamed", "squaring, streamed")),
    Claim("F12", "regular graph: work-items to threads is the fastest",
          partial(_mapped, "F12", "work-items to threads", 1.05),
          lambda rows: rows.split("F12", "regular", "mapping", "work-items to threads", "CTA + Warp + Scan")),
    Claim("F12", "regular graph: multi-phase is second",
          _second,
          lambda rows: rows.split("F12", "regular", "mapping", "multi-phase", "CTA + Warp + Scan")),
    Claim("F13", "web-NotreDame: multi-phase is the fastest", partial(_mapped, "F13", "multi-phase", 1.0),
          lambda rows: rows.split("F13", "web-NotreDame", "mapping", "multi-phase", "two-phase")),
    Claim("F13", "the best size of virtual warps is about the mean degree", _warp_size,
          lambda rows: rows.split("F13", "web-NotreDame", "mapping", "virtual warps of 8", "virtual warps of 32")),
    Claim("F14", "circuit5M: two-phase and multi-phase are ten times as fast as static mappings",
          lambda rows: all_of(*(_technique(rows, "F14", "work-items to threads", s, 10)
                                for s in ("two-phase", "multi-phase")))),
    Claim("F15", "kron: CTA + Warp + Scan is the fastest, multi-phase comparable",
          lambda rows: all_of(_mapped("F15", "CTA + Warp + Scan", 1.0, rows),
                              _technique(rows, "F15", "multi-phase", "CTA + Warp + Scan", 0.5, 1.5)),
          lambda rows: "a block walks a hub alone: "
          + rows.split("F15", "kron_g500-logn20", "mapping", "CTA + Warp + Scan", "multi-phase")),
    Claim("F15", "techniques are faster without dynamic parallelism",
          lambda rows: all_of(*(_technique(rows, f, "dynamic virtual warps + dynamic parallelism",
                                           "dynamic virtual warps") for f in MAPPED)),
          lambda rows: "a row of a million edges needs its grid: " + rows.split(
              "F14", "circuit5M", "mapping", "dynamic virtual warps", "dynamic virtual warps + dynamic parallelism")),
    Claim("F12", "direct and block search are much slower than the others (left out of the figures)",
          lambda rows: all_of(*(_technique(rows, f, s, "two-phase", 1.5)
                                for f in MAPPED for s in ("direct search", "block search"))),
          lambda rows: rows.split("F12", "regular", "mapping", "direct search", "block search", "two-phase")),
]  # fmt: skip
