"""Model of random walks in Python's integers: one walk after the other, from rows of (id, weight)."""

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def scrambled(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def after(x):
    return scrambled((x + GOLDEN) & MASK)


def sequence(seed, walk):
    """Return draw number → 64 random bits of a walk."""
    key = after((after(seed & MASK) + 0x77616C6B) & MASK)
    start = scrambled((key + (walk + 1) * GOLDEN) & MASK)
    return lambda number: scrambled((start + (number + 1) * GOLDEN) & MASK)


def taken(row, bits, weighted):
    """Return the (id, weight) of a sorted row that the bits take; None if it has none."""
    if not weighted:
        return row[len(row) * bits >> 64] if row else None
    sums, total = [], 0.0
    for _, weight in row:
        total += weight
        sums.append(total)
    if not total:
        return None
    sought = (bits >> 11) / 2**53 * total
    return next((edge for edge, until in zip(row, sums, strict=True) if until > sought or until == total))


def walked(rows, source, walk, length, seed=1, weighted=False, restart=0.0):
    """Return the ids after each step, -1 after the end, and the weights of the edges, None where none was crossed."""
    draw, path, weights = sequence(seed, walk), [source], []
    for step in range(length):
        edge = None
        if path[-1] >= 0 and not draw(2 * step + 1) < int(restart * 2.0**64):
            edge = taken(rows[path[-1]], draw(2 * step), weighted)
        home = source if restart and path[-1] >= 0 else -1
        path.append(home if edge is None else edge[0])
        weights.append(None if edge is None else edge[1])
    return path, weights


def all_walks(rows, sources, per_source, length, **more):
    """Return the paths and weights of all walks."""
    walks = [
        walked(rows, source, i, length, **more)
        for i, source in enumerate(s for s in sources for _ in range(per_source))
    ]
    return [path for path, _ in walks], [weights for _, weights in walks]
