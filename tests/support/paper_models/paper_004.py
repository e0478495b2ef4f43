"""Load-balanced BFS by the expand operation (004): the strategies of sections 4.2 to 4.4, and the merge path of 3.2."""

from paper_models.grid import edges_of


def merged(degree, worklist):
    """3.2: return the merge of the ends of the rows and of the edges: (vertex, edge), edge None at the end of a row."""
    return [(u, k) for u in worklist for k in (*range(degree[u]), None)]


def gathered(edges, first, grid):
    """Yield a tile's edges by the threads of a block side by side; ``first`` is the block's first thread."""
    for i, (u, k) in enumerate(edges):
        yield first + i % grid.threads, u, k


def merge_path(degree, worklist, grid, items):
    """3.2: diagonals cut the merged list into pieces of ``items`` entries, one for each thread."""
    for i, (u, k) in enumerate(merged(degree, worklist)):
        if k is not None:
            yield grid.spread(i // items), u, k


def expand_gather(degree, worklist, grid, tile):
    """4.2: vertical cuts give each block ``tile`` outputs, whatever the number of their rows; gathering is balanced."""
    edges = edges_of(worklist, degree)
    for number, top in enumerate(range(0, len(edges), tile)):
        yield from gathered(edges[top : top + tile], number % grid.blocks * grid.threads, grid)


def expand_balanced(degree, worklist, grid, tile):
    """4.3: diagonal cuts give each block ``tile`` entries of the merged list; it gathers the edges among them."""
    entries = merged(degree, worklist)
    for number, top in enumerate(range(0, len(entries), tile)):
        edges = [(u, k) for u, k in entries[top : top + tile] if k is not None]
        yield from gathered(edges, number % grid.blocks * grid.threads, grid)


def expand_hybrid(degree, worklist, grid, tile, factor):
    """4.4: balanced redistribution above ``factor`` edges a row of the worklist (f0), balanced gathering below."""
    large = sum(degree[u] for u in worklist) > factor * len(worklist)
    yield from (expand_balanced if large else expand_gather)(degree, worklist, grid, tile)
