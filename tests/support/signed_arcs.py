"""Arcs with negative weights, and their graph on the ranks of a communicator."""

import numpy as np
from scipy.sparse import csr_array

import dgraph
from dgraph.comm import world


def signed(n=40, seed=5):
    """Return arcs with negative weights and no negative cycle, by potentials."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, n, (2, 6 * n))
    height = rng.integers(-50, 50, n)
    return n, src, dst, rng.integers(0, 20, 6 * n) + height[dst] - height[src]


def graph(n, src, dst, weights, comm=None, **options):
    comm = comm or world()
    mine = slice(comm.rank, None, comm.size)
    return dgraph.Graph.from_edges(src[mine], dst[mine], weights[mine], n=n, comm=comm, **options)


def dense(n, src, dst, weights):
    """Return SciPy's matrix with the least of parallel arcs; explicit zeros are arcs."""
    order = np.lexsort((weights, dst, src))
    key = (src * n + dst)[order]
    first = order[np.concatenate([[True], key[1:] != key[:-1]])]
    return csr_array((weights[first].astype(float), (src[first], dst[first])), (n, n))
