"""Output format of the GAP benchmark suite's programs.

Beamer, Asanović, Patterson: The GAP Benchmark Suite, arXiv:1508.03619.
"""

from __future__ import annotations

from dgraph.report.style import CONSTRUCTION, Style, slowest, solving


class Gap(Style):
    """Read (or generate) and build times and the graph, then the time of each trial and their average."""

    def __init__(self) -> None:
        self.trials: list[float] = []

    def run(self, report):
        """Print the trial; before the first one also load and build times and the graph."""
        if not self.trials:
            from dgraph.graph.generate import is_generator

            graph = report["graph"]
            _print("Generate Time" if is_generator(graph["name"]) else "Read Time", slowest(report, "load"))
            _print("Build Time", slowest(report, *CONSTRUCTION))
            kind = "directed" if graph["directed"] else "undirected"
            degree = graph["m"] // graph["n"]
            print(f"Graph has {graph['n']} nodes and {graph['m']} {kind} edges for degree: {degree}")
        self.trials.append(solving(report))
        _print("Trial Time", self.trials[-1])

    def end(self):
        """Print the average of the trials."""
        if self.trials:
            _print("Average Time", sum(self.trials) / len(self.trials))


def _print(what: str, seconds: float) -> None:
    print(f"{what + ':':21}{seconds:.5f}", flush=True)
