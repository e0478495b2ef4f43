"""Graph algorithms on GPUs (001): mappings of sections 5.1 to 5.4, and Algorithm 9."""

from paper_models.grid import edges_of


def virtual_warps(degree, worklist, grid, size):
    """5.1: ``size`` lanes share a vertex."""
    for i, u in enumerate(worklist):
        for k in range(degree[u]):
            yield grid.spread(i * size + k % size), u, k


def dynamic_virtual_warps(degree, worklist, grid, smallest, threshold=None):
    """5.2.1, 2.1: the power of two next to resident threads / frontier, in [K1, 32]; large items get a whole grid."""
    sizes = [size for size in (1, 2, 4, 8, 16, 32) if size >= smallest]
    size = min(sizes, key=lambda size: (abs(size - grid.all / max(len(worklist), 1)), -size))
    huge = [u for u in worklist if threshold is not None and degree[u] > threshold]
    yield from (walked for walked in virtual_warps(degree, worklist, grid, size) if walked[1] not in huge)
    for u in huge:
        yield from ((grid.spread(k), u, k) for k in range(degree[u]))


def cta_warp_scan(degree, worklist, grid, cta, warp):
    """5.2.2: strip-mined gathering by block above CTA_TH = cta - 1, by warp above WARP_TH = warp - 1, then the scan."""
    for tile in range(0, len(worklist), grid.threads):
        first = tile // grid.threads % grid.blocks * grid.threads  # the block's threads take a vertex each
        workloads = worklist[tile : tile + grid.threads]
        rest = []
        for thread, u in enumerate(workloads):
            if degree[u] > cta - 1:  # Algorithm 9, line 1; lines 2-9: one at a time
                for k in range(degree[u]):  # lines 10-14: i starts at ThID, and steps by the size of the set
                    yield first + k % grid.threads, u, k
            elif degree[u] > warp - 1:  # step 2: the set is the warp
                for k in range(degree[u]):
                    yield first + thread // 32 * 32 + k % 32, u, k
            else:
                rest.append(u)
        for i, (u, k) in enumerate(edges_of(rest, degree)):  # step 3: a block-wide prefix sum, and units by all threads
            yield first + i % grid.threads, u, k


def direct_search(degree, worklist, grid):
    """5.3.1: a unit a thread, found in the whole prefix sum; a block takes consecutive units."""
    edges = edges_of(worklist, degree)
    loads = -(-len(edges) // grid.threads)
    share = -(-loads // grid.blocks) * grid.threads
    for i, (u, k) in enumerate(edges):
        yield i // share * grid.threads + i % grid.threads, u, k


def local_warp_search(degree, worklist, grid):
    """5.3.2: a warp loads 32 prefix sums, and its lanes search there until all units of the chunk are processed."""
    for chunk in range(0, len(worklist), 32):
        for i, (u, k) in enumerate(edges_of(worklist[chunk : chunk + 32], degree)):
            yield grid.spread(chunk + i % 32), u, k


def block_search(degree, worklist, grid, loaded):
    """5.3.3: a block loads a chunk of prefix sums, as large for all blocks; each thread searches once, for its slot."""
    for chunk in range(0, len(worklist), loaded * grid.threads):
        block = chunk // (loaded * grid.threads) % grid.blocks
        edges = edges_of(worklist[chunk : chunk + loaded * grid.threads], degree)
        slot = -(-len(edges) // grid.threads)
        for i, (u, k) in enumerate(edges):
            yield block * grid.threads + i // slot, u, k


def two_phase(degree, worklist, grid, row):
    """5.3.4: chunks of block size · K units, found before; each thread searches once, and walks K units."""
    for i, (u, k) in enumerate(edges_of(worklist, degree)):
        chunk, unit = divmod(i, grid.threads * row)
        yield chunk % grid.blocks * grid.threads + unit // row, u, k


def multi_phase(degree, worklist, grid, row, searches):
    """5.4: two-phase; IS searches a chunk, each for K / IS units, which lanes of a warp walk side by side."""
    short = -(-row // searches)
    for i, (u, k) in enumerate(edges_of(worklist, degree)):
        chunk, unit = divmod(i, grid.threads * row)
        warp, place = divmod(unit % (short * grid.threads), 32 * short)
        yield chunk % grid.blocks * grid.threads + 32 * warp + place % 32, u, k
