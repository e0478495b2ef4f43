"""Run one benchmark, and write its figures to ``results`` as JSON and as a Markdown table."""

import argparse
import json
import sys
from pathlib import Path

import dgraph
from benchmarks import (
    across,
    all_pairs,
    anchors,
    building,
    calls,
    centrality,
    certificates,
    changes,
    code,
    coloring,
    communities,
    contention,
    cpu,
    default,
    device_tables,
    estimates,
    gapbs,
    gpu,
    gpu_loading,
    labels,
    loading,
    measures,
    networkx_suite,
    peers,
    pipeline,
    ranks,
    resizing,
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
from benchmarks.options import OPTIONS, OWN, RESULTS
from benchmarks.papers import command as papers
from dgraph.tools import benchmarking

WHAT = {
    "cpu": (
        "dgraph on one rank against NetworKit, igraph and SciPy; with --gapbs FOLDER against GAPBS's programs",
        "graphs scale repeat gapbs rows threads",
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
    "calls": (
        "first and later calls on a CPU and a GPU, beside the peers' later calls",
        "graphs scale repeat",
        lambda asked: calls.measure(_named(asked.graphs, GRAPHS), asked.repeat, asked.results),
    ),
    "ranks": (
        "1, 2 and 4 ranks of this machine",
        "graphs scale repeat",
        lambda asked: ranks.measure(_named(asked.graphs, GRAPHS), asked.repeat, asked.results),
    ),
    "sizes": (
        "seconds against size, and what a round costs",
        "from_scale to_scale repeat",
        lambda asked: sizes.measure(range(asked.from_scale, asked.to_scale + 1), asked.repeat, asked.results),
    ),
    "apsp": (
        "all pairs by method and size, against SciPy, igraph and NetworkX, or on a GPU",
        "scale repeat",
        lambda asked: all_pairs.measure(asked.scale, asked.repeat, asked.results),
    ),
    "contention": (
        "beside a process that holds a core",
        "graphs scale repeat",
        lambda asked: contention.measure(_named(asked.graphs, GRAPHS), asked.repeat, asked.results),
    ),
    "gpu": (
        "one GPU against what Gunrock and cuGraph were measured at on the same graphs",
        "graphs scale repeat",
        lambda asked: gpu.measure(_named(asked.graphs, anchors.RECIPES), asked.repeat, asked.results),
    ),
    "schedules": (
        "every schedule on one GPU: time, memory, load of blocks",
        "graphs scale repeat sources",
        lambda asked: schedules.measure(
            _named(asked.graphs, schedules.GRAPHS), asked.repeat, asked.results, asked.sources
        ),
    ),
    "default": (
        "auto, twc and alb in turns on every row of gpu",
        "graphs scale repeat",
        lambda asked: default.measure(_named(asked.graphs, anchors.RECIPES), asked.repeat, asked.results),
    ),
    "turns": (
        "alb against twc on one GPU, in turns",
        "graphs scale repeat",
        lambda asked: turns.measure(_named(asked.graphs, schedules.GRAPHS), asked.repeat, asked.results),
    ),
    "tuning": (
        "rounds of one GPU under the schedules that auto chooses among, on graphs of other seeds",
        "scale repeat",
        lambda asked: tuning.measure(min(asked.repeat, 2), asked.results),
    ),
    "pipeline": (
        "whole jobs by phase: start, load, build, call, validate, gather, output; against peers and byte bounds",
        "rows quick",
        lambda asked: pipeline.measure(_named(asked.rows, pipeline.ROWS), asked.quick, asked.results),
    ),
    "load": (
        "readers of a generated edge list against pyarrow, polars, pandas, DuckDB, NetworKit and igraph",
        "megabytes repeat",
        lambda asked: loading.measure(asked.megabytes, asked.repeat, asked.results),
    ),
    "gpu-load": (
        "files and arrays to the first answer on one GPU, built on the host and on the GPU",
        "scale repeat",
        lambda asked: gpu_loading.measure(asked.scale, asked.repeat, asked.results),
    ),
    "tables": (
        "DataFrames and NetworkX graphs in and out, against NetworKit, igraph, pandas and SciPy",
        "repeat",
        lambda asked: tables.measure(asked.repeat, asked.results),
    ),
    "device-tables": (
        "on one GPU: networkx.pagerank by the backend, and a result of 20 million rows to Arrow and CuPy",
        "repeat",
        lambda asked: device_tables.measure(asked.repeat, asked.results),
    ),
    "service": (
        "the resident service: round trips, Arrow results, many jobs, query loops, jobs ended early, a killed rank",
        "device rows graphs side jobs minutes repeat",
        lambda asked: service.measure(
            asked.device, asked.rows, asked.graphs, asked.side, asked.jobs, asked.minutes, asked.repeat, asked.results
        ),
    ),
    "soak": (
        "the resident service under clients while its ranks are killed; every answer against an oracle",
        "device ranks seconds clients",
        lambda asked: service_soak.measure(asked.device, asked.ranks, asked.seconds, asked.clients, asked.results),
    ),
    "networkx": (
        "NetworkX's own tests with dgraph as the backend",
        "",
        lambda asked: networkx_suite.measure(asked.results),
    ),
    "across": (
        "rounds of several GPUs: what a round costs, and what of it is not computation; start it with mpirun",
        "graphs scale algorithm policy ways sources repeat",
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
        "repeat",
        lambda asked: transports.measure(asked.repeat, asked.results),
    ),
    "centrality": (
        "closeness, betweenness and searches from many sources on one rank, against NetworKit, igraph and NetworkX",
        "graphs scale repeat",
        lambda asked: centrality.measure(
            _named(asked.graphs, centrality.GRAPHS | centrality.weighted_centrality.GRAPHS), asked.repeat, asked.results
        ),
    ),
    "coloring": (
        "vertex colouring: who goes first, and when rounds by degree end; colours and time",
        "graphs scale repeat",
        lambda asked: coloring.measure(_named(asked.graphs, coloring.GRAPHS), asked.scale, asked.repeat, asked.results),
    ),
    "strong": (
        "strongly connected components: on a CPU against NetworKit, igraph and SciPy, on a GPU rounds and calls",
        "graphs scale repeat",
        lambda asked: strong.measure(asked.graphs and asked.graphs.split(","), asked.repeat, asked.results),
    ),
    "structure": (
        "triangles, trusses, forests, sets, colours: two CPU threads against peers; --backend cuda: one GPU",
        "rows repeat backend graphs scale",
        lambda asked: (
            structure_gpu.measure(_named(asked.rows, structure_gpu.ROWS), asked.repeat, asked.results)
            if asked.backend == "cuda"
            else structure.measure(
                _named(asked.graphs, structure.GRAPHS),
                asked.rows and asked.rows.split(","),
                asked.repeat,
                asked.results,
            )
        ),
    ),
    "measures": (
        "measures, trusses, searches, similarities, walks: two CPU threads against NetworKit, igraph and NetworkX",
        "graphs rows scale repeat",
        lambda asked: measures.measure(
            (asked.graphs or ",".join(measures.GRAPHS)).split(","),
            asked.rows.split("+") if asked.rows else None,
            asked.scale,
            asked.repeat,
            asked.results,
        ),
    ),
    "shares": (
        "memory of a rank on 4 ranks over that on 1, by algorithm",
        "scale algorithm",
        lambda asked: shares.measure(asked.scale, _named(asked.algorithm, shares.ALGORITHMS), asked.results),
    ),
    "labels": (
        "label propagation on this rank's device",
        "graphs scale repeat",
        lambda asked: labels.measure(_named(asked.graphs, labels.GRAPHS), asked.repeat, asked.results),
    ),
    "communities": (
        "quality and time of leiden and louvain on two CPU threads, against igraph, NetworKit and leidenalg",
        "graphs scale repeat",
        lambda asked: communities.measure(
            _named(asked.graphs, communities.GRAPHS), asked.scale, asked.repeat, asked.results
        ),
    ),
    "estimates": (
        "core numbers by peeling and by estimates: counts of rounds, exchanges and edges, no seconds",
        "graphs scale",
        lambda asked: estimates.measure(_named(asked.graphs, estimates.GRAPHS), asked.results),
    ),
    "building": (
        "generated graphs drawn and built on GPUs, solved and validated there; start it with mpirun",
        "graphs algorithm policy weights repeat",
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
        "at",
        lambda asked: code.measure(asked.at, asked.results),
    ),
    "merge": (
        "rows of across, building, gpu, papers and pipeline of another machine, in place of older ones",
        "measured",
        lambda asked: _merge(asked.measured, asked.results),
    ),
    "certificates": (
        "seconds of certificates beside the solve; start it with mpirun for several ranks",
        "graphs algorithm device repeat",
        lambda asked: certificates.measure(
            (asked.graphs or "rmat:18,symmetric").split("+"),
            _named(asked.algorithm, certificates.PARAMETERS),
            asked.repeat,
            asked.device or "cpu",
            asked.results,
        ),
    ),
    "changes": (
        "a batch of edges against a graph built anew, and runs from a previous answer, on 1 and 2 ranks",
        "graphs scale repeat",
        lambda asked: changes.measure(_named(asked.graphs, changes.GRAPHS), asked.repeat, asked.results),
    ),
    "variants": (
        "every variant of sssp on four shapes of graph: time, rounds and edges walked",
        "graphs scale device repeat",
        lambda asked: variants.measure(
            _named(asked.graphs, variants.SHAPES), asked.scale, asked.device or "cuda", asked.repeat, asked.results
        ),
    ),
    "papers": (
        "tables and figures of the five papers, their numbers beside ours, and a verdict for each claim",
        "paper figure scale backend repeat sources missing docs",
        lambda asked: papers.measure(
            _named(asked.paper, papers.FIGURES),
            _named(asked.figure, ()),
            asked.scale,
            papers.available(asked.backend),
            asked.repeat,
            asked.sources,
            asked.results,
            asked.docs,
            asked.missing,
        ),
    ),
    "store": (
        "a partitioned graph, written and opened",
        "scale repeat",
        lambda asked: store.measure(asked.scale, asked.repeat, asked.results),
    ),
}
"""Name → description, options and function of a benchmark."""


KEPT = {"across": across.keep, "building": building.keep}
"""Benchmarks with a file per number of ranks → the function that adds rows to it."""

ALONE = {"gpu": gpu.keep, "pipeline": pipeline.keep}
"""Benchmarks with one file, likewise."""


def _named(asked: str | None, names) -> list[str]:
    """Return the names that were asked for, or all.

    Raises:
        UsageError: there is no such name.
    """
    chosen = asked.split(",") if asked else list(names)
    for name in chosen:
        if names and name not in names:
            raise dgraph.UsageError(f"{name} is none of {', '.join(names)}; give some of them")
    return chosen


ON_GPUS = ("gpu-load", "device-tables", "variants")
"""Benchmarks of GPUs that open one late, or in a child process: ``main`` looks for it first."""


def _look_for_a_gpu(asked: argparse.Namespace) -> None:
    """Refuse a benchmark of GPUs on a machine without one."""
    device = getattr(asked, "device", None) or getattr(asked, "backend", None)
    if device == "cuda" or (asked.what in ON_GPUS and device is None):
        benchmarking.Gpu()


def _merge(measured: Path | None, results: Path) -> None:
    if measured is None or not measured.is_dir():
        raise SystemExit(
            "merge takes --measured FOLDER, with across-P.json, building-P.json, gpu.json, papers-NNN.json or "
            "pipeline.json in it"
        )
    for file in sorted(measured.glob("*.json")):
        what, _, ranks = file.stem.partition("-")
        if what == "papers" and ranks in papers.FIGURES:
            papers.keep(results, ranks, json.loads(file.read_text()))
            continue
        if file.stem not in ALONE and not (what in KEPT and ranks.isdecimal()):
            files = ", ".join(
                ["papers-NNN.json", *(f"{stem}-P.json" for stem in KEPT), *(f"{stem}.json" for stem in ALONE)]
            )
            raise SystemExit(f"{file}: merge knows {files}; leave other files out, or rename them")
        runs = json.loads(file.read_text())["runs"]
        if what in KEPT:
            KEPT[what](results, int(ranks), runs)
        else:
            ALONE[what](results, runs)


def main() -> None:
    lines = "\n".join(f"  {name:<13} {about}" for name, (about, _, _) in WHAT.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"{__doc__}\n\n{lines}\n\npython -m benchmarks NAME --help: options of one benchmark",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    named = parser.add_subparsers(dest="what", required=True, metavar="NAME")
    for name, (about, options, _) in WHAT.items():
        one = named.add_parser(name, description=about)
        for option in options.split():
            one.add_argument(f"--{option.replace('_', '-')}", **(OPTIONS[option] | OWN.get((name, option), {})))
        one.add_argument("--results", type=Path, default=RESULTS, help="folder for the JSON and the Markdown table")
        one.add_argument("--install", action="store_true", help="pip install libraries of peers that are missing")
    asked = parser.parse_args()
    peers.installs = asked.install
    try:
        _look_for_a_gpu(asked)
        if asked.what in resizing.SIZED and asked.scale is not None:
            resizing.resize(asked.what, asked.scale)
        WHAT[asked.what][2](asked)
    except (dgraph.UsageError, ModuleNotFoundError) as refused:
        print(f"python -m benchmarks {asked.what}: {refused}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
