"""Paper 004: breadth-first search by the expand operation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from benchmarks.papers.bench import Bench, Shape, System, grid
from benchmarks.papers.figure import (
    BACKENDS,
    CPU,
    CUDA,
    EMULATED,
    Cell,
    Claim,
    Figure,
    NotTried,
    Rows,
    all_of,
    ratio,
)

SOURCES = 100
SEQUENTIAL = System("sequential", sequential="queue")
SYSTEMS = [
    System("gather (4.2)", "expand_gather"), System("balanced (4.3)", "expand_balanced"),
    System("hybrid (4.4)", "expand_hybrid"), System("memory (4.1)", "merge_path,by=memory"), SEQUENTIAL,
]  # fmt: skip
THREE = ("gather (4.2)", "balanced (4.3)", "hybrid (4.4)")
FACTORS = (1, 2, 4, 8, 16, 32)
"""Edge factors of the symmetric graphs: mean degrees of 2 to 64."""

DRAWN = {"F6": "uniform:{{s}},edge_factor={},symmetric", "F7": "gtgraph:{{s}},edge_factor={},symmetric"}
TABLE = {
    "random": Shape("uniform:{s},edge_factor=8,symmetric", (8, 13, 18, 21), None, "random"),
    "rmat": Shape("gtgraph:{s},edge_factor=8,symmetric", (8, 13, 18, 21), None, "rmat"),
    "kron": Shape("kron:{s}", (8, 12, 18, 20), None, "kron_g500-logn20"),
    "germany.osm": Shape("roadnet:{s}x{s}", (16, 96, 700, 3400), None, "germany.osm"),
    "hugebubbles-00020": Shape("grid:{s}x{s}", (16, 64, 700, 4600), None, "hugebubbles-00020"),
}
MERRILL = [
    SEQUENTIAL, System("expand-hybrid", parameters={"variant": "expand-hybrid"}),
    System("Merrill hybrid", parameters={"variant": "hybrid"}),
    System("Merrill expand-contract", parameters={"variant": "expand-contract"}),
    System("Merrill contract-expand", parameters={"variant": "contract-expand"}),
]  # fmt: skip
RATES = {
    "graph": "graph", "degree": "mean degree", "system": "strategy", "mteps": "million edges/s", "ms": "ms",
    "sources": "sources", "rounds": "rounds", "block": "max/mean edges a block", "thread": "max/mean edges a thread",
}  # fmt: skip


def _by_degree(figure: str, bench: Bench) -> Iterator[Cell]:
    for factor in FACTORS if bench.backend != EMULATED else FACTORS[::2]:
        sizes = (8, 13, 18, 21)
        shape = Shape(DRAWN[figure].format(factor), sizes, None, f"mean degree {2 * factor}")
        graph = f"{'random' if figure == 'F6' else 'R-MAT'} {2 * factor}"
        for key, run in grid(
            bench, {graph: shape}, ("bfs",), SYSTEMS, sources=1 if bench.backend == EMULATED else SOURCES
        ):
            yield key | {"degree": 2 * factor}, run


def _table(bench: Bench) -> Iterator[Cell]:
    if bench.backend == CPU:
        yield from grid(bench, TABLE, ("bfs",), MERRILL[:1], sources=SOURCES)
    else:
        yield from grid(bench, TABLE, ("bfs",), MERRILL, sources=1 if bench.backend == EMULATED else SOURCES)


FIGURES_HERE = [
    Figure("F6", "Figure 6: rate by mean degree, random graphs", BACKENDS, partial(_by_degree, "F6"), RATES, "mteps",
           x="degree"),
    Figure("F7", "Figure 7: rate by mean degree, R-MAT", BACKENDS, partial(_by_degree, "F7"), RATES, "mteps",
           x="degree"),
    Figure("T1", "Table 1: against sequential search and Merrill", BACKENDS, _table,
           {name: head for name, head in RATES.items() if name != "degree"}, "mteps", log=True),
]  # fmt: skip


def _rate(rows: Rows, figure: str, degree: int, system: str) -> float:
    return rows.value("mteps", figure, degree=degree, system=system, backend=CUDA)


def _hybrid(rows: Rows) -> tuple[bool, str]:
    tests = []
    for figure in ("F6", "F7"):
        for factor in FACTORS:
            gather, balanced, hybrid = (_rate(rows, figure, 2 * factor, name) for name in THREE)
            tests.append(ratio(f"{figure} d={2 * factor} hybrid / better part", hybrid, max(gather, balanced), 0.95))
    return all_of(*tests)


def _wins(rows: Rows, degree: int, winner: str, other: str) -> tuple[bool, str]:
    label = f"d={degree} {winner} / {other}"
    return all_of(
        *(ratio(f"{f} {label}", _rate(rows, f, degree, winner), _rate(rows, f, degree, other)) for f in DRAWN)
    )


def _merrill(rows: Rows, graph: str, least: float, most: float = float("inf")) -> tuple[bool, str]:
    ours = rows.value("mteps", "T1", graph=graph, system="expand-hybrid", backend=CUDA)
    ran = [row for row in rows.of("T1", graph=graph, backend=CUDA) if "mteps" in row]
    others = [row["mteps"] for row in ran if row["system"].startswith("Merrill")]
    if not others:
        raise NotTried(f"nothing of Merrill's ran on {graph}")
    return ratio(f"{graph} expand-hybrid / best of Merrill", ours, max(others), least, most)


def _largest(rows: Rows) -> tuple[bool, str]:
    tests = [_merrill(rows, graph, 0.0) for graph in TABLE]
    best = max(float(re.split(" = ", text)[-1]) for _, text in tests)
    return best >= 1.2, "; ".join(text for _, text in tests)


def _cpu(rows: Rows) -> tuple[bool, str]:
    rows = rows.among("expand-hybrid", "sequential")
    row = {"graph": "random", "backend": CUDA}
    ours, alone = (rows.value("mteps", "T1", system=name, **row) for name in ("expand-hybrid", "sequential"))
    if rows.value("n", "T1", system="expand-hybrid", **row) < 1 << 21:
        holds, text = ratio("expand-hybrid / sequential", ours, alone, 39)
        return holds, f"{text} (2^18 vertices, paper 2 million)"
    return ratio("expand-hybrid / sequential", ours, alone, 39)


def _slower(rows: Rows) -> tuple[bool, str]:
    return all_of(*(_merrill(rows, graph, 0.0, 1.0) for graph in ("germany.osm", "hugebubbles-00020")))


OMITTED = ("Direct gathering chosen by hand for graphs of large diameter: it begins with round `deep=`, 64.",)
"""What the paper has and no row here, with the reason."""
CLAIMS = [
    Claim("F6", "balanced redistribution with imbalanced gathering (4.3) wins at large mean degree",
          partial(_wins, degree=64, winner=THREE[1], other=THREE[0]),
          lambda rows: rows.split("F6", "random 64", "bfs", *THREE[:2])),
    Claim("F6", "imbalanced redistribution with balanced gathering (4.2) wins at small mean degree",
          partial(_wins, degree=2, winner=THREE[0], other=THREE[1]),
          lambda rows: rows.split("F6", "random 2", "bfs", *THREE[:2])),
    Claim("F6", "the hybrid (f0 = 10) is as good as the better part at every mean degree", _hybrid,
          lambda rows: rows.split("F6", "random 16", "bfs", *THREE)),
    Claim("T1", "random: 39 times as fast as sequential search", _cpu),
    Claim("T1", "up to 1.42 times as fast as Merrill's", _largest),
    Claim("T1", "slower than Merrill's on germany.osm and hugebubbles-00020", _slower,
          lambda rows: rows.each_round("T1", "hugebubbles-00020", "bfs", "expand-hybrid", "Merrill hybrid")),
]  # fmt: skip
