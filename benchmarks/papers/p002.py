"""Paper 002: the adaptive load balancer (ALB) of D-IrGL."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.papers import across_ranks
from benchmarks.papers.bench import BLOCKS, Bench, Shape, System, degrees, grid, import_from_tests
from benchmarks.papers.figure import CPU, CUDA, EMULATED, NUMBERS, Cell, Claim, Figure, Row, Rows, all_of, ratio

GRAPHS = {
    "rmat25": Shape("rmat-alb:{s}", (10, 14, 22, 25), "1..100", "rmat25"),
    "orkut": Shape("rmat:{s},edge_factor=38,a=0.5,b=0.2,c=0.2,symmetric", (9, 12, 18, 21), "1..100", "orkut"),
    "road-USA": Shape("roadnet:{s}x{s}", (32, 160, 1500, 4894), None, "road-USA"),
}
LARGER = {
    "rmat26": Shape("rmat-alb:{s},seed=2", (8, 18, 23, 26), "1..100", "rmat26"),
    "rmat27": Shape("rmat-alb:{s},seed=3", (9, 19, 24, 27), "1..100", "rmat27"),
    "twitter40": Shape("rmat:{s},edge_factor=35", (8, 14, 22, 25), "1..100", "twitter40"),
    "uk2007": Shape("rmat:{s},edge_factor=35,a=0.57,b=0.13,c=0.25", (8, 14, 22, 26), "1..100", "uk2007"),
}
WORKS = ("bfs", "sssp", "cc", "pagerank", "kcore, pull", "kcore")
"""Works of Table 3; the paper's kcore pulls, as pr does (section 5), and ours pushes unless it is told to."""
SHORT = {"pagerank": "pr", "kcore, pull": "kcore"}
SYSTEMS = [System("TWC", "twc,small=scan"), System("LB", "lb"), System("ALB", "alb,small=scan")]
OURS = [System("TWC", "twc"), System("LB", "lb"), System("ALB", "alb")]
THREADS = 64
"""Threads of a block in the model: about as many edges each as on a V100 in the paper's rmat25."""

SEARCHED = {"all vertices (LB)": 1, "vertices of a warp's edges": 32, "huge vertices (ALB)": BLOCKS * THREADS}
"""Vertices that threads search → their least degree."""

FORMS = {"cyclic": (False, True), "blocked": (True, True), "ours, cyclic": (False,), "ours, blocked": (True,)}
"""Distribution → blocked or not, and whether each edge is searched, as the paper prints it."""

DEALT = [System("cyclic", "alb,distribution=cyclic"), System("blocked", "alb,distribution=blocked")]
THRESHOLDS = [0, *(1 << k for k in range(0, 25, 3))]
TABLE = NUMBERS["002"]["figures"]["Table 3"]
TIMES = {
    "graph": "graph", "work": "work", "system": "system", "ms": "ms", "paper": "paper's ms", "kernel_ms": "kernel ms",
    "overhead_ms": "overhead ms", "rounds": "rounds", "block": "max/mean edges a block",
    "thread": "max/mean edges a thread",
}  # fmt: skip
RANKS = {
    "graph": "graph", "work": "work", "system": "system", "ranks": "ranks", "computation_ms": "computation ms",
    "communication_ms": "communication ms", "rounds": "rounds", "sent": "bytes sent",
}  # fmt: skip


def printed(graph: str, work: str, system: str) -> float | None:
    """Return the milliseconds of Table 3 on a V100."""
    return TABLE["rows"][graph][SHORT.get(work, work)][TABLE["columns"].index(f"D-IrGL {system}")]


def _loads(works: dict[str, tuple[str, ...]], systems: list[System], bench: Bench) -> Iterator[Cell]:
    for graph, asked in works.items():
        yield from grid(bench, {graph: GRAPHS[graph]}, asked, systems, load=True)


def _sweep(bench: Bench) -> Iterator[Cell]:
    for threshold in THRESHOLDS:
        graphs = {name: GRAPHS[name] for name in ("rmat25", "road-USA")}
        system = System(f"threshold {threshold}", f"alb,threshold={threshold}")
        for key, run in grid(bench, graphs, ("sssp", "pagerank"), [system]):
            yield key | {"threshold": max(threshold, 0.5)}, run


def _searched(bench: Bench) -> Iterator[Cell]:
    """Yield cells of the model of section 4.2, which tests hold against emulated kernels: one round of all vertices."""
    import_from_tests()
    from paper_models.grid import Grid
    from paper_models.paper_002 import searches

    def measured(least: int, *form: bool) -> Row:
        degree = np.diff(bench.graph(GRAPHS["rmat25"]).block.offsets).tolist()
        work = [u for u, edges in enumerate(degree) if edges >= least]
        _, reads = searches(degree, work, Grid(BLOCKS, THREADS), *form)
        edges = sum(degree[u] for u in work)
        return {"huge": len(work), "read": sum(reads) / edges, "paths": max(reads, default=0)}

    for name, least in SEARCHED.items():
        for system, form in FORMS.items():
            key = {"graph": "rmat25", "spec": bench.spec(GRAPHS["rmat25"]), "work": name, "system": system}
            yield key, partial(measured, least, *form)


def _over_hosts(bench: Bench) -> Iterator[Cell]:
    graphs = {"rmat26": LARGER["rmat26"]}
    if bench.backend == EMULATED:
        return across_ranks.counted(bench, graphs, ("twc", "alb"))
    return across_ranks.cells(bench, graphs, ("bfs",), ("twc", "alb"))


FIGURES_HERE = [
    Figure("F1", "Figure 1: edges by thread block in the first three rounds, TWC", (EMULATED, CUDA),
           partial(_loads, {"rmat25": ("sssp", "bfs", "pagerank"), "road-USA": ("bfs",)}, OURS[:1]), TIMES, "block"),
    Figure("T2", "Table 2: inputs", (CPU,),
           lambda bench: degrees(bench, GRAPHS | LARGER, NUMBERS["002"]["graphs"]),
           {"graph": "graph", "spec": "ours", "n": "vertices", "arcs": "edges", "largest": "largest out-degree",
            "largest_in": "largest in-degree", "paper": "paper"}),
    Figure("T1", "Section 4.2: prefix sums that searches read", (CPU,), _searched,
           {"work": "vertices", "system": "edges", "huge": "number", "read": "reads of a warp ÷ edges",
            "paths": "most in a step"}),
    Figure("T3", "Table 3: one GPU", (CUDA, EMULATED), lambda bench: grid(bench, GRAPHS, WORKS, OURS, printed),
           TIMES, "ms", log=True),
    Figure("T3-scan", "Table 3 with TWC's block-wide scan", (CUDA, EMULATED),
           lambda bench: grid(bench, GRAPHS, ("bfs", "sssp"), SYSTEMS, printed), TIMES, "ms", log=True),
    Figure("F5", "Figure 5: edges by thread block with TWC and ALB", (EMULATED, CUDA),
           partial(_loads, {"rmat25": ("bfs", "pagerank")}, [OURS[0], OURS[2]]), TIMES, "block"),
    Figure("sweep", "Threshold sweep", (CUDA, EMULATED), _sweep, TIMES, "ms", log=True, x="threshold"),
    Figure("F6", "Figure 6: cyclic and blocked", (CUDA, EMULATED),
           lambda bench: grid(bench, {"rmat25": GRAPHS["rmat25"]}, WORKS, DEALT), TIMES, "ms", log=True),
    Figure("F7a", "Figure 7a: strong scaling in one host", (CPU, CUDA),
           lambda bench: across_ranks.cells(bench, GRAPHS, ("bfs", "pagerank"), ("twc", "alb")), RANKS,
           "computation_ms", x="ranks"),
    Figure("F7b", "Figure 7b: strong scaling over hosts", (CPU, CUDA, EMULATED), _over_hosts,
           RANKS | {"block_edges": "edges of the fullest blocks"}, "computation_ms", x="ranks"),
    Figure("F8", "Figure 8: computation and communication", (CPU, CUDA),
           lambda bench: across_ranks.cells(bench, {"rmat27": LARGER["rmat27"]}, ("bfs", "pagerank"), ("twc", "alb")),
           RANKS, "computation_ms", x="ranks"),
]  # fmt: skip


def _faster(rows: Rows, graph: str, work: str, slow: str, fast: str, least: float, most: float = float("inf")):
    label = f"{graph} {work} {slow} / {fast}"
    return ratio(label, rows.ms("T3", graph, work, slow), rows.ms("T3", graph, work, fast), least, most)


def _even(rows: Rows, graph: str, work: str, most: float, figure: str = "T3", system: str = "ALB"):
    load = rows.load(figure, graph, work, system)
    return load <= most, f"{graph} {work} {system}: max/mean of a block {load:.2f}"


def _few(rows: Rows) -> tuple[bool, str]:
    rounds = rows.value("by_round", "F1", graph="road-USA", work="bfs", backend=EMULATED)
    most = [one["most"] for one in rounds]  # type: ignore[attr-defined]
    return max(most) < 100, f"fullest blocks {most} edges"


def _uneven(rows: Rows, work: str, least: float) -> tuple[bool, str]:
    load = rows.load("F1", "rmat25", work, "TWC")
    return load > least, f"rmat25 {work} TWC: max/mean of a block {load:.2f}"


def _pushed(figure: str, slow: str, fast: str, rows: Rows) -> str:
    pulled, pushed = (
        rows.value("ms", figure, graph="rmat25", work=work, system=slow, backend=CUDA)
        / rows.value("ms", figure, graph="rmat25", work=work, system=fast, backend=CUDA)
        for work in ("kcore, pull", "kcore")
    )
    return f"kcore {slow} / {fast}: pull {pulled:.2f}, push {pushed:.2f}, which walks removed vertices alone"


def _paths(rows: Rows, work: str) -> tuple[bool, str]:
    paths, reads = (
        [rows.value(column, "T1", work=work, system=system) for system in ("cyclic", "blocked")]
        for column in ("paths", "read")
    )
    text = f"{work}: paths {paths[0]} and {paths[1]}, reads an edge {reads[0]:.2f} and {reads[1]:.2f}"
    return paths[0] <= 2 < paths[1] and reads[0] < reads[1], text


def _edges_a_round(rows: Rows) -> str:
    counts = []
    for work in ("bfs", "sssp"):
        key = {"graph": "road-USA", "work": work, "system": "LB", "backend": CUDA}
        walked, arcs, rounds = (rows.value(column, "T3", **key) for column in ("walked", "arcs", "rounds"))
        counts.append(f"{walked * arcs / rounds:,.0f} edges of {work}")
    return f"a round has {' and '.join(counts)}, so that threads search few times: "


def _reads(rows: Rows) -> str:
    printed, ours = (rows.value("read", "T1", work=next(iter(SEARCHED)), system=s) for s in ("cyclic", "ours, cyclic"))
    return f"LB searches where a thread's vertex ends, {ours:.2f} reads an edge, not for each edge, {printed:.2f}: "


def _pulled(rows: Rows) -> str:
    largest, arcs = (rows.value(column, "T2", graph="rmat25") for column in ("largest_in", "arcs"))
    return f"pr pulls, and in-edges are uneven, too: a vertex of T2's rmat25 has {largest / arcs:.2%} of them"


def _swept(rows: Rows, graph: str, work: str, low: int, high: int, most: float) -> tuple[bool, str]:
    times = [rows.ms("sweep", graph, work, f"threshold {t}") for t in THRESHOLDS if low <= t <= high]
    return ratio(f"{graph} {work} thresholds {low} to {high}, slowest / fastest", max(times), min(times), 1.0, most)


OMITTED = (
    "Dense worklists: ours are sparse; the paper blames its dense ones for slow roads.",
    "uk2007's recipe: no reader takes WebGraph; T2 names a stand-in.",
    "Gunrock, Lux, several hosts.",
)
"""What the paper has and no row here, with the reason."""
CLAIMS = [
    Claim("F1", "rmat25: blocks are uneven under TWC for sssp and bfs, even for pr",
          lambda rows: all_of(
              _uneven(rows, "sssp", 1.5), _uneven(rows, "bfs", 1.5),
              _even(rows, "rmat25", "pagerank", 1.5, "F1", "TWC")),
          _pulled),
    Claim("F1", "road-USA: no block has many edges under TWC (fewer than 100 in each of the first three rounds)", _few),
    Claim("T1", "lanes of a warp follow at most two paths of a search if cyclic and more if blocked, which reads more",
          lambda rows: all_of(*(_paths(rows, work) for work in list(SEARCHED)[1:]))),
    Claim("T3", "rmat25: ALB beats TWC by 8.9 (bfs), 10 (sssp), 4.6 (cc) and 6.3 (kcore)",
          lambda rows: all_of(*(_faster(rows, "rmat25", work, "TWC", "ALB", least) for work, least in
                                (("bfs", 8.0), ("sssp", 9.0), ("cc", 4.0), ("kcore, pull", 5.5)))),
          lambda rows: _pushed("T3", "TWC", "ALB", rows) + "; pulling LB takes {:.3g} ms: rows below the threshold are "
          "uneven".format(rows.ms("T3", "rmat25", "kcore, pull", "LB"))),
    Claim("T3", "rmat25: ALB gains nothing for pr",
          lambda rows: _faster(rows, "rmat25", "pagerank", "TWC", "ALB", .9, 1.1)),
    Claim("T3", "without hubs ALB is as fast as TWC (paper: within 38 %)",
          lambda rows: all_of(*(_faster(rows, g, w, "ALB", "TWC", 0.6, 1.38)
                                for g in ("orkut", "road-USA") for w in WORKS[:-1]))),
    Claim("T3", "road-USA: LB is slower than TWC, bfs 1.9 and sssp 2.6 times",
          lambda rows: all_of(_faster(rows, "road-USA", "bfs", "LB", "TWC", 1.5),
                              _faster(rows, "road-USA", "sssp", "LB", "TWC", 2.0)),
          lambda rows: _edges_a_round(rows) + rows.split("T3", "road-USA", "sssp", "TWC", "LB")),
    Claim("T3", "LB is slower than TWC for pr (rmat25 2.8, orkut 1.8 times)",
          lambda rows: all_of(*(_faster(rows, g, "pagerank", "LB", "TWC", 1.2) for g in ("rmat25", "orkut"))),
          lambda rows: _reads(rows) + rows.split("T3", "orkut", "pagerank", "TWC", "LB")),
    Claim("T3", "rmat25: ALB spreads the edges of bfs and sssp evenly over blocks (max/mean at most 1.5)",
          lambda rows: all_of(*(_even(rows, "rmat25", w, 1.5) for w in ("bfs", "sssp")))),
    Claim("F5", "pr: ALB launches no LB kernel, its blocks are TWC's",
          lambda rows: ratio("TWC / ALB, max/mean of a block", rows.load("F5", "rmat25", "pagerank", "TWC"),
                             rows.load("F5", "rmat25", "pagerank", "ALB"), 0.999, 1.001)),
    Claim("sweep", "road-USA: every threshold from the block size on is alike",
          lambda rows: all_of(*(_swept(rows, "road-USA", w, 256, 1 << 24, 1.15) for w in ("sssp", "pagerank")))),
    Claim("sweep", "rmat25, sssp: thresholds from the block size to below the hub's degree are alike, larger ones slow",
          lambda rows: all_of(
              _swept(rows, "rmat25", "sssp", 256, 1 << 18, 1.3),
              ratio("threshold 2^24 / 2^12", rows.ms("sweep", "rmat25", "sssp", f"threshold {1 << 24}"),
                    rows.ms("sweep", "rmat25", "sssp", f"threshold {1 << 12}"), 2.0)),
          lambda rows: rows.split("sweep", "rmat25", "sssp", "threshold 512", "threshold 4096")),
    Claim("F6", "cyclic is faster than blocked on all but pr",
          lambda rows: all_of(*(
              ratio(f"{w} blocked / cyclic", *(rows.ms("F6", "rmat25", w, s) for s in ("blocked", "cyclic")))
              for w in WORKS[:-1] if w != "pagerank")),
          partial(_pushed, "F6", "blocked", "cyclic")),
    Claim("F7a", "on each number of GPUs of a host ALB is faster than TWC on rmat25 for bfs (paper: 1 to 8)",
          partial(across_ranks.compared, "F7a", "rmat25", CUDA)),
    Claim("F7b", "on each number of GPUs ALB is faster than TWC on rmat26 (paper: up to 16 of 8 hosts)",
          partial(across_ranks.compared, "F7b", "rmat26", CUDA)),
    Claim("F7b", "likewise by edges of the fullest blocks, on 1 to 4 emulated GPUs",
          partial(across_ranks.fuller_blocks, "F7b", "rmat26")),
    Claim("F7b", "strong scaling: more CPU ranks, less computation of the slowest",
          partial(across_ranks.scaled, "F7b", "rmat26"), partial(across_ranks.short_rounds, "F7b", "rmat26")),
    Claim("F8", "TWC: most of the time is computation, on one straggler",
          partial(across_ranks.mostly_computation, "F8", "rmat27", CUDA)),
]  # fmt: skip
