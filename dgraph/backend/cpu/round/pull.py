# ruff: noqa: F821
# mypy: ignore-errors
"""Pull phase on CPU threads, and the bitmaps of its frontiers: source that follows ``phases.py``; see there."""


@njit(**INNER)
def flag_frontier(t, threads, W, c):
    """Set the flags of thread t's part of the frontier's queue: bytes, which take no locked instruction."""
    queue, flags, count = lists(W, c).queue, W.flags, c[QUEUED]
    for i in range(count * t // threads, count * (t + 1) // threads):
        store(flags, np.int64(load(queue, i)), np.uint8(1))


@njit(**INNER)
def set_bits(t, threads, W, c):
    """Convert thread t's part of the flags to the frontier's bitmap, and clear them; a barrier separates both steps."""
    flags, bits, words = W.flag_words, lists(W, c).bits, (c[ROWS] + 63) >> 6
    for i in range(words * t // threads, words * (t + 1) // threads):
        word = np.uint64(0)
        for k in range(8):
            eight = load(flags, 8 * i + k)
            if eight != np.uint64(0):  # the product's highest byte has a bit for each byte of 1
                word |= ((eight * np.uint64(0x0102040810204080)) >> np.uint64(56)) << np.uint64(8 * k)
                store(flags, 8 * i + k, np.uint64(0))
        store(bits, i, word)


@njit(**INLINE)
def is_set(bits, u):
    """Return True if bit ``u`` is set."""
    return (load(bits, u >> 6) >> np.uint64(u & 63)) & np.uint64(1) != np.uint64(0)


@njit(**INLINE)
def values_of(u, numbered, F, P, G):
    """Return the values of ``u`` that edges read; where vertices are ``numbered``, its id is not loaded."""
    return at_numbered(F, P, G, u) if READS_ID and numbered else at_source(F, P, G, u)


@njit(**INLINE)
def proposal(e, v, numbered, graph, F, P, G):
    """Return the proposal along in-edge ``e`` of ``v``."""
    _, neighbours, weights = graph
    w = load(weights, e) if WEIGHTED else np.int64(1)
    return propose(F, P, G, values_of(np.int64(load(neighbours, e)), numbered, F, P, G), w, v)


@njit(**INLINE)
def fold_in_chains(e, last, v, numbered, graph, F, P, G):
    """Return the combined proposals along the in-edges ``e … last - 1`` of ``v``.

    In four chains additions do not wait for each other, and a row ends with at most three edges one by one. LLVM's own
    loop takes 16 edges at a time where it loads them singly, which leaves up to 15 and mispredicts several branches.
    """
    a, b, c, d = identity(), identity(), identity(), identity()
    while e + 4 <= last:
        a = fold_in_order(a, proposal(e, v, numbered, graph, F, P, G))
        b = fold_in_order(b, proposal(e + 1, v, numbered, graph, F, P, G))
        c = fold_in_order(c, proposal(e + 2, v, numbered, graph, F, P, G))
        d = fold_in_order(d, proposal(e + 3, v, numbered, graph, F, P, G))
        e += 4
    if e + 2 <= last:
        a = fold_in_order(a, proposal(e, v, numbered, graph, F, P, G))
        b = fold_in_order(b, proposal(e + 1, v, numbered, graph, F, P, G))
        e += 2
    if e < last:
        c = fold_in_order(c, proposal(e, v, numbered, graph, F, P, G))
    return fold_in_order(fold_in_order(a, b), fold_in_order(c, d))


@njit(**INLINE)
def lane(e, last, v, numbered, graph, F, P, G):
    """Return the proposal along in-edge ``e`` of ``v``; the identity if the row ends before it, without a branch."""
    p = proposal(min(e, last - 1), v, numbered, graph, F, P, G)
    return p if e < last else narrow_identity()


@njit(**INLINE)
def fold_row_of(v, first, last, numbered, graph, F, P, G):
    """Return the combined proposals along the in-edges ``first … last - 1`` of ``v``.

    Floats are added in their own precision in pieces of at most PIECE, and pieces in 64 bits: half the instructions.
    LLVM's loop of vectors is slower than a plain one where few edges remain, and branches on the length of the shortest
    rows would be mispredicted.
    """
    a, b = identity(), narrow_identity()
    if last - first <= LANES:
        b = proposal(first, v, numbered, graph, F, P, G)
        for i in range(1, LANES):
            b = fold_in_order(b, lane(first + i, last, v, numbered, graph, F, P, G))
        return fold_in_order(a, b)
    if not has_wide_gathers():
        return fold_in_chains(first, last, v, numbered, graph, F, P, G)
    if last - first <= SHORT:
        for e in range(first, last):
            b = fold_in_order(b, proposal(e, v, numbered, graph, F, P, G))
        return fold_in_order(a, b)
    while first < last:
        end, b = min(first + PIECE, last), narrow_identity()
        for e in range(first, end):
            b = fold(b, proposal(e, v, numbered, graph, F, P, G))
        a, first = fold_in_order(a, b), end
    return a


@njit(**INLINE)
def pull_row(v, bits, graph, hints, by_id, numbered, F, P, G):
    """Combine the proposals of v's active in-neighbours; return True if v changed."""
    offsets, neighbours, _ = graph
    a, hit, first, last = identity(), False, load(offsets, v), load(offsets, v + 1)
    if ALL and not (ONCE or SMALLEST):
        return first < last and commit(F, v, fold_row_of(v, first, last, numbered, graph, F, P, G))
    for e in range(first, last):
        u = np.int64(load(neighbours, e))
        if ALL or is_set(bits, u):
            a, hit = fold(a, proposal(e, v, numbered, graph, F, P, G)), True
            if HINTS:
                store(hints, v, np.uint32(LAST_HINT - u))
            if ONCE or (SMALLEST and by_id and not is_identity(a)):
                break
    return hit and commit(F, v, a)


@njit(**INNER)
def open_rows(i, rows, bits, hints, graph, F, P, G):
    """Return bitmaps of vertices of word ``i`` that accept proposals: those with in-edges to scan; with an active hint.

    Which vertices do is hard to predict, so the bitmaps are made without branches. Rows to scan are prefetched: two
    lines, since a row may begin at the end of one.
    """
    offsets, neighbours, _ = graph
    first, last = i << 6, min((i + 1) << 6, rows)
    accepting = hinted = np.uint64(0)
    for v in range(first, last):
        filled = load(hints, v) != NO_EDGES if HINTS else load(offsets, v + 1) > load(offsets, v)
        accepting |= np.uint64(bool(wants(F, P, G, v)) & filled) << np.uint64(v - first)
    ahead = accepting
    while HINTS and ahead != np.uint64(0):
        lowest = ahead & (~ahead + np.uint64(1))
        hint = np.int64(load(hints, first + trailing_zeros(ahead)))
        hinted |= lowest * np.uint64((hint != 0) & is_set(bits, (LAST_HINT - hint) * (hint != 0)))
        ahead ^= lowest
    accepting ^= hinted
    ahead = accepting
    while ahead != np.uint64(0):
        v = first + trailing_zeros(ahead)
        lowest = ahead & (~ahead + np.uint64(1))
        row, end = load(offsets, v), load(offsets, v + 1)
        if HINTS and row == end:
            store(hints, v, np.uint32(NO_EDGES))
            accepting ^= lowest
        prefetch(neighbours, row)
        prefetch(neighbours, min(row + LINE, end - 1))
        ahead ^= lowest
    return accepting, hinted


@njit(**INNER)
def pull_phase(t, threads, graph, F, P, G, W, c):
    """Pull: every v that accepts proposals scans its in-edges for active sources; a thread owns 64 vertices of a word.

    ``bits`` is the frontier; the bitmap of changed vertices goes to ``next_bits``. Where one proposal is enough, a
    vertex looks first at its hint: the in-neighbour whose proposal it took in its last pull, maybe in an earlier run.
    As a rule that is a hub, which the frontiers of many searches contain.
    """
    bits, next_bits, shared, base = lists(W, c).bits, lists(W, c).next_bits, W.shared, slot(c)
    degree, hints = F[-1], W.hints
    rows, masters, awake, edges = c[ROWS], c[MASTERS], 0, 0
    by_id, numbered, words = c[BY_ID] != 0, c[NUMBERED] != 0, (rows + 63) >> 6
    chunk = 16 if threads > 1 else words
    while words > 0:
        first = fetch_add(shared, base + EDGE_NEXT, chunk)
        if first >= words:
            break
        end = min(first + chunk, words)
        if COND and not ALL:
            opened = open_rows(first, rows, bits, hints, graph, F, P, G)
        for i in range(first, end):
            word = np.uint64(0)
            if ALL and not COND:
                for v in range(i << 6, min((i + 1) << 6, rows)):
                    pull_row(v, bits, graph, hints, by_id, numbered, F, P, G)
            elif ALL or not COND:
                for v in range(i << 6, min((i + 1) << 6, rows)):
                    if (not COND or wants(F, P, G, v)) and pull_row(v, bits, graph, hints, by_id, numbered, F, P, G):
                        word |= np.uint64(1) << np.uint64(v & 63)
            else:
                accepting, hinted = opened
                if i + 1 < end:  # their lines come while this word is scanned
                    opened = open_rows(i + 1, rows, bits, hints, graph, F, P, G)
                while HINTS and hinted != np.uint64(0):
                    v, lowest = (i << 6) + trailing_zeros(hinted), hinted & (~hinted + np.uint64(1))
                    s = values_of(LAST_HINT - np.int64(load(hints, v)), numbered, F, P, G)
                    if commit(F, v, fold(identity(), propose(F, P, G, s, np.int64(1), v))):
                        word |= lowest
                    hinted ^= lowest
                while accepting != np.uint64(0):
                    lowest = accepting & (~accepting + np.uint64(1))
                    if pull_row((i << 6) + trailing_zeros(accepting), bits, graph, hints, by_id, numbered, F, P, G):
                        word |= lowest
                    accepting ^= lowest
            if not ALL:
                changed = word
                while changed != np.uint64(0):
                    v = (i << 6) + trailing_zeros(changed)
                    changed &= changed - np.uint64(1)
                    if v < masters:
                        awake += 1
                        if not DEFERS:
                            edges += load(degree, v)
                store(next_bits, i, word)
    fetch_add(shared, base + AWAKE, awake)
    fetch_add(shared, base + EDGE_SUM, edges)


@njit(**INNER)
def expand(t, threads, tail, bits, listed, W, c):
    """Convert a bitmap to a list of masters and one of mirrors."""
    mirrors, flags, shared, base = W.mirrors, W.flags, W.shared, slot(c)
    masters_found, mirror_found = buffer_of(W, t, 0), buffer_of(W, t, 1)
    masters, k, j = c[MASTERS], 0, 0
    words = (c[ROWS] + 63) >> 6
    for i in range(words * t // threads, words * (t + 1) // threads):
        word = load(bits, i)
        while word != np.uint64(0):
            v = (np.int64(i) << 6) + trailing_zeros(word)
            word &= word - np.uint64(1)
            if v < masters:
                if FLAGGED and tail == TOUCHED_TAIL:
                    store(flags, v, np.uint8(1))
                k = append(masters_found, k, v, listed, shared, base + tail)
            else:
                j = append(mirror_found, j, v, mirrors, shared, base + MIRROR_TAIL)
    flush(masters_found, k, listed, shared, base + tail)
    flush(mirror_found, j, mirrors, shared, base + MIRROR_TAIL)


@njit(**SPLICED)
def list_changed(t, threads, W, c):
    """List the vertices that a pull changed."""
    expand(t, threads, np.int64(TOUCHED_TAIL), lists(W, c).next_bits, lists(W, c).touched, W, c)
