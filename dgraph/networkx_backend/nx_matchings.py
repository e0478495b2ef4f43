"""Matchings of bipartite graphs, by SciPy's Hopcroft-Karp."""

from __future__ import annotations

import numpy as np

from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.nodes_given import NotANode, positions
from dgraph.networkx_backend.nx_components import sets
from dgraph.networkx_backend.scipy_calls import matrix, scipy_call


@answers
def hopcroft_karp_matching(G: ConvertedGraph, top_nodes=None) -> dict:
    """Return node → its partner in a largest matching, for the matched nodes of both sides, first those on top."""
    top = np.zeros(len(G), bool)
    top[positions(G, sets(G)[0] if top_nodes is None else top_nodes)] = True
    arcs = top[G.sources]
    rows, columns = G.sources[arcs], G.targets[arcs]
    if top[columns].any():
        raise NotANode
    joined = matrix(rows, columns, np.ones(rows.size, np.int32), (len(G), len(G)))
    partner = scipy_call("maximum_bipartite_matching", joined, perm_type="column")
    matched = np.flatnonzero(partner >= 0)
    above, below = G.names(matched), G.names(partner[matched])
    return dict(zip(above + below, below + above, strict=True))
