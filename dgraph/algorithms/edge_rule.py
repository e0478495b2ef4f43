"""EdgeRule: what an algorithm counts of self-loops and parallel edges, in graphs that keep them.

Rules are NetworkX's for multigraphs; where its function refuses them, that for the simple graph. The table of all
algorithms is in ``docs/algorithms/kept-edges.md``. Certificates follow the same rules by code of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dgraph.graph.stored_graph import Graph


@dataclass(frozen=True)
class EdgeRule:
    """Rule for self-loops and parallel edges.

    Attributes:
        loops: "ignored": the answer is that of the graph without loops; or "counted": a vertex with one is its own
            neighbour once.
        parallel: "once": the answer is that of the graph with one edge in place of parallel ones, of the smallest
            weight; or "each": all count.
        stripped: "loops" and "parallel", where rounds or kernels would count what the rule leaves out: the run gets a
            graph without them. Other algorithms leave them out themselves, or cannot see them.
    """

    loops: str = "counted"
    parallel: str = "each"
    stripped: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The rule in words."""
        return f"loops are {self.loops} and parallel edges count {self.parallel}"

    def applied(self, graph: Graph, arcs: bool) -> Graph:
        """Return the graph without what the rule leaves out and the algorithm would count; collective.

        Args:
            graph: the graph as it was loaded, undirected if the algorithm needs that.
            arcs: the graph has each edge and its reverse as arcs, parallel ones of one direction merged.
        """
        return graph.simplified("loops" in self.stripped, "parallel" in self.stripped and not arcs)


AS_SIMPLE = EdgeRule("ignored", "once")
"""Rule of algorithms that give the answer of the simple graph on any rows."""

STRIPPED = EdgeRule("ignored", "once", stripped=("loops", "parallel"))
"""The same rule for algorithms that count degrees or neighbours of the rows that they get."""
