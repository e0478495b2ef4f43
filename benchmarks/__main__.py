"""Run one benchmark, and write its figures to ``results`` as JSON and as a Markdown table."""

import argparse
import json
from pathlib import Path

from benchmarks import (
    across,
    all_pairs,
    anchors,
    building,
    centrality,
    changes,
    code,
    coloring,
    communities,
    contention,
    cpu,
    device_tables,
    estimates,
    gapbs,
    gpu,
    gpu_loading,
    labels,
    loading,
    networkx_suite,
    pipeline,
    ranks,
    schedules,
    service,
    service_soak,
    shares,
    sizes,
    store,
    strong,
    structure,
    structure_gpu,
    tables,
    transports,
    tuning,
    turns,
    variants,
)
from benchmarks.graphs import GRAPHS

RESULTS = Path(__file__).parent / "results"
WHAT = {
    "cpu": (
        "dgraph on one rank against NetworKit, igraph and SciPy; with --gapbs FOLDER against GAPBS's programs",
        lambda asked: (
            gapbs.measure(
                asked.gapbs,
                (asked.graphs or gapbs.GRAPHS).split("+"),
                asked.rows.split("+") if asked.rows else list(gapbs.ROWS),
                [int(number) for number in asked.threads.split(",")],
                asked.repeat,
                asked.results,
            )
            if asked.gapbs
            else cpu.measure(_named(asked.graphs, GRAPHS), asked.repeat, asked.results)
        ),
    ),
    "ranks": (
        "1, 2 and 4 ranks of this machine",
        lambda asked: ranks.measure(_named(asked.graphs, GRAPHS), asked.repeat, asked.results),
    ),
    "sizes": (
        "seconds against size, and what a round costs",
        lambda asked: sizes.measure(range(asked.from_scale, asked.to_scale + 1), asked.repeat, asked.results),
    ),
    "apsp": (
        "all pairs by method and size, against SciPy, igraph and NetworkX, or on a GPU",
        lambda asked: all_pairs.measure(asked.repeat, asked.results),
    ),
    "contention": (
        "beside a process that holds a core",
        lambda asked: contention.measure(_named(asked.graphs, GRAPHS), asked.repeat, asked.results),
    ),
    "gpu": (
        "one GPU against what Gunrock and cuGraph were measured at on the same graphs",
        lambda asked: gpu.measure(_named(asked.graphs, anchors.RECIPES), asked.repeat, asked.results),
    ),
    "schedules": (
        "every schedule on one GPU: time, memory, load of blocks",
        lambda asked: schedules.measure(_named(asked.graphs, schedules.GRAPHS), asked.repeat, asked.results),
    ),
    "turns": (
        "alb against twc on one GPU, in turns",
        lambda asked: turns.measure(_named(asked.graphs, schedules.GRAPHS), asked.repeat, asked.results),
    ),
    "tuning": (
        "rounds of one GPU under the schedules that auto chooses among, on graphs of other seeds",
        lambda asked: tuning.measure(min(asked.repeat, 2), asked.results),
    ),
    "pipeline": (
        "whole jobs by phase: start, load, build, call, validate, gather, output; against peers and byte bounds",
        lambda asked: pipeline.measure(_named(asked.rows, pipeline.ROWS), asked.quick, asked.results),
    ),
    "load": (
        "readers of a generated edge list against pandas, pyarrow, NetworKit and igraph",
        lambda asked: loading.measure(asked.megabytes, asked.repeat, asked.results),
    ),
    "gpu-load": (
        "files and arrays to the first answer on one GPU, built on the host and on the GPU",
        lambda asked: gpu_loading.measure(asked.scale, asked.repeat, asked.results),
    ),
    "tables": (
        "DataFrames and NetworkX graphs in and out, against NetworKit, igraph, pandas and SciPy",
        lambda asked: tables.measure(asked.repeat, asked.results),
    ),
    "device-tables": (
        "on one GPU: networkx.pagerank by the backend, and a result of 20 million rows to Arrow and CuPy",
        lambda asked: device_tables.measure(asked.repeat, asked.results),
    ),
    "service": (
        "the resident service: round trips, Arrow results, many jobs, query loops, jobs ended early, a killed rank",
        lambda asked: service.measure(
            asked.device, asked.rows, asked.graphs, asked.side, asked.jobs, asked.minutes, asked.repeat, asked.results
        ),
    ),
    "soak": (
        "the resident service under clients while its ranks are killed; every answer against an oracle",
        lambda asked: service_soak.measure(asked.device, asked.ranks, asked.seconds, asked.clients, asked.results),
    ),
    "networkx": (
        "NetworkX's own tests with dgraph as the backend",
        lambda asked: networkx_suite.measure(asked.results),
    ),
    "across": (
        "rounds of several GPUs: what a round costs, and what of it is not computation; start it with mpirun",
        lambda asked: across.measure(
            _named(asked.graphs, across.GRAPHS),
            _named(asked.algorithm, across.ALGORITHMS),
            (asked.policy or "oec").split("+"),
            asked.ways.split(","),
            asked.sources,
            asked.repeat,
            asked.results,
        ),
    ),
    "transports": (
        "messages between GPUs by size and transport; start it with mpirun, a rank a GPU",
        lambda asked: transports.measure(asked.repeat, asked.results),
    ),
    "centrality": (
        "closeness, betweenness and searches from many sources on one rank, against NetworKit, igraph and NetworkX",
        lambda asked: centrality.measure(
            _named(asked.graphs, centrality.GRAPHS | centrality.weighted_centrality.GRAPHS), asked.repeat, asked.results
        ),
    ),
    "coloring": (
        "vertex colouring: who goes first, and when rounds by degree end; colours and time",
        lambda asked: coloring.measure(_named(asked.graphs, coloring.GRAPHS), asked.repeat, asked.results),
    ),
    "strong": (
        "strongly connected components: on a CPU against NetworKit, igraph and SciPy, on a GPU rounds and calls",
        lambda asked: strong.measure(asked.graphs and asked.graphs.split(","), asked.repeat, asked.results),
    ),
    "structure": (
        "triangles, trusses, forests, sets, colours: two CPU threads against peers; --backend cuda: one GPU",
        lambda asked: (
            structure_gpu.measure(_named(asked.rows, structure_gpu.ROWS), asked.repeat, asked.results)
            if asked.backend == "cuda"
            else structure.measure(_named(asked.graphs, structure.GRAPHS), asked.repeat, asked.results)
        ),
    ),
    "shares": (
        "memory of a rank on 4 ranks over that on 1, by algorithm",
        lambda asked: shares.measure(asked.scale, _named(asked.algorithm, shares.ALGORITHMS), asked.results),
    ),
    "labels": (
        "label propagation on this rank's device",
        lambda asked: labels.measure(_named(asked.graphs, labels.GRAPHS), asked.repeat, asked.results),
    ),
    "communities": (
        "quality and time of leiden and louvain on two CPU threads, against igraph",
        lambda asked: communities.measure(_named(asked.graphs, communities.GRAPHS), asked.repeat, asked.results),
    ),
    "estimates": (
        "core numbers by peeling and by estimates: counts of rounds, exchanges and edges, no seconds",
        lambda asked: estimates.measure(_named(asked.graphs, estimates.GRAPHS), asked.results),
    ),
    "building": (
        "generated graphs drawn and built on GPUs, solved and validated there; start it with mpirun",
        lambda asked: building.measure(
            (asked.graphs or "rmat:24").split("+"),
            asked.algorithm or "bfs",
            asked.policy or "auto",
            asked.weights,
            asked.repeat,
            asked.results,
        ),
    ),
    "code": (
        "lines of code, flags of the CUDA text, vague names, imports upwards, longest functions; of any commits",
        lambda asked: code.measure(asked.at, asked.results),
    ),
    "merge": (
        "rows of across, building, gpu and pipeline that were measured on another machine, in place of older ones",
        lambda asked: _merge(asked.measured, asked.results),
    ),
    "changes": (
        "a batch of edges against a graph built anew, and runs from a previous answer, on 1 and 2 ranks",
        lambda asked: changes.measure(_named(asked.graphs, changes.GRAPHS), asked.repeat, asked.results),
    ),
    "variants": (
        "every variant of sssp on four shapes of graph: time, rounds and edges walked",
        lambda asked: variants.measure(
            _named(asked.graphs, variants.SHAPES), asked.scale, asked.device or "cuda", asked.repeat, asked.results
        ),
    ),
    "store": (
        "a partitioned graph, written and opened",
        lambda asked: store.measure(asked.repeat, asked.results),
    ),
}
"""Name → description and function of a benchmark."""


KEPT = {"across": across.keep, "building": building.keep}
"""Benchmarks with a file per number of ranks → the function that adds rows to it."""

ALONE = {"gpu": gpu.keep, "pipeline": pipeline.keep}
"""Benchmarks with one file, likewise."""


def _named(asked: str | None, names) -> list[str]:
    return asked.split(",") if asked else list(names)


def _merge(measured: Path | None, results: Path) -> None:
    if measured is None or not measured.is_dir():
        raise SystemExit(
            "merge takes --measured FOLDER, with across-P.json, building-P.json, gpu.json or pipeline.json in it"
        )
    for file in sorted(measured.glob("*.json")):
        what, _, ranks = file.stem.partition("-")
        if file.stem not in ALONE and not (what in KEPT and ranks.isdecimal()):
            files = ", ".join([*(f"{stem}-P.json" for stem in KEPT), *(f"{stem}.json" for stem in ALONE)])
            raise SystemExit(f"{file}: merge knows {files}; leave other files out, or rename them")
        runs = json.loads(file.read_text())["runs"]
        if what in KEPT:
            KEPT[what](results, int(ranks), runs)
        else:
            ALONE[what](results, runs)


def main() -> None:
    lines = "\n".join(f"  {name:<11} {about}" for name, (about, _) in WHAT.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"{__doc__}\n\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=WHAT)
    parser.add_argument(
        "--graphs",
        help=f"of {', '.join(GRAPHS)}; of gpu, schedules and turns: {', '.join(anchors.RECIPES)}; "
        f"of variants: {', '.join(variants.SHAPES)}; "
        "of building: NAME:SIZE[/push][/levels] with + between them; of service: one NAME:SIZE; "
        "of cpu --gapbs: NAME:SIZE with + between them",
    )
    parser.add_argument(
        "--algorithm",
        help=f"of building (default bfs); of across: some of {', '.join(across.ALGORITHMS)}; "
        f"of shares: some of {', '.join(shares.ALGORITHMS)}",
    )
    parser.add_argument("--policy", help="of building (default auto); of across (default oec), with + between them")
    parser.add_argument("--weights", help="of building, such as 1..255 (default none)")
    parser.add_argument("--repeat", type=int, default=5, help="rounds in which everything runs once (default 5)")
    parser.add_argument("--ways", default="plain", help=f"of across: some of {', '.join(across.WAYS)} (default plain)")
    parser.add_argument("--sources", type=int, default=1, help="of across: sources a graph of the peers (default 1)")
    parser.add_argument("--megabytes", type=int, default=1000, help="of load: size of the edge list (default 1000)")
    parser.add_argument("--from-scale", type=int, default=sizes.SCALES[0], help="of sizes: smallest R-MAT")
    parser.add_argument("--to-scale", type=int, default=sizes.SCALES[-1], help="of sizes: largest R-MAT")
    parser.add_argument(
        "--rows",
        help=f"of pipeline: some of {', '.join(pipeline.ROWS)}; of service: some of {', '.join(service.PARTS)}; "
        f"of structure: some of {', '.join(structure_gpu.ROWS)}; "
        f"of cpu --gapbs: some of {', '.join(map(repr, gapbs.ROWS))} with + between them",
    )
    parser.add_argument("--gapbs", type=Path, metavar="FOLDER", help="of cpu: folder of GAPBS's programs")
    parser.add_argument("--threads", default="1,2", help="of cpu --gapbs: numbers of threads (default 1,2)")
    parser.add_argument("--quick", action="store_true", help="of pipeline: small graphs, once")
    parser.add_argument(
        "--device",
        choices=("cuda", "cpu"),
        help="of service and soak (default: cuda where there is a GPU) and variants (default cuda)",
    )
    parser.add_argument("--side", type=int, help="of service: of the grid whose rows are fetched")
    parser.add_argument("--jobs", type=int, default=20_000, help="of service: most jobs (default 20000)")
    parser.add_argument("--minutes", type=float, default=8, help="of service: time for them (default 8)")
    parser.add_argument("--seconds", type=float, default=300, help="of soak: of requests and kills (default 300)")
    parser.add_argument("--clients", type=int, default=8, help="of soak: at the same time (default 8)")
    parser.add_argument("--ranks", type=int, default=1, help="of soak: of the service (default 1)")
    parser.add_argument(
        "--scale", type=int, default=20, help="of variants and shares: log2 of the vertices (default 20)"
    )
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu", help="of structure (default cpu)")
    parser.add_argument("--at", help="of code: commits with commas between them (default: the working tree)")
    parser.add_argument("--measured", type=Path, help="of merge: folder of that machine's results")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the JSON and the Markdown table")
    asked = parser.parse_args()
    WHAT[asked.what][1](asked)


if __name__ == "__main__":
    main()
