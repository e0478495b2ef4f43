"""All pairs of section 4 of 001, on a matrix of lists: each step is (rows, columns, pivots) that it offers paths to."""


def offer(d, rows, columns, pivots):
    """Offer each entry of rows × columns the paths through one of the pivots, as the matrix was before."""
    before = [row[:] for row in d]
    for i in rows:
        for j in columns:
            d[i][j] = min([d[i][j], *(before[i][k] + before[k][j] for k in pivots)])
    return len(rows), len(columns), len(pivots)


def blocks(of, size):
    return [of[top : top + size] for top in range(0, len(of), size)]


def closed(d, rows, columns, pivots):
    """Three phases: close the diagonal block, then its rows, then the rest [Venkataraman et al.]."""
    for k in pivots:
        offer(d, pivots, pivots, [k])
    offer(d, pivots, columns, pivots)
    return offer(d, rows, columns, pivots)


def eliminated(d, pivots, within, size):
    """Pivots of ``size`` at a time: Floyd-Warshall with 1."""
    return [closed(d, within, within, part) for part in blocks(pivots, size)]


def squaring(d, every, size):
    """D = min(D, D · D) until nothing falls; the products of ``size`` pivots are added up in place [Tran et al.]."""
    steps, before = [], None
    while before != d:
        before = [row[:] for row in d]
        steps += [offer(d, every, every, part) for part in blocks(every, size)]
    return steps


def recursive(d, of, size):
    """Gaussian elimination of the halves A and D with B and C beside them [Buluç et al.]."""
    if len(of) <= size:
        return [closed(d, of, of, of)]
    upper, lower = of[: (middle := -(-len(of) // (2 * size)) * size)], of[middle:]

    def product(rows, columns, inner):
        return [offer(d, rows, columns, part) for part in blocks(inner, size)]

    steps = recursive(d, upper, size)  # A = A*; B = A B; C = C A; D = D + C B
    steps += product(upper, lower, upper) + product(lower, upper, upper) + product(lower, lower, upper)
    steps += recursive(d, lower, size)  # D = D*; C = D C; B = B D; A = A + B C
    return steps + product(lower, upper, lower) + product(upper, lower, lower) + product(upper, upper, lower)


def separators(d, parts, size):
    """Eliminate the inside of each part within the part and the separator, then the separator [Djidjev et al.]."""
    shared, steps = [v for v, part in enumerate(parts) if part < 0], []
    for part in range(max(parts) + 1):
        inside = [v for v, own in enumerate(parts) if own == part]
        steps += eliminated(d, inside, sorted(inside + shared), size)
    return steps + eliminated(d, shared, list(range(len(parts))), size)
