"""Load balancing of BFS and SSSP on GPUs (000): BS, EP, WD, NS and HP, Figures 2 and 4 and the text of section III."""

from paper_models.grid import edges_of


def baseline(degree, worklist, grid):
    """BS: a thread takes an active vertex, and all its edges."""
    for i, u in enumerate(worklist):
        for k in range(degree[u]):
            yield grid.spread(i), u, k


def edge_based(degree, worklist, grid):
    """EP, II.B: threads are assigned to the edges of the worklist in a round-robin manner."""
    for i, (u, k) in enumerate(edges_of(worklist, degree)):
        yield i % grid.all, u, k


def workload_decomposition(degree, worklist, grid):
    """WD, Figure 4: each thread walks ``edgesPerThread`` edges from its offset on."""
    edges = edges_of(worklist, degree)
    edges_per_thread = -(-len(edges) // grid.all)  # line 11
    for thread in range(grid.all):
        first = thread * edges_per_thread  # lines 12 and 15-16: find_offsets
        for u, k in edges[first : first + edges_per_thread]:  # lines 17-23 and 29-30
            yield thread, u, k


def split_nodes(degree, mdt):
    """Return vertex → edges of the parent and of each child; III.B: ⌈outdegree / MDT⌉ nodes, edges shared evenly."""
    family = {}
    for u, edges in enumerate(degree):
        nodes = max(-(-edges // mdt), 1)
        family[u] = [range(edges * k // nodes, edges * (k + 1) // nodes) for k in range(nodes)]
    return family


def node_splitting(degree, worklist, grid, mdt, joined):
    """NS: a thread takes a parent or a child. ``joined``: (vertex, child) in the order in which children joined."""
    family = split_nodes(degree, mdt)
    assert sorted(joined) == sorted((u, c) for u in worklist for c in range(1, len(family[u])) if degree[u])
    for i, (u, c) in enumerate([(u, 0) for u in worklist] + joined):
        for k in family[u][c]:
            yield grid.spread(i), u, k


def hierarchical(degree, worklist, grid, mdt, few):
    """HP, III.C: sweeps of at most MDT edges a vertex, a thread each; WD where a list is shorter than ``few``."""
    done, sublist = 0, list(worklist)
    while len(sublist) >= few:
        for i, u in enumerate(sublist):
            for k in range(done, min(done + mdt, degree[u])):
                yield grid.spread(i), u, k
        done += mdt
        sublist = [u for u in sublist if degree[u] > done]
    rest = [max(edges - done, 0) for edges in degree]
    for thread, u, k in workload_decomposition(rest, sublist, grid):
        yield thread, u, done + k


def edge_relaxation(rows, dist, entries):
    """Run sssp_kernel of Figure 2 on a list of (source, edge); ``dist`` falls. Return the next list."""
    output = []
    for u, k in entries:
        v, weight = rows[u][k]
        altdist = dist[u] + weight  # line 13
        if dist.get(v, altdist + 1) > altdist:  # line 14
            dist[v] = altdist  # line 15
            output += [(v, e) for e in range(len(rows[v]))]  # line 16: push all edges of the destination
    return output
