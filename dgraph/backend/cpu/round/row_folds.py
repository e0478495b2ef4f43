# ruff: noqa: F821
# mypy: ignore-errors
"""Folds of row reducers on CPU threads: source that follows ``phases.py`` in the file of a program that has one.

A thread owns whole rows. It collects the keys of a row in its scratch array (``W.keys``) and folds them there.
"""


@njit(**INLINE)
def compared(s, count):
    """Return the most frequent of the keys ``s[:count]`` by comparing all pairs, which takes no branch."""
    best, most = np.int64(LEFT_OUT), 0
    for i in range(count):
        key, times = s[i], 0
        for j in range(count):
            times += s[j] == key
        better = (times > most) | ((times == most) & (key < best))
        best, most = (key if better else best), max(times, most)
    return best


@njit(**INLINE)
def first_of_sorted(s, count):
    """Return the most frequent of up to four keys ``s[:count]``, without a branch.

    Of the sorted keys a ≤ b ≤ c ≤ d, those left out at the end, it is the first that equals the next one, or else a.
    """
    left_out = np.int64(LEFT_OUT)
    a, b = (s[0] if count > 0 else left_out), (s[1] if count > 1 else left_out)
    c, d = (s[2] if count > 2 else left_out), (s[3] if count > 3 else left_out)
    a, b, c, d = min(a, b), max(a, b), min(c, d), max(c, d)
    a, b, c, d = min(a, c), min(b, d), max(a, c), max(b, d)
    b, c = min(b, c), max(b, c)
    other = c if (c == d) & (count > 3) else a
    other = b if (b == c) & (count > 2) else other
    return a if a == b else other


@njit(**INNER)
def fold_mode(s, count, room):
    """Return the most frequent of the keys ``s[:count]``, the smallest of equally frequent ones.

    Ascending keys all differ, and more than half of the keys are often equal, those of a hub: the first, the middle or
    the last one is then most likely of them. Other rows of keys in a small range are counted in the last entries of the
    ``room``, which are 0 before and after; else all pairs of short ones are compared, and long ones counted in a hash
    table of open addressing behind the keys.
    """
    best, most, falls, alike, alike_middle, alike_last = np.int64(LEFT_OUT), 0, 0, 0, 0, 0
    if count <= 4:
        return first_of_sorted(s, count)
    first, middle, last = s[0], s[count // 2], s[count - 1]
    low = high = first
    for i in range(1, count):
        low, high = min(low, s[i]), max(high, s[i])
        falls += s[i - 1] >= s[i]
        alike += s[i] == first
        alike_middle += s[i] == middle
        alike_last += s[i] == last
    if falls == 0 or 2 * (alike + 1) > count:
        return first
    if 2 * alike_middle > count:
        return middle
    if 2 * alike_last > count:
        return last
    if 2 * count > SORTED and 0 <= high - low < COUNTED:
        table = room - COUNTED - low
        for i in range(count):
            key = s[i]
            times = s[table + key] + 1
            s[table + key] = times
            better = (times > most) | ((times == most) & (key < best))
            best, most = (key if better else best), max(times, most)
        for i in range(count):
            s[table + s[i]] = 0
        return best
    if count <= SORTED:
        return compared(s, count)
    places, shift = 1, np.uint64(64)  # a multiplicative hash: highest bits of the product
    while places < 2 * count:
        places *= 2
        shift -= np.uint64(1)
    counts = count + places
    for i in range(places):
        s[counts + i] = 0
    for i in range(count):
        key = s[i]
        slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> shift)
        while (s[counts + slot] != 0) & (s[count + slot] != key):  # one branch, which hardly ever goes another way
            slot = (slot + 1) & (places - 1)
        s[count + slot] = key
        times = s[counts + slot] + 1
        s[counts + slot] = times
        better = (times > most) | ((times == most) & (key < best))
        best, most = (key if better else best), max(times, most)
    return best


@njit(**INNER)
def fold_mex(s, count, room):
    """Return the smallest integer ≥ 0 that is not among the keys ``s[:count]``; it is at most ``count``."""
    for i in range(count):
        s[count + i] = 0
    for i in range(count):
        if 0 <= s[i] < count:
            s[count + s[i]] = 1
    least = 0
    while least < count and s[count + least] != 0:
        least += 1
    return np.int64(least)


@njit(**INNER)
def fold_hindex(s, count, room):
    """Return the largest h such that h of the keys ``s[:count]`` are at least h."""
    for i in range(count + 1):
        s[count + i] = 0
    for i in range(count):
        if s[i] > 0:
            s[count + min(s[i], np.int64(count))] += 1
    h, above = count, s[2 * count]
    while above < h:
        h -= 1
        above += s[count + h]
    return np.int64(h)


@njit(**INLINE)
def marks_rows(c):
    """Return True if the frontier is so small that it marks the rows to fold."""
    return not (ALL or WAITS) and c[MIRRORED_ROWS] != 0 and MARKED * c[EDGES] < c[ARCS]


@njit(**INNER)
def flag_neighbours(t, threads, graph, W, c):
    """Set the flags of the neighbours of thread t's part of the frontier."""
    queue, flags, count = lists(W, c).queue, W.flags, c[QUEUED]
    offsets, neighbours, _ = graph
    for i in range(count * t // threads, count * (t + 1) // threads):
        u = np.int64(load(queue, i))
        for e in range(load(offsets, u), load(offsets, u + 1)):
            store(flags, np.int64(load(neighbours, e)), np.uint8(1))


@njit(**INNER)
def fold_phase(t, threads, graph, F, P, G, W, c):
    """Fold the keys of all in-edges of every v that accepts proposals and has an active in-neighbour.

    As ``pull_phase``: a thread owns 64 vertices of a word; changed vertices go to the bitmap ``next_bits``. Where the
    frontier marks rows, flags show those with an active in-neighbour.
    """
    bits, next_bits, flags, shared, base = lists(W, c).bits, lists(W, c).next_bits, W.flags, W.shared, slot(c)
    keys = offset(W.keys, t * c[ROOM])
    offsets, neighbours, _ = graph
    rows, awake, marked = c[ROWS], 0, marks_rows(c)
    words = (rows + 63) >> 6
    chunk = 16 if threads > 1 else words
    while words > 0:
        first = fetch_add(shared, base + EDGE_NEXT, chunk)
        if first >= words:
            break
        for i in range(first, min(first + chunk, words)):
            word = np.uint64(0)
            for v in range(i << 6, min((i + 1) << 6, rows)):
                begin, end = load(offsets, v), load(offsets, v + 1)
                hit = ALL
                if marked:
                    hit = load(flags, v) != np.uint8(0)
                    store(flags, v, np.uint8(0))
                if begin < end and (hit or not marked) and (not COND or wants(F, P, G, v)):
                    e = begin
                    while not WAITS and not hit and e < end:  # with WAITS few rows are ready: their first edges show it
                        hit = is_set(bits, np.int64(load(neighbours, e)))
                        e += 1
                    count = np.int64(0)
                    e = begin if WAITS or hit else end
                    while e < end:
                        proposed = proposal(e, v, c[NUMBERED] != 0, graph, F, P, G)
                        key = proposed[0]
                        if WAITS:
                            if key < 0:
                                hit = False
                                break
                            if not ALL and not hit:
                                hit = is_set(bits, np.int64(load(neighbours, e)))
                        if key != LEFT_OUT:
                            store(keys, count, key)
                            if SUMS:
                                store(keys, end - begin + count, proposed[1])
                            count += 1
                        e += 1
                    if hit:
                        if SUMS:
                            commit(F, v, fold_row(keys, count, end - begin))
                        else:
                            commit(F, v, (fold_row(keys, count, c[ROOM]),))
                        word |= np.uint64(1) << np.uint64(v & 63)
                        awake += 1
            if not ALL:
                store(next_bits, i, word)
    fetch_add(shared, base + AWAKE, awake)
