"""User-defined vertex program: the widest path from a source, where a path is as wide as its lightest edge.

python examples/widest_path.py
mpirun -n 4 python examples/widest_path.py grid:300x300
"""

import sys

import dgraph
from dgraph import INF, MAX, Field, Program, minimum, where


class WidestPath(Program):
    """Width of the widest path from ``source``; the smallest int64 for a vertex without a path."""

    source: int = 0

    width = Field("int64", reduce=MAX)

    def init(self, v, g):
        """Start at the source, with more than any weight; INF is the smallest value of a MAX field."""
        here = v.id == self.source
        return {"width": where(here, 2**62, INF), "active": here}

    def edge(self, u, e, v):
        """Propose the width of the path through ``u``."""
        return {"width": minimum(u.width, e.weight)}


if __name__ == "__main__":
    graph = sys.argv[1] if len(sys.argv) > 1 else "grid:100x100"
    result = dgraph.run(WidestPath(source=0), dgraph.Graph.load(graph, weights="1..1000"))
    widest = result.top(4)
    if result.comm.rank == 0:
        print(f"{result.comm.size} ranks, {result.rounds} rounds")
        for vertex, width in zip(widest["vertex"], widest["width"], strict=True):
            print(f"vertex {vertex}: {'the source' if width == 2**62 else width}")
