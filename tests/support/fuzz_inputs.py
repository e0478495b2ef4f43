"""Small files of every format, and mutations of them: the inputs of ``fuzz.py``."""

from __future__ import annotations

import gzip
import io
import random
import struct
import zipfile

import numpy as np
from format_cases import rows
from models import both_ways, galois, gapbs, metis, packed, wide
from plain_tables import zstd

ODD = [
    b"", b" ", b"\t", b"\n", b"\r\n", b"\r", b"#", b"%", b"c ", b"-", b"+", b".", b",", b";", b"0", b"1", b"00", b"-1",
    b"1.5", b"1e3", b"1e999", b"nan", b"inf", b"9223372036854775807", b"9223372036854775808", b"4294967296", b"x",
    b"\xef\xbb\xbf", b"\x00", b"\xff", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"1_0", b"0x1", b"1e-400",
    b"18446744073709551617", b"0.1234567890123456789", b"123456789012345678901234567890", b"\x1f\x8b",
    b"p sp 3 3", b"%%MatrixMarket", b"\"", b"'", b"=", b"true", b"-Infinity", b"u v\n", b"6 3\n", b"to,from\n",
    b"n" * 255, b"n" * 256, b"1\t", b"\xc2\x85", b"\t\n", b"\n\t\n", b"\n\t#\n", b"\n# 1\r2\n", b"\n # \"\n", b'""',
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

CASES = rows("VALID")


def edges_of(rng: random.Random, top: int = 6) -> list:
    return [(rng.randrange(top), rng.randrange(top), rng.randrange(1, 9)) for _ in range(rng.randrange(8))]


def valid(name: str, rng: random.Random) -> bytes:
    """Return a file of the format."""
    edges, n = edges_of(rng), 6
    spell = rng.choice(
        [str, lambda w: f"{w}.25", lambda w: f"{w}e-1", lambda w: f"-{w}", lambda w: f"{w << 40}", lambda w: f"{w},5"]
    )
    words = rng.choice(["abcdef", ["x y", "y", "zz", "0", "#a", "\u00e9"]])
    listed = name.endswith((".txt", ".csv", ".tsv", ".el", ".wel", ".cedge"))
    headers = [
        "",
        "",
        f"{n} {len(edges)}\n",
        f"{n} {n} {len(edges)}\n",
        "u v\n",
        "from to cost\n",
        "a b w\n",
        "source target weight\n",
        "# 1 2\n",
    ]
    mark = rng.choice(",,;|")
    first = rng.choice(headers) if listed else ""
    lines = {
        "a.txt": lambda: first + "".join(f"{u}\t{v}\n" for u, v, _ in edges),
        "a.csv": lambda: first.replace(" ", mark) + "".join(f"{u}{mark}{v}{mark}{spell(w)}\n" for u, v, w in edges),
        "a.el": lambda: first + "".join(f"{u} {v}\n" for u, v, _ in edges),
        "a.wel": lambda: first + "".join(f"{u} {v} {spell(w)}\n" for u, v, w in edges),
        "a.cedge": lambda: first + "".join(f"{number} {u} {v} {spell(w)}\n" for number, (u, v, w) in enumerate(edges)),
        "a.mtx": lambda: (
            f"%%MatrixMarket matrix coordinate {rng.choice(['real', 'integer'])} "
            f"{rng.choice(['general', 'symmetric'])}\n{n} {n} {len(edges)}\n"
            + "".join(f"{u + 1} {v + 1} {w}\n" for u, v, w in edges)
        ),
        "a.graph": lambda: metis(n, list({(u, v): (u, v, w) for u, v, w in edges if u < v}.values()), "1"),
        "n.txt": lambda: "# c\n" + first + "".join(f"{'abcdef'[u]} {'abcdef'[v]}\n" for u, v, _ in edges),
        "n.csv": lambda: (
            first.replace(" ", mark) + "".join(f"{words[u]}{mark}{words[v]} {mark}{spell(w)}\n" for u, v, w in edges)
        ),
        "n.tsv": lambda: first.replace(" ", "\t") + "".join(f"{words[u]}\t{words[v]}\n" for u, v, _ in edges),
    }
    if name in lines:
        return lines[name]().encode()
    if name in CASES:
        return CASES[name](n, edges, spell, rng).encode()
    directed = rng.random() < 0.5
    return {
        "a.sg": lambda: gapbs(n, edges if directed else both_ways(edges), directed, False),
        "a.wsg": lambda: gapbs(n, edges if directed else both_ways(edges), directed, True),
        "b.gr": lambda: galois(n, edges, rng.choice([1, 2]), rng.choice(["", "i"])),
        "a.g500": lambda: packed(edges),
        "a.g500w": lambda: wide(edges),
        "a.npz": lambda: npz(n, edges, rng),
        "a.parquet": lambda: table(edges, rng, True),
        "a.arrow": lambda: table(edges, rng, False),
    }[name]()


def npz(n: int, edges: list, rng: random.Random) -> bytes:
    """Return a sparse matrix in scipy's format; in half of the files one array is wrong."""
    form = rng.choice(["csr", "csc", "coo"])
    kinds = ["<i4", "<i8", ">i4", "<u8", "<f8", "<f4", "?", "<i1"]
    edges = sorted({(u, v): (u, v, w) for u, v, w in edges}.values())
    major, minor = ([edge[end] for edge in edges] for end in ((1, 0) if form == "csc" else (0, 1)))
    order = sorted(range(len(edges)), key=lambda arc: major[arc])
    index = rng.choice(["<i4", "<i8"])
    offsets = [sum(u < row for u in major) for row in range(n + 1)]
    arrays = {
        "format": np.array(form.encode() if rng.random() < 0.9 else form),
        "shape": np.array([n, n]),
        "data": np.array([edges[arc][2] for arc in order], rng.choice(kinds)),
        ("col" if form == "coo" else "indices"): np.array([minor[arc] for arc in order], index),
        ("row" if form == "coo" else "indptr"): np.array(sorted(major) if form == "coo" else offsets, index),
    }
    if rng.random() < 0.5:
        name = rng.choice(list(arrays))
        arrays[name] = other(arrays[name], rng)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        spoilt = rng.choice([*arrays, *[""] * 12])
        for name, array in arrays.items():
            whole = io.BytesIO()
            np.save(whole, array)
            raw = whole.getvalue()
            archive.writestr(f"{name}.npy", broken(raw, rng, [*BYTES, *ODD]) if name == spoilt else raw)
    return file.getvalue()


def other(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Return the array with a value, its dtype, its length or its shape changed."""
    kind = rng.randrange(5)
    if kind == 0:
        return (
            array.astype(rng.choice(["<f8", "<i8", "<u8", "<u1", "<i2", "c16", "S3", "<f2"]), casting="unsafe")
            if array.dtype.kind != "S" and array.dtype.kind != "U"
            else array.reshape(1)
        )
    if kind == 1:
        return array.reshape(-1)[: rng.randrange(array.size + 1)]
    if kind == 2:
        return np.concatenate([array.reshape(-1)] * 2)
    if kind == 3:
        return array.reshape(1, -1) if rng.random() < 0.5 or array.size != 1 else array.reshape(())
    array = array.reshape(-1).copy()
    if array.size and array.dtype.kind in "iuf":
        odd = {"u": [0, 1, 5, 6, 100], "i": [-1, 0, 6, 100], "f": [-1, 0.5, np.nan, np.inf]}[array.dtype.kind]
        array[rng.randrange(array.size)] = rng.choice(odd)
    return array


def table(edges: list, rng: random.Random, as_parquet: bool) -> bytes:
    """Return a Parquet or Arrow file of edges with columns of random types, some of them invalid."""
    import pyarrow
    from pyarrow import parquet

    ids = rng.choice(["int32", "int64", "uint32", "uint64", "int8", *["int64"] * 4, "float64", "string"])
    kinds = [
        ids,
        rng.choice([ids, "int64"]),
        rng.choice(["int32", "int64", "float32", "float64", "bool_", "uint64", "string"]),
    ]
    names = rng.choice([["source", "target", "weight"], ["Src", "DST", "w"], ["a", "b", "c"], ["x", "to", "from"]])
    columns = []
    for kind, values in zip(kinds, zip(*edges, strict=True) if edges else [[], [], []], strict=True):
        listed = [str(v) if kind == "string" else bool(v) if kind == "bool_" else v for v in values]
        if listed and rng.random() < 0.1:
            odd = [None, *([float("nan"), float("inf"), -1.0] if kind.startswith("fl") else [])]
            odd += [-1] * (kind in ("int32", "int64")) + [(1 << 64) - 1, 1 << 63] * (kind == "uint64")
            listed[rng.randrange(len(listed))] = rng.choice(odd)
        columns.append(pyarrow.array(listed, getattr(pyarrow, kind)()))
    count = rng.choice([2, 3, 3, 4, 1])
    names, columns = [*names, rng.choice(["d", "weight", "value", "a"])][:count], [*columns, columns[0]][:count]
    said = rng.choice([None, None, {"dgraph.directed": rng.choice("012")}])
    table = pyarrow.Table.from_arrays(columns, names=names).replace_schema_metadata(said)
    file = io.BytesIO()
    if as_parquet:
        rows = rng.choice([1, 2, 100])
        parquet.write_table(table, file, row_group_size=rows, compression=rng.choice(["none", "snappy", "gzip"]))
    else:
        with pyarrow.ipc.new_file(file, table.schema) as out:
            out.write_table(table, max_chunksize=rng.choice([1, 2, 100]))
    return file.getvalue()


def ldbc(rng: random.Random) -> dict[str, bytes]:
    """Return LDBC files: edges, and usually vertices and properties."""
    edges = edges_of(rng)
    weighted = rng.random() < 0.5
    files = {"a.e": "".join(f"{u} {v} {w}.5\n" if weighted else f"{u} {v}\n" for u, v, w in edges)}
    if rng.random() < 0.8:
        files["a.v"] = "".join(f"{v}\n" for v in range(6))
    if rng.random() < 0.7:
        says = ["vertex-file = a.v", "edge-file = a.e", "meta.vertices = 6", f"meta.edges = {len(edges)}"]
        says += [f"directed = {rng.choice(['true', 'false'])}", f"edge-properties.names = {'weight' * weighted}"]
        says += ["bfs.source-vertex = 1", "pr.damping-factor = 0.85", "pr.num-iterations = 14"]
        kept = [f"graph.a.{line}\n" for line in says if rng.random() < 0.8]
        files["a.properties"] = "# x\n" + "".join(kept)
    return {name: text.encode() for name, text in files.items()}


def broken(content: bytes, rng: random.Random, pieces: list[bytes]) -> bytes:
    """Return the content with pieces inserted, removed, replaced, doubled, truncated, or bits flipped."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        position = rng.randrange(len(content) + 1)
        end = min(len(content), position + rng.choice([0, 1, 1, 2, 8]))
        kind = rng.randrange(6)
        if kind == 0:
            content = content[:position] + rng.choice(pieces) + content[position:]
        elif kind == 1:
            content = content[:position] + content[end:]
        elif kind == 2:
            content = content[:position] + rng.choice(pieces) + content[end:]
        elif kind == 3:
            content = content[:position]
        elif kind == 4:
            content = content[:position] + content[position:end] + content[position:]
        elif content:
            position = rng.randrange(len(content))
            content = (
                content[:position] + bytes([content[position] ^ (1 << rng.randrange(8))]) + content[position + 1 :]
            )
    return content


def packed_as(kind: str, text: bytes) -> bytes:
    """Return the text compressed; text of odd length in two concatenated streams."""
    pack = (lambda part: gzip.compress(part, 1, mtime=0)) if kind == ".gz" else zstd().compress
    middle = len(text) // 2
    return pack(text[:middle]) + pack(text[middle:]) if len(text) % 2 else pack(text)
