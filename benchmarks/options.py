"""Options of the benchmarks' command: arguments of ``add_argument`` by name, and what differs for one benchmark."""

from pathlib import Path

from benchmarks import (
    across,
    anchors,
    coloring,
    communities,
    gapbs,
    measures,
    pipeline,
    resizing,
    service,
    shares,
    sizes,
    structure_gpu,
    variants,
)
from benchmarks.graphs import GRAPHS
from benchmarks.papers import command as papers

RESULTS = Path(__file__).parent / "results"

OPTIONS: dict[str, dict] = {
    "graphs": {"help": f"of {', '.join(GRAPHS)}, with commas between them (default: all)"},
    "algorithm": {"help": "some, with commas between them (default: all)"},
    "policy": {"help": "partitioning policy"},
    "weights": {"help": "such as 1..255 (default none)"},
    "repeat": {"type": int, "default": 5, "help": "rounds in which everything runs once (default 5)"},
    "ways": {"default": "plain", "help": f"some of {', '.join(across.WAYS)} (default plain)"},
    "sources": {"type": int, "default": 1, "help": "sources a graph of the peers (default 1)"},
    "megabytes": {"type": int, "default": 1000, "help": "size of the edge list (default 1000)"},
    "from_scale": {"type": int, "default": sizes.SCALES[0], "help": "smallest R-MAT"},
    "to_scale": {"type": int, "default": sizes.SCALES[-1], "help": "largest R-MAT"},
    "rows": {"help": "rows to measure, with commas between them (default: all)"},
    "quick": {"action": "store_true", "help": "small graphs, once"},
    "device": {"choices": ("cuda", "cpu"), "help": "default: cuda where there is a GPU"},
    "side": {"type": int, "help": "side of the grid whose rows are fetched"},
    "jobs": {"type": int, "default": 20_000, "help": "most jobs (default 20000)"},
    "minutes": {"type": float, "default": 8, "help": "time for them (default 8)"},
    "seconds": {"type": float, "default": 300, "help": "of requests and kills (default 300)"},
    "clients": {"type": int, "default": 8, "help": "at the same time (default 8)"},
    "ranks": {"type": int, "default": 1, "help": "of the service (default 1)"},
    "scale": {"type": int, "default": 20, "help": "log2 of the vertices (default 20)"},
    "backend": {"choices": ("cpu", "cuda"), "default": "cpu", "help": "default cpu"},
    "at": {"help": "commits with commas between them (default: the working tree)"},
    "measured": {"type": Path, "help": "folder of that machine's results"},
    "paper": {"help": f"some of {', '.join(papers.FIGURES)} (default: all)"},
    "figure": {"help": "some of their figures, such as F7,T3 (default: all)"},
    "gapbs": {"type": Path, "metavar": "FOLDER", "help": "folder of GAPBS's programs"},
    "threads": {"default": "1,2", "help": "with --gapbs: numbers of threads (default 1,2)"},
    "missing": {"action": "store_true", "help": "only rows that have no figures yet, of whatever commit and machine"},
    "docs": {"type": Path, "default": RESULTS.parents[1] / "docs" / "papers", "help": "folder of the pages"},
}
"""Name of an option → arguments of ``add_argument``."""

ANCHORS = f"of {', '.join(anchors.RECIPES)}, with commas between them"
OWN: dict[tuple[str, str], dict] = {
    **{(name, "graphs"): {"help": ANCHORS} for name in ("default", "gpu", "schedules", "turns")},
    **{
        (name, "scale"): {"default": None, "help": "log2 of the vertices of every graph (default: by graph)"}
        for name in resizing.SIZED
    },
    ("store", "scale"): {"default": 22, "help": "log2 of the vertices (default 22)"},
    ("cpu", "graphs"): {
        "help": f"of {', '.join(GRAPHS)}, with commas between them; with --gapbs: NAME:SIZE with + between them",
    },
    ("cpu", "rows"): {"help": f"with --gapbs: some of {', '.join(map(repr, gapbs.ROWS))} with + between them"},
    ("measures", "graphs"): {"help": f"some rmat:SCALE with commas between them (default {','.join(measures.GRAPHS)})"},
    ("measures", "rows"): {"help": "rows, with + between them (default: all that the results lack)"},
    ("measures", "scale"): {"default": None, "help": "log2 of the vertices, in place of graphs"},
    ("certificates", "graphs"): {"help": "NAME:SIZE with + between them (default rmat:18,symmetric)"},
    ("certificates", "device"): {"help": "default cpu"},
    ("variants", "graphs"): {"help": f"of {', '.join(variants.SHAPES)}"},
    ("variants", "device"): {"help": "default cuda"},
    ("coloring", "graphs"): {"help": f"of {', '.join(coloring.GRAPHS)}"},
    ("coloring", "scale"): {"default": None, "help": "log2 of the vertices of every graph (default: by graph)"},
    ("apsp", "scale"): {"default": None, "help": "log2 of the vertices, in place of all sizes"},
    ("across", "algorithm"): {"help": f"some of {', '.join(across.ALGORITHMS)}"},
    ("across", "graphs"): {"help": f"of {', '.join(across.GRAPHS)}"},
    ("across", "policy"): {"help": "policies with + between them (default oec)"},
    ("building", "graphs"): {"help": "NAME:SIZE[/push][/levels] with + between them"},
    ("building", "algorithm"): {"help": "default bfs"},
    ("building", "policy"): {"help": "default auto"},
    ("shares", "algorithm"): {"help": f"some of {', '.join(shares.ALGORITHMS)}"},
    ("pipeline", "rows"): {"help": f"some of {', '.join(pipeline.ROWS)}"},
    ("service", "rows"): {"help": f"some of {', '.join(service.PARTS)}"},
    ("service", "graphs"): {"help": "one NAME:SIZE"},
    ("structure", "rows"): {
        "help": f"tasks, with commas between them; with --backend cuda: of {', '.join(structure_gpu.ROWS)}",
    },
    ("communities", "scale"): {
        "type": str, "choices": tuple(communities.SIZES), "default": "small", "help": "default small",
    },
    ("papers", "scale"): {"type": str, "choices": ("small", "full"), "default": "small", "help": "default small"},
    ("papers", "backend"): {
        "choices": (*papers.BACKENDS, "none"), "default": None,
        "help": "default: all of this machine; none: judge the rows that are there, and write pages",
    },
    ("papers", "repeat"): {"default": 3, "help": "timed runs of a cell (default 3)"},
    ("schedules", "sources"): {"help": "sources of a search (default 1: the vertex of most edges)"},
    ("papers", "sources"): {"default": None, "help": "sources of a search (default: as the paper, 100 for 004)"},
}  # fmt: skip
"""Benchmark and option → what differs."""
