# ruff: noqa: F821
# mypy: ignore-errors
"""Fold of the row reducer BEST on CPU threads: source before ``row_folds.py`` in the file of its programs."""


@njit(**INNER)
def fold_best(s, count, room):
    """Return the key of the largest sum of values, the smallest of equal ones, and the sum; LEFT_OUT and 0 for no keys.

    Keys are ``s[:count]``, their values ``s[room : room + count]``. Short rows are sorted by key, and long ones summed
    in a hash table of open addressing behind both.
    """
    best, most = np.int64(LEFT_OUT), np.int64(0)
    if count <= SORTED:
        for i in range(1, count):
            key, value, place = s[i], s[room + i], i
            while place > 0 and s[place - 1] > key:
                s[place], s[room + place] = s[place - 1], s[room + place - 1]
                place -= 1
            s[place], s[room + place] = key, value
        total = np.int64(0)
        for i in range(count):
            total += s[room + i]
            if i + 1 == count or s[i + 1] != s[i]:
                if best == LEFT_OUT or total > most:
                    best, most = s[i], total
                total = np.int64(0)
        return best, most
    places = 1
    while places < 2 * count:
        places *= 2
    keys, sums = 2 * room, 2 * room + places
    for i in range(places):
        s[keys + i], s[sums + i] = LEFT_OUT, 0
    for i in range(count):
        place = mixed(s[i], np.int64(0)) & (places - 1)
        while s[keys + place] != LEFT_OUT and s[keys + place] != s[i]:
            place = (place + 1) & (places - 1)
        s[keys + place] = s[i]
        s[sums + place] += s[room + i]
    for i in range(places):
        key, total = s[keys + i], s[sums + i]
        if key != LEFT_OUT and (best == LEFT_OUT or total > most or (total == most and key < best)):
            best, most = key, total
    return best, most
