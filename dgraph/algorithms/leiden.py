"""Communities by the Leiden method [Traag, Waltman, van Eck 2019], with the same labels at every run.

As Louvain, but the vertices of the next level are well-connected parts of communities. The parts are in
``communities/``.
"""

from __future__ import annotations

from dgraph.algorithms.base import Parameter, algorithm
from dgraph.algorithms.communities.algorithm_base import COLUMNS, ByMoves, parameters


@algorithm(
    "leiden",
    *parameters(2),
    Parameter("theta", float, 0.01, "randomness of the refinement, in units of weight; 0: the highest gain", least=0),
    columns=COLUMNS,
    aliases=("communities", "leiden_communities"),
)
class Leiden(ByMoves):
    """Communities of high modularity by the Leiden method; each is connected.

    Column: ``community`` (int64), the smallest id of the vertex's community. Directions are ignored. The summary has
    the number of communities, their exact modularity, and the moves of single vertices in the polish at the end.
    """

    theta: float

    def randomness(self) -> float:
        """Return theta."""
        return self.theta
