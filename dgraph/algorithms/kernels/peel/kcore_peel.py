# ruff: noqa: F821
# mypy: ignore-errors
"""Edge kernel of peeling on CPUs, for ``kcore_parts/peel.py``: source that follows the operators of that program.

[Kabir & Madduri, 2017: PKC; windows of levels as in Dhulipala et al., SPAA 2017: Julienne]

Level k removes every vertex with k remaining neighbours, until there is none. A thread follows its own removals without
a barrier, up to a buffer full; the rest is the next frontier. *Candidates* are the vertices that levels of a window may
remove. One pass over all live vertices finds them; vertices that reach the window later are listed as *fallen*.

Lists: ``W.live`` and, by the same blocks, candidates in ``W.far``; fallen in ``W.far_next``. ``c[OWN]`` is the last
level of the window, ``c[OWN_TOO]`` the first entry of ``fallen`` that belongs to it.
"""

WINDOW = 16  # levels
FALLEN, CANDIDATES = 0, 8  # in W.counts: entries of the list of fallen vertices; from there on, candidates of a block


@njit(**INNER)
def find(t, threads, F, P, G, W, c):
    """Queue the vertices that level k removes first: in blocks of live vertices, and in shares of the fallen ones."""
    queue, live, live_counts, candidates, fallen = lists(W, c).queue, W.live, W.live_counts, W.far, W.far_next
    core, level, base, counts, shared = F[F_core], P[P_first] + G[G_k], slot(c), W.counts, W.shared
    buffer, k, dropped, least = buffer_of(W, t, 0), 0, 0, np.int64(TOP)
    renews, last = level > c[OWN], max(c[OWN], level + WINDOW - 1 if level > c[OWN] else 0)
    begin, end = (load(counts, FALLEN), load(counts, FALLEN)) if renews else (c[OWN_TOO], load(counts, FALLEN))
    while True:
        b = fetch_add(shared, base + VERTEX_NEXT, 1)
        if b >= blocks_of(c):
            break
        if renews:
            kept = chosen = b * BLOCK
            for i in range(kept, kept + load(live_counts, b)):
                v = np.int64(load(live, i))
                if G[G_k] == 0 and load(core, v) < level:
                    store(core, v, level)
                remaining = np.int64(load(core, v))
                if remaining > last:
                    store(live, kept, np.uint32(v))
                    kept += 1
                    least = min(least, remaining)
                elif remaining >= level:
                    store(candidates, chosen, np.uint32(v))
                    chosen += 1
            store(live_counts, b, np.int64(kept - b * BLOCK))
            store(counts, CANDIDATES + b, np.int64(chosen - b * BLOCK))
        elif load(live_counts, b) > 0:
            least = min(least, last + 1)
        kept = b * BLOCK
        for i in range(kept, kept + load(counts, CANDIDATES + b)):
            v = np.int64(load(candidates, i))
            remaining = np.int64(load(core, v))
            if remaining == level:
                k, dropped = append(buffer, k, v, queue, shared, base + FRONT_TAIL), dropped + 1
            elif remaining > level:
                store(candidates, kept, np.uint32(v))
                kept += 1
                least = min(least, remaining)
        store(counts, CANDIDATES + b, np.int64(kept - b * BLOCK))
    for i in range(begin + (end - begin) * t // threads, begin + (end - begin) * (t + 1) // threads):
        v = np.int64(load(fallen, i))
        remaining = np.int64(load(core, v))
        if remaining == level:
            k, dropped = append(buffer, k, v, queue, shared, base + FRONT_TAIL), dropped + 1
        elif remaining > level:
            least = min(least, remaining)
    flush(buffer, np.int64(k), queue, shared, base + FRONT_TAIL)
    fetch_add(shared, base + AWAKE, dropped)
    flush_sums(shared, base + SUMS_AT, terms(dropped, least, P))
    c[OWN], c[OWN_TOO] = last, begin


@njit(**INNER)
def push_phase(t, threads, graph, F, P, G, W, c):
    """Remove the vertices of the queue and all that this leaves with k neighbours; mirrors count their losses.

    The first round of a level fills the queue itself.
    """
    queue, touched, count, base, alone = lists(W, c).queue, lists(W, c).touched, c[QUEUED], slot(c), threads == 1
    all_here = alone and c[MASTERS] == c[N]
    if c[WHOLE]:
        find(t, threads, F, P, G, W, c)
        barrier(W.gate, threads)
        count = load_acquire(W.shared, base + FRONT_TAIL)
    core, lost, degree, level, last = F[F_core], F[F_lost], F[-1], P[P_first] + G[G_k], c[OWN]
    stack, fell, away, gone = buffer_of(W, t, 0), buffer_of(W, t, 1), buffer_of(W, t, 2), buffer_of(W, t, 3)
    flags, shared, mirrors, fallen, dirty, counts = W.flags, W.shared, W.mirrors, W.far_next, W.dirty, W.counts
    offsets, neighbours, _ = graph
    masters, sends, chunk = c[MASTERS], c[SENDS] != 0, min(chunk_of(count, 0, threads), 64)
    top = f = j = g = dropped = followed = edges = more = 0
    least, nowhere = np.int64(TOP), np.int64(-1)
    while count > 0:
        first = fetch_add(shared, base + EDGE_NEXT, chunk)
        if first >= count:
            break
        for i in range(first, min(first + chunk, count)):
            if i + AHEAD < count:
                prefetch(neighbours, load(offsets, np.int64(load(queue, i + AHEAD))))
            u = np.int64(load(queue, i))
            if sends and c[WHOLE]:
                g = append(gone, g, u, dirty, shared, base + DIRTY_TAIL)
            while True:
                for e in range(load(offsets, u), load(offsets, u + 1)):
                    v = np.int64(load(neighbours, e))
                    before = np.int64(load(core, v))
                    if all_here:  # which neighbours remain is hard to predict: all are stored
                        remaining = before - (before > level)
                        store(core, v, remaining)
                        least = min(least, remaining if remaining > level else np.int64(TOP))
                        if (before != level + 1) & ((before <= last) | (remaining != last)):
                            continue
                    elif before <= level:
                        continue
                    elif v >= masters:
                        add_into(lost, v, 1, alone)
                        if set_mark(flags, v, alone):
                            j = append(away, j, v, mirrors, shared, base + MIRROR_TAIL)
                        continue
                    else:
                        before = np.int64(add_into(core, v, -1, alone))
                    if before == level + 1:
                        dropped += 1
                        store(stack, top, np.uint32(v))
                        top += 1
                        if top == BUFFER:
                            more += spill(stack, top, nowhere, graph, degree, touched, mirrors, shared, W.shares, c)
                            top = 0
                    elif before <= level:
                        add_into(core, v, 1, alone)
                    else:
                        least = min(least, before - 1)
                        if before - 1 == last:
                            f = append(fell, f, v, fallen, counts, np.int64(FALLEN))
                if top == 0:
                    break
                top -= 1
                u = np.int64(load(stack, top))
                followed += 1
                edges += load(degree, u)
                if sends:
                    g = append(gone, g, u, dirty, shared, base + DIRTY_TAIL)
    flush(fell, np.int64(f), fallen, counts, np.int64(FALLEN))
    flush(away, np.int64(j), mirrors, shared, base + MIRROR_TAIL)
    flush(gone, np.int64(g), dirty, shared, base + DIRTY_TAIL)
    fetch_add(shared, base + EDGE_SUM, more)
    fetch_add(shared, base + AWAKE, followed)
    fetch_add(shared, base + FOLLOWED_EDGES, edges)
    flush_sums(shared, base + SUMS_AT, terms(dropped, least, P))


@njit(**INLINE)
def terms(dropped, least, P):
    """Return the program's sums: vertices dropped, and the smallest remaining degree of others, in levels."""
    return np.int64(dropped), least if least == TOP else least - P[P_first]


@njit(**INLINE)
def settle(F, P, G, v, p, W, c):
    """Subtract neighbours that mirrors lost from master v; return True if it is removed now, and sums; one thread."""
    core, level, last = F[F_core], P[P_first] + G[G_k], c[OWN]
    before = np.int64(load(core, v))
    if before <= level:
        return False, no_sums()
    remaining = max(before - p[0], level)
    store(core, v, remaining)
    if remaining == level:
        return True, terms(1, np.int64(TOP), P)
    if before > last >= remaining:
        store(W.far_next, W.counts[FALLEN], np.uint32(v))
        W.counts[FALLEN] += 1
    return False, terms(0, remaining, P)
