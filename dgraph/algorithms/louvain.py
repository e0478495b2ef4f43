"""Communities by the Louvain method [Blondel, Guillaume, Lambiotte, Lefebvre 2008], with the same labels at every run.

Vertices move to the community of the highest gain; communities become the vertices of the next level. The parts are in
``communities/``.
"""

from __future__ import annotations

from dgraph.algorithms.base import algorithm
from dgraph.algorithms.communities.algorithm_base import COLUMNS, ByMoves, parameters


@algorithm("louvain", *parameters(1), columns=COLUMNS, aliases=("louvain_communities",))
class Louvain(ByMoves):
    """Communities of high modularity by the Louvain method; each is connected.

    Column: ``community`` (int64), the smallest id of the vertex's community. Directions are ignored. The summary has
    the number of communities, their exact modularity, and the moves of single vertices in the polish at the end.
    """
