"""Output format of the Graph500 reference code, version 3 (graph500.org): statistics over all searches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dgraph.errors import UsageError
from dgraph.report.style import CONSTRUCTION, Style, slowest, solving

KERNELS = ("bfs", "sssp")
WHOLE = ("depth_limit", "cutoff", "max_rounds")
"""Options that end a search early; its number of traversed edges is then unknown."""

QUANTILES = ("min", "firstquartile", "median", "thirdquartile", "max")

NOT_VALIDATED = -1.0
"""Time that the reference code prints for a search that was not validated."""


class Graph500(Style):
    """``key: value`` lines with statistics over all sources, after the last run."""

    def __init__(self) -> None:
        self.reports: list[dict] = []

    @classmethod
    def check(cls, algorithm, options):
        """Refuse algorithms other than bfs and sssp, and options that end a search early."""
        if algorithm not in KERNELS:
            raise UsageError(
                f"--format graph500: Graph500 defines {' and '.join(KERNELS)}, and no output for {algorithm}; "
                "choose --format gap, json or table"
            )
        for name in WHOLE:
            if options.get(name) is not None:
                raise UsageError(
                    f"--format graph500: Graph500 rates whole searches, and {name.replace('_', '-')} cuts them short; "
                    "leave it out, or choose --format gap, json or table"
                )

    def run(self, report):
        """Keep the report for the statistics."""
        self.reports.append(report)

    def end(self):
        """Print the statistics over all runs."""
        if self.reports:
            print(*map(formatted, *zip(*_lines(self.reports), strict=True)), sep="\n", flush=True)


def formatted(key: str, value: object) -> str:
    """Return a line of the reference code; ``!`` marks the harmonic mean of TEPS, by which runs are ranked."""
    start = f"{key + ':':29}!  " if key.endswith("harmonic_mean_TEPS") else f"{key + ':':32}"
    return f"{start}{value}"


def _lines(reports: Sequence[dict]) -> Iterator[tuple[str, object]]:
    first = reports[0]
    yield from _generator(first["graph"]["name"])
    yield "NBFS", len(reports)
    yield "graph_generation", f"{slowest(first, 'load'):g}"
    yield "num_mpi_processes", len(first["ranks"])
    yield "construction_time", f"{slowest(first, *CONSTRUCTION):g}"
    times = [solving(report) for report in reports]
    edges = [report["outcome"]["edges_traversed"] for report in reports]
    validated = [slowest(report, "validate") or NOT_VALIDATED for report in reports]
    yield from figures(first["algorithm"]["name"], times, edges, validated)


def figures(
    kernel: str, times: Sequence[float], edges: Sequence[int], validated: Sequence[float]
) -> Iterator[tuple[str, str]]:
    """Yield the statistics over all searches as (key, value).

    Args:
        kernel: "bfs" or "sssp".
        times: seconds of each search.
        edges: traversed edges of each.
        validated: seconds of the validation of each; ``NOT_VALIDATED`` without.
    """
    kernel = f"{kernel:4} "
    for name, value in statistics(times).items():
        yield f"{kernel}{name}_time", f"{value:g}"
    for name, value in statistics(edges).items():
        yield f"{name}_nedge", f"{value:.11g}"
    inverse = statistics([time / count if count else math.inf for time, count in zip(times, edges, strict=True)])
    rates = {name: 1 / pace if pace else math.inf for name, pace in inverse.items()}
    for name, of in zip(QUANTILES, reversed(QUANTILES), strict=True):
        yield f"{kernel}{name}_TEPS", f"{rates[of]:g}"
    yield f"{kernel}harmonic_mean_TEPS", f"{rates['mean']:g}"
    # N. Norris, The Standard Errors of the Geometric and Harmonic Means, Ann. Math. Stat. 11(4), 1940
    spread = inverse["stddev"] / (inverse["mean"] ** 2 * math.sqrt(len(times) - 1)) if len(times) > 1 else math.nan
    yield f"{kernel}harmonic_stddev_TEPS", f"{spread:g}"
    for name, value in statistics(validated).items():
        yield f"{kernel}{name}_validate", f"{value:g}"


def _generator(name: str) -> Iterator[tuple[str, object]]:
    """Yield SCALE and edgefactor of a generated graph, where its generator has them."""
    from dgraph.graph.generate import GENERATORS, is_generator  # imported late: --help imports this module
    from dgraph.graph.generators.spec import SCALE, parse

    if not is_generator(name):
        return
    generator, size, options = parse(name, GENERATORS)
    if generator.size is SCALE:
        yield "SCALE", size
    if "edge_factor" in options:
        yield "edgefactor", f"{options['edge_factor']:g}"


def statistics(values: Sequence[float]) -> dict[str, float]:
    """Return quantiles, mean and sample deviation as the reference code computes them; nan deviation of one value."""
    x, last = sorted(values), len(values) - 1
    mean = sum(x) / len(x)
    low, middle = (last // 4, len(x) // 4), (last // 2, len(x) // 2)
    return {
        "min": x[0],
        "firstquartile": (x[low[0]] + x[low[1]]) / 2,
        "median": (x[middle[0]] + x[middle[1]]) / 2,
        "thirdquartile": (x[last - low[0]] + x[last - low[1]]) / 2,
        "max": x[last],
        "mean": mean,
        "stddev": math.sqrt(sum((value - mean) ** 2 for value in x) / last) if last else math.nan,
    }
