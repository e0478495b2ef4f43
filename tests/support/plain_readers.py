"""Readers of single-file formats in plain Python.

They return ``(directed, vertices or None, edges)`` or raise RefusedError. With a list ``passed`` a reader of text is
lenient: it skips bad lines and appends them to the list.
"""

from __future__ import annotations

import itertools
import re
import struct


class RefusedError(Exception):
    """The plain reader refuses the file."""


def a_line(raw: bytes) -> str:
    return re.sub(r"\r\Z", "", raw.decode("latin-1")).lstrip(" \t")


def text_lines(content: bytes, comments: str):
    """Yield lines that are neither empty nor comments, and those with a carriage return inside.

    Before and in the first line of data a carriage return is refused.
    """
    content, begun = content.removeprefix(b"\xef\xbb\xbf"), False
    for raw in content.split(b"\n"):
        line = a_line(raw)
        if "\r" in line:
            if not begun:
                raise RefusedError
            yield line
            continue
        if line.rstrip(" \t") == "" or (line[0] in comments and not line[0].isalpha()):
            continue
        if line[0] in comments and re.match(r"[a-z]([ \t]|$)", line):
            continue
        begun = True
        yield line


def words_of(line: str) -> list[str]:
    return [word for word in re.split(r"[ \t]+", line.strip(" \t")) if word]


def fields(line: str, delimiters: str = "") -> list[str]:
    line = line.strip(" \t")
    split = re.split(rf"[ \t]*[{delimiters}][ \t]*|[ \t]+" if delimiters else r"[ \t]+", line)
    if "" in split:
        raise RefusedError
    return split


def an_id(word: str, low: int = 0, high: int = (1 << 63) - 1) -> int:
    if not re.fullmatch("[0-9]+", word) or not low <= int(word) <= high:
        raise RefusedError
    return int(word)


def a_weight(word: str):
    if re.fullmatch("[+-]?(inf|infinity)", word, re.IGNORECASE | re.ASCII):
        return float(word)
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", word):
        raise RefusedError
    if abs(float(word)) == float("inf"):
        raise RefusedError
    if re.fullmatch("[+-]?[0-9]+", word) and abs(int(word)) < 1 << 63:
        return int(word)
    return float(word)


def rows_of(lines, columns: int, low=0, high=(1 << 63) - 1, delimiters="", passed=None, row=None) -> list:
    """Return the edges of lines; ``row`` may change or refuse a line first."""
    edges, reals = [], False
    for line in lines:
        try:
            if "\r" in line:
                raise RefusedError
            words = fields(row(line) if row else line, delimiters)
            if len(words) != columns:
                raise RefusedError
            ends = an_id(words[0], low, high), an_id(words[1], low, high)
            weight = a_weight(words[2]) if columns == 3 else 1
            reals = reals or isinstance(weight, float)
            edges.append((*ends, weight))
        except RefusedError:
            if passed is None:
                raise
            passed.append(line)
    return [(u, v, float(w)) for u, v, w in edges] if reals else edges


def not_most(passed: list | None, kept: list) -> None:
    """Refuse a file of which more lines are skipped than kept."""
    if len(passed or ()) > len(kept):
        raise RefusedError


def finite(weight):
    if abs(weight) == float("inf"):
        raise RefusedError
    return weight


def proportionate(n: int, edges: int) -> None:
    if n == 0 or n > 1000 * edges + 10**6:
        raise RefusedError


def opened(lines: list, words: list, delimiters: str, read, passed: list | None, ends=(0, 1)) -> list:
    """Return the edges that ``read(lines, passed)`` finds, without the first line if that is a header."""
    first, rest = words[0] if words else [], None if passed is None else []
    if first and not any(word[0] in "0123456789+-." for word in first):
        misplaced(names_in(lines[0].strip(" \t"), delimiters), ends)
        edges = read(lines[1:], rest)
    else:
        edges = read(lines[1:], rest) if counts_of(first) else []
        if not (counts_of(first) and are_counts(counts_of(first), edges, rest)):
            rest = None if passed is None else []
            edges = read(lines, rest)
    if passed is not None:
        passed += rest
    not_most(passed, edges)
    if not edges:
        raise RefusedError
    return edges


def counts_of(words: list[str]) -> list[int]:
    """Return two or three whole numbers, or an empty list."""
    right = len(words) in (2, 3) and all(re.fullmatch("[0-9]+", word) and int(word) < 1 << 63 for word in words)
    return [int(word) for word in words] if right else []


def are_counts(numbers: list[int], edges: list, passed: list | None) -> bool:
    """Return True if ``numbers`` are counts: as many lines follow, and all ids are in 0 … n-1 or in 1 … n."""
    n, *said = numbers
    lines, ids = len(edges) + len(passed or ()), [end for u, v, _ in edges for end in (u, v)]
    if not lines or lines not in said:
        return False
    return all(end < n for end in ids) or all(1 <= end <= n for end in ids)


def names_in(line: str, delimiters: str) -> list[str]:
    mark = re.compile(f"[{delimiters}\t]")
    return [name.strip(" ") for name in mark.split(line)] if mark.search(line) else words_of(line)


def ends_named(names: list[str]) -> list[list[int]]:
    """Return the positions of names for a source, and of names for a target."""
    small = [re.sub("[^a-z0-9]", "", name.lower()) for name in names]
    around = "(node|vertex)?(%s)(node|vertex)?(id|name)?"
    kinds = "source|src|from|start|tail|u", "target|tgt|destination|dest|dst|to|end|head|v"
    return [[position for position, name in enumerate(small) if re.fullmatch(around % kind, name)] for kind in kinds]


def misplaced(names: list[str], ends=(0, 1)) -> None:
    """Refuse a header that puts the ends of an edge in columns other than ``ends``."""
    sources, targets = ends_named(names)
    if len(sources) == len(targets) == 1 and (sources[0], targets[0]) != ends:
        raise RefusedError


def plain_dimacs(content: bytes, passed=None, kinds=("sp",), tag="a", columns=3):
    def row(line):
        if not re.match(rf"{tag}([ \t]|$)", line):
            raise RefusedError
        return line[1:].strip(" \t") or "?"

    lines = list(text_lines(content, "c"))
    head = words_of(lines[0]) if lines else []
    if len(head) != 4 or head[0] != "p" or head[1] not in kinds:
        raise RefusedError
    n, m = an_id(head[2]), an_id(head[3])
    edges = rows_of(lines[1:], columns, 1, n, passed=passed, row=row)
    not_most(passed, edges)
    if len(edges) + len(passed or ()) != m:
        raise RefusedError
    proportionate(n, len(edges))
    return tag == "a", range(1, n + 1), edges


def plain_mtx(content: bytes, passed=None):
    def row(line):
        words = words_of(line)
        if first[3] == "integer" and (len(words) != 3 or not isinstance(a_weight(words[2]), int)):
            raise RefusedError
        return line

    first = words_of(a_line(content.removeprefix(b"\xef\xbb\xbf").split(b"\n")[0]).lower())
    if first[:3] != ["%%matrixmarket", "matrix", "coordinate"] or len(first) != 5:
        raise RefusedError
    if first[3] not in ("real", "integer", "double", "pattern") or first[4] not in ("general", "symmetric"):
        raise RefusedError
    lines = list(text_lines(content, "%"))
    head = words_of(lines[0]) if lines else []
    if len(head) != 3 or (head[0] != head[1] and an_id(head[0]) != an_id(head[1])):
        raise RefusedError
    n, m = an_id(head[0]), an_id(head[2])
    edges = rows_of(lines[1:], 2 if first[3] == "pattern" else 3, 1, n, passed=passed, row=row)
    not_most(passed, edges)
    if len(edges) + len(passed or ()) != m:
        raise RefusedError
    proportionate(n, len(edges))
    return first[4] == "general", range(1, n + 1), edges


def plain_gapbs(content: bytes, weighted: bool):
    try:
        directed, m, n = struct.unpack_from("<Bqq", content)
        if directed > 1 or m < 0 or not 0 < n <= 1 << 31:
            raise RefusedError
        width = 8 if weighted else 4
        if len(content) != 17 + (1 + directed) * (8 * (n + 1) + width * m):
            raise RefusedError
        offsets = struct.unpack_from(f"<{n + 1}q", content, 17)
        arcs = list(struct.iter_unpack("<ii" if weighted else "<i", content[17 + 8 * (n + 1) :][: width * m]))
    except struct.error:
        raise RefusedError from None
    return compressed(n, m, offsets, arcs, bool(directed))


def plain_galois(content: bytes):
    try:
        version, width, n, m = struct.unpack_from("<4Q", content)
        start, size = 32 + 8 * n, 4 * version
        end = start + size * m
        pads = [4 * (m % 2)] if version == 1 else [0, 8 * (m % 2)]
        weight_offsets = [end + pad for pad in pads if len(content) == end + pad + width * m]
        if width not in (0, 4, 8) or not weight_offsets or n == 0:
            raise RefusedError
        ends = struct.unpack_from(f"<{n}Q", content, 32)
        targets = struct.unpack_from(f"<{m}{'I' if version == 1 else 'Q'}", content, start)
        data = struct.unpack_from(f"<{m}{'i' if width == 4 else 'q'}", content, weight_offsets[0]) if width else [1] * m
    except (struct.error, OverflowError):
        raise RefusedError from None
    if any(abs(w) >= (1 << 23 if width == 4 else 1 << 52) for w in data):
        raise RefusedError
    return compressed(n, m, (0, *ends), list(zip(targets, data, strict=True)), True)


def compressed(n, m, offsets, arcs, directed):
    if offsets[0] != 0 or offsets[-1] != m or any(a > b for a, b in itertools.pairwise(offsets)):
        raise RefusedError
    if any(not 0 <= arc[0] < n for arc in arcs):
        raise RefusedError
    edges = [
        (u, *arcs[i]) if len(arcs[i]) == 2 else (u, *arcs[i], 1) for u in range(n) for i in range(*offsets[u : u + 2])
    ]
    proportionate(n, m)
    if not directed:
        edges = smallest(edges)
        if sorted((v, u, w) for u, v, w in edges) != sorted(edges):
            raise RefusedError
    return directed, range(n), edges


def smallest(edges):
    """Return the lightest of each group of parallel arcs."""
    kept: dict = {}
    for u, v, w in edges:
        kept[u, v] = min(w, kept.get((u, v), w))
    return [(u, v, w) for (u, v), w in kept.items()]


def plain_packed(content: bytes, record: str = "<IIhh"):
    if len(content) % struct.calcsize(record) or not content:
        raise RefusedError
    edges = []
    for words in struct.iter_unpack(record, content):
        low, high = words[:2], (*words[2:], 0, 0)
        edges.append((low[0] + (high[0] << 32), low[1] + (high[1] << 32), 1))
    if any(min(u, v) < 0 for u, v, _ in edges):
        raise RefusedError
    n = max(max(u, v) for u, v, _ in edges) + 1
    proportionate(n, len(edges))
    return False, range(n), edges


def plain_metis(content: bytes):
    content = content.removeprefix(b"\xef\xbb\xbf")
    lines = [re.sub(r"\r\Z", "", raw.decode("latin-1")) for raw in content.removesuffix(b"\n").split(b"\n")]
    while lines and lines[0].strip(" \t")[:1] in ("", "%") and "\r" not in lines[0]:
        lines.pop(0)
    if not lines or "\r" in lines[0]:
        raise RefusedError
    head = words_of(lines[0])
    form = head[2].zfill(3) if len(head) > 2 else "000"
    if not 2 <= len(head) <= 4 or not re.fullmatch("[01]{3}", form):
        raise RefusedError
    n, m = an_id(head[0]), an_id(head[1])
    extra = an_id(head[3]) if len(head) > 3 else int(form[1])
    if extra and form[1] == "0":
        raise RefusedError
    skip, weighted = int(form[0]) + extra, form[2] == "1"
    proportionate(n, m)
    rows = [line for line in lines[1:] if not line.startswith("%")]
    if len(rows) < n or any(row.strip(" \t") for row in rows[n:]):
        raise RefusedError
    edges = []
    for u, row in enumerate(rows[:n], 1):
        words = [an_id(word) for word in row.strip(" \t").replace("\t", " ").split(" ") if word != ""]
        if len(words) < skip or (weighted and (len(words) - skip) % 2):
            raise RefusedError
        rest = words[skip:]
        pairs = zip(rest[::2], rest[1::2], strict=True) if weighted else ((v, 1) for v in rest)
        for v, w in pairs:
            an_id(str(v), 1, n)
            edges.append((u, v, w))
    if len(edges) != 2 * m:
        raise RefusedError
    edges = smallest(edges)
    if sorted((v, u, w) for u, v, w in edges) != sorted(edges):
        raise RefusedError
    return False, range(1, n + 1), edges
