"""Files that are almost right, read by dgraph and by plain Python: they agree on the graph, or on there being none.

``python tests/fuzz.py 100000 [SEED]`` tries so many; ``test_fuzz.py`` tries some in the suite.
"""

from __future__ import annotations

import itertools
import random
import re
import struct
import sys
import tempfile
import time
from pathlib import Path

from loading import cleaned, figures, loaded
from models import both_ways, galois, gapbs, metis, packed

from dgraph.errors import DgraphError, InternalError

ODD = [
    b"", b" ", b"\t", b"\n", b"\r\n", b"\r", b"#", b"%", b"c ", b"-", b"+", b".", b",", b";", b"0", b"1", b"00", b"-1",
    b"1.5", b"1e3", b"1e999", b"nan", b"inf", b"9223372036854775807", b"9223372036854775808", b"4294967296", b"x",
    b"\xef\xbb\xbf", b"\x00", b"\xff", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"1_0", b"0x1", b"1e-400",
    b"18446744073709551617", b"0.1234567890123456789", b"123456789012345678901234567890", b"\x1f\x8b",
    b"p sp 3 3", b"%%MatrixMarket",
]  # fmt: skip
BYTES = [
    b"\x00" * 8,
    b"\xff" * 8,
    b"\x01" + b"\x00" * 7,
    struct.pack("<q", 1 << 40),
    b"\x7f",
    b"\x80",
    b"\x01\x00\x00\x00",
]


class RefusedError(Exception):
    """The plain reader takes the file for none of its format."""


def edges_of(rng: random.Random, top: int = 6) -> list:
    return [(rng.randrange(top), rng.randrange(top), rng.randrange(1, 9)) for _ in range(rng.randrange(8))]


def valid(name: str, rng: random.Random) -> bytes:
    """A file of the format."""
    edges, n = edges_of(rng), 6
    spell = rng.choice([str, lambda w: f"{w}.25", lambda w: f"{w}e-1", lambda w: f"-{w}", lambda w: f"{w << 40}"])
    lines = {
        "a.txt": lambda: "".join(f"{u}\t{v}\n" for u, v, _ in edges),
        "a.csv": lambda: "s,t,w\n" + "".join(f"{u},{v},{spell(w)}\n" for u, v, w in edges),
        "a.el": lambda: "".join(f"{u} {v}\n" for u, v, _ in edges),
        "a.wel": lambda: "".join(f"{u} {v} {spell(w)}\n" for u, v, w in edges),
        "a.gr": lambda: (
            f"c x\np sp {n} {len(edges)}\n" + "".join(f"a {u + 1} {v + 1} {spell(w)}\n" for u, v, w in edges)
        ),
        "a.mtx": lambda: (
            f"%%MatrixMarket matrix coordinate {rng.choice(['real', 'integer'])} "
            f"{rng.choice(['general', 'symmetric'])}\n{n} {n} {len(edges)}\n"
            + "".join(f"{u + 1} {v + 1} {w}\n" for u, v, w in edges)
        ),
        "a.graph": lambda: metis(n, list({(u, v): (u, v, w) for u, v, w in edges if u < v}.values()), "1"),
    }
    if name in lines:
        return lines[name]().encode()
    directed = rng.random() < 0.5
    return {
        "a.sg": lambda: gapbs(n, edges if directed else both_ways(edges), directed, False),
        "a.wsg": lambda: gapbs(n, edges if directed else both_ways(edges), directed, True),
        "b.gr": lambda: galois(n, edges, rng.choice([1, 2]), rng.choice(["", "i"])),
        "a.g500": lambda: packed(edges),
    }[name]()


def broken(content: bytes, rng: random.Random, pieces: list[bytes]) -> bytes:
    """The file with something put in, taken out, put in place of something, doubled or cut off."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        at = rng.randrange(len(content) + 1)
        end = min(len(content), at + rng.choice([0, 1, 1, 2, 8]))
        kind = rng.randrange(6)
        if kind == 0:
            content = content[:at] + rng.choice(pieces) + content[at:]
        elif kind == 1:
            content = content[:at] + content[end:]
        elif kind == 2:
            content = content[:at] + rng.choice(pieces) + content[end:]
        elif kind == 3:
            content = content[:at]
        elif kind == 4:
            content = content[:at] + content[at:end] + content[at:]
        elif content:
            at = rng.randrange(len(content))
            content = content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]
    return content


# The plain readers: (directed, vertices or None, edges), or RefusedError.


def a_line(raw: bytes) -> str:
    return re.sub(r"\r\Z", "", raw.decode("latin-1")).lstrip(" \t")


def text_lines(content: bytes, comments: str):
    """Lines that are neither empty nor comments."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    for raw in content.split(b"\n"):
        line = a_line(raw)
        if line.rstrip(" \t") == "" or (line[0] in comments and not line[0].isalpha()):
            continue
        if line[0] in comments and re.match(r"[a-z]([ \t]|$)", line):
            continue
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
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", word):
        raise RefusedError
    if re.fullmatch("[+-]?[0-9]+", word) and abs(int(word)) < 1 << 63:
        return int(word)
    if abs(float(word)) == float("inf"):
        raise RefusedError
    return float(word)


def rows_of(lines, columns: int, low=0, high=(1 << 63) - 1, delimiters="") -> list:
    edges = []
    for line in lines:
        words = fields(line, delimiters)
        if len(words) != columns:
            raise RefusedError
        edges.append((an_id(words[0], low, high), an_id(words[1], low, high), *map(a_weight, words[2:])))
    if columns == 3 and any(isinstance(w, float) for *_, w in edges):
        edges = [(u, v, float(w)) for u, v, w in edges]
    return [(*edge, 1) if columns == 2 else edge for edge in edges]


def proportionate(n: int, edges: int) -> None:
    if n == 0 or n > 1000 * edges + 10**6:
        raise RefusedError


def plain_list(content: bytes, dense: int = 0):
    lines = list(text_lines(content, "#%"))
    words = fields(lines[0], ",;" if not dense else "") if lines else []
    edges = rows_of(lines, dense or (3 if len(words) > 2 else 2), delimiters="" if dense else ",;")
    if not edges:
        raise RefusedError
    if dense:
        n = max(max(u, v) for u, v, _ in edges) + 1
        proportionate(n, len(edges))
        return True, range(n), edges
    return True, None, edges


def plain_csv(content: bytes):
    lines = list(text_lines(content, "#%"))
    if not lines:
        raise RefusedError
    words = re.split(r"[ \t,;]+", lines[0].strip(" \t,;"))
    if not any(word[:1].isdigit() or word[:1] in "+-." for word in words):
        lines = lines[1:]
        if len(words) not in (2, 3):
            raise RefusedError
    edges = rows_of(lines, 3 if len(words) > 2 else 2, delimiters=",;")
    if not edges:
        raise RefusedError
    return True, None, edges


def plain_dimacs(content: bytes):
    lines = list(text_lines(content, "c"))
    head = words_of(lines[0]) if lines else []
    if len(head) != 4 or head[:2] != ["p", "sp"]:
        raise RefusedError
    n, m = an_id(head[2]), an_id(head[3])
    if any(not re.match(r"a([ \t]|$)", line) for line in lines[1:]):
        raise RefusedError
    edges = rows_of((line[1:].strip(" \t") or "?" for line in lines[1:]), 3, 1, n)
    if len(edges) != m:
        raise RefusedError
    proportionate(n, m)
    return True, range(1, n + 1), edges


def plain_mtx(content: bytes):
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
    edges = rows_of(lines[1:], 2 if first[3] == "pattern" else 3, 1, n)
    if first[3] == "integer" and any(
        not re.fullmatch("[+-]?[0-9]+", line.split()[2]) or abs(int(line.split()[2])) >= 1 << 63 for line in lines[1:]
    ):
        raise RefusedError
    if len(edges) != m:
        raise RefusedError
    proportionate(n, m)
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
        at = [end + pad for pad in pads if len(content) == end + pad + width * m]
        if width not in (0, 4, 8) or not at or n == 0:
            raise RefusedError
        ends = struct.unpack_from(f"<{n}Q", content, 32)
        targets = struct.unpack_from(f"<{m}{'I' if version == 1 else 'Q'}", content, start)
        data = struct.unpack_from(f"<{m}{'i' if width == 4 else 'q'}", content, at[0]) if width else [1] * m
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
    """Of parallel arcs the lightest."""
    kept: dict = {}
    for u, v, w in edges:
        kept[u, v] = min(w, kept.get((u, v), w))
    return [(u, v, w) for (u, v), w in kept.items()]


def plain_packed(content: bytes):
    if len(content) % 12 or not content:
        raise RefusedError
    edges = []
    for low0, low1, high0, high1 in struct.iter_unpack("<IIhh", content):
        edges.append((low0 | high0 << 32, low1 | high1 << 32, 1))
    if any(min(u, v) < 0 for u, v, _ in edges):
        raise RefusedError
    n = max(max(u, v) for u, v, _ in edges) + 1
    proportionate(n, len(edges))
    return False, range(n), edges


def plain_metis(content: bytes):
    content = content.removeprefix(b"\xef\xbb\xbf")
    lines = [a_line(raw) for raw in content.removesuffix(b"\n").split(b"\n")]
    lines = [line for line in lines if not line.startswith("%")]
    while lines and not lines[0].strip(" \t"):
        lines.pop(0)
    head = words_of(lines[0]) if lines else []
    form = head[2].zfill(3) if len(head) > 2 else "000"
    if not 2 <= len(head) <= 4 or not re.fullmatch("[01]{3}", form):
        raise RefusedError
    n, m = an_id(head[0]), an_id(head[1])
    extra = an_id(head[3]) if len(head) > 3 else int(form[1])
    if extra and form[1] == "0":
        raise RefusedError
    skip, weighted = int(form[0]) + extra, form[2] == "1"
    proportionate(n, m)
    rows = lines[1:]
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


PLAIN = {
    "a.txt": plain_list,
    "a.csv": plain_csv,
    "a.el": lambda content: plain_list(content, 2),
    "a.wel": lambda content: plain_list(content, 3),
    "a.gr": plain_dimacs,
    "b.gr": plain_galois,
    "a.mtx": plain_mtx,
    "a.graph": plain_metis,
    "a.sg": lambda content: plain_gapbs(content, False),
    "a.wsg": lambda content: plain_gapbs(content, True),
    "a.g500": plain_packed,
}
BINARY = ("a.sg", "a.wsg", "b.gr", "a.g500")
MAGIC = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff")


def expected(name: str, content: bytes):
    """What the plain reader says: n, vertices, arcs and counts, or None."""
    try:
        if name not in BINARY and (content.startswith(MAGIC) or content[:8] in (b"\1" + bytes(7), b"\2" + bytes(7))):
            raise RefusedError
        if name == "b.gr" and content[:8] not in (b"\1" + bytes(7), b"\2" + bytes(7)):
            directed, vertices, edges = plain_dimacs(content)
        else:
            directed, vertices, edges = PLAIN[name](content)
    except RefusedError:
        return None
    mirrored = not directed and name in ("a.sg", "a.wsg", "a.graph")
    once = [(u, v, w) for u, v, w in edges if u <= v] if mirrored else edges
    return directed, *cleaned(once, directed, vertices=vertices, keep_loops=True)[:3]


def found(path: Path, ranks: int):
    """What dgraph says: the same, or the words of its refusal."""
    try:
        graph = loaded(path, ranks, keep_loops=True)
    except InternalError as crash:
        return "crash", str(crash)
    except DgraphError as refused:
        return str(refused)
    except Exception as crash:
        return "crash", repr(crash)
    return graph.directed, *figures(graph)[:3]


def check(name: str, content: bytes, folder: Path, ranks: int = 1) -> str:
    """ "" where both agree, else what each of them says."""
    path = folder / name
    path.write_bytes(content)
    want, got = expected(name, content), found(path, ranks)
    if (want is None) == isinstance(got, str) and (want is None or want == got):
        return ""
    return f"{name} {content!r} on {ranks} ranks\n  plain: {want}\n  dgraph: {got}"


def one(seed: int, folder: Path) -> str:
    """Make one file, and check it."""
    rng = random.Random(seed)
    name = rng.choice(list(PLAIN))
    content = broken(valid(name, rng), rng, BYTES if name in BINARY else ODD)
    return check(name, content, folder, rng.choice([1, 1, 1, 1, 1, 1, 1, 2, 3]))


def main() -> None:
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began, findings, slowest = time.monotonic(), 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            start = time.monotonic()
            told = one(seed, Path(folder))
            slowest = max(slowest, time.monotonic() - start)
            if told:
                findings += 1
                print(f"seed {seed}: {told}", flush=True)
    print(f"{count} inputs in {time.monotonic() - began:.0f} s, {findings} findings, the slowest took {slowest:.2f} s")


if __name__ == "__main__":
    main()
