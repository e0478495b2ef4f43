"""``python -m benchmarks cpu``: dgraph on one rank against NetworKit, igraph and SciPy; ``ranks``: 1, 2 and 4 ranks;
``load``: readers of a generated edge list against pandas, pyarrow, NetworKit and igraph; ``store``: a partitioned
graph, written and opened."""

import argparse
from pathlib import Path

from benchmarks import cpu, loading, ranks, store
from benchmarks.graphs import GRAPHS

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("what", choices=("cpu", "ranks", "load", "store"))
    parser.add_argument("--graphs", default=",".join(GRAPHS), help=f"of {', '.join(GRAPHS)} (default: all)")
    parser.add_argument("--repeat", type=int, default=5, help="rounds in which every library runs once (default 5)")
    parser.add_argument("--megabytes", type=int, default=1000, help="of load: size of the edge list (default 1000)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the JSON and the Markdown table")
    asked = parser.parse_args()
    if asked.what == "load":
        loading.measure(asked.megabytes, asked.repeat, asked.results)
        return
    if asked.what == "store":
        store.measure(asked.repeat, asked.results)
        return
    run = {"cpu": cpu.measure, "ranks": ranks.measure}[asked.what]
    run(asked.graphs.split(","), asked.repeat, asked.results)


if __name__ == "__main__":
    main()
