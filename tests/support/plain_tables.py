"""Readers of the other formats without dgraph: compressed text, LDBC, scipy's .npz, Arrow tables.

They return the same as those of ``plain_readers.py``.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
import zlib

import numpy as np
from plain_readers import (
    RefusedError,
    a_weight,
    an_id,
    finite,
    not_most,
    proportionate,
    rows_of,
    text_lines,
    words_of,
)

GALOIS = (b"\1" + bytes(7), b"\2" + bytes(7))
MAGIC = (b"BZh", b"\xfd7zXZ", b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff", *GALOIS)
ZSTD = b"\x28\xb5\x2f\xfd"


def zstd():
    """Return the module ``compression.zstd``, or its backport for older Pythons."""
    try:
        from compression import zstd
    except ImportError:
        from backports import zstd
    return zstd


def text_of(content: bytes) -> bytes:
    """Return the text of a file, which may be compressed."""
    try:
        if content.startswith(b"\x1f\x8b"):
            content = unzipped(content)
        elif content.startswith(ZSTD):
            content = zstd().decompress(content)
    except Exception as wrong:
        raise RefusedError from wrong
    if content.startswith(MAGIC):
        raise RefusedError
    return content


def unzipped(content: bytes) -> bytes:
    """Return the text of all members; Python's gzip takes headers of reserved flags, which RFC 1952 refuses."""
    parts = []
    while content:
        member = zlib.decompressobj(wbits=31)
        parts.append(member.decompress(content))
        if not member.eof:
            raise EOFError
        content = member.unused_data.lstrip(b"\0")
    return b"".join(parts)


def plain_ldbc(files: dict[str, bytes], name: str, passed=None):
    own, ending = re.fullmatch(r"(.*?)(\.gz|\.zst)?", name, re.DOTALL).groups(default="")
    if own == "a.properties" not in files:
        raise RefusedError
    says = properties(files.get("a.properties", b""))
    listed = {key: says[key] for key, _ in PARTS if key in says}
    kinds = {key: re.sub(r"(\.gz|\.zst)$", "", value).rpartition(".")[2] for key, value in listed.items()}
    if kinds.get("edge-file") == "v" or kinds.get("vertex-file") == "e":
        raise RefusedError
    if listed and len({says.get(key, default) for key, default in PARTS}) == 1:
        raise RefusedError
    edges_in, vertices_in = (stored(files, says.get(key, default), ending) for key, default in PARTS)
    if edges_in is None or (vertices_in is None and own != "a.e"):
        raise RefusedError
    lines = list(text_lines(text_of(edges_in), "#"))
    weighted = says.get("weighted", len(words_of(lines[0])) > 2 if lines else False)
    edges = rows_of(lines, 3 if weighted else 2, passed=passed)
    not_most(passed, edges)
    counts = {"edges": len(edges) + len(passed or ())}
    vertices = None
    if vertices_in is not None:
        rest = None if passed is None else []
        vertices = vertex_list(text_of(vertices_in), rest)
        not_most(rest, vertices)
        if len(set(vertices)) < len(vertices) or {end for u, v, _ in edges for end in (u, v)} - set(vertices):
            raise RefusedError
        counts["vertices"] = len(vertices) + len(rest or ())
        if passed is not None:
            passed += rest
    if any(says.get(what, count) != count for what, count in counts.items()) or not (edges or vertices):
        raise RefusedError
    return says.get("directed", True), vertices, edges


PARTS = (("edge-file", "a.e"), ("vertex-file", "a.v"))


def stored(files: dict[str, bytes], name: str, ending: str) -> bytes | None:
    """Return the content of a file or of its compressed form."""
    return next((files[name + suffix] for suffix in ("", ending, ".gz", ".zst") if name + suffix in files), None)


def vertex_list(content: bytes, passed=None) -> list[int]:
    if not content.removeprefix(b"\xef\xbb\xbf"):
        raise RefusedError
    vertices = []
    for line in text_lines(content, "#"):
        try:
            if "\r" in line:
                raise RefusedError
            vertices.append(an_id(words_of(line)[0]))
        except RefusedError:
            if passed is None:
                raise
            passed.append(line)
    return vertices


def properties(content: bytes) -> dict:
    says: dict = {}
    for line in re.split("\r\n|\r|\n", content.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")):
        line = line.strip(" \t\f")
        if not line or line[0] in "#!":
            continue
        key, equals, value = (part.strip(" \t\f") for part in line.partition("="))
        if not equals:
            raise RefusedError
        last = key.rpartition(".")[2] if "." in key else ""
        if key.endswith((".bfs.source-vertex", ".sssp.source-vertex", ".pr.num-iterations")):
            an_id(value)
        elif key.endswith(".pr.damping-factor"):
            finite(a_weight(value))
        elif last in ("vertex-file", "edge-file"):
            says[last] = value
        elif key.endswith((".meta.vertices", ".meta.edges")):
            says[last] = an_id(value)
        elif last == "directed":
            if value.lower() not in ("true", "false"):
                raise RefusedError
            says[last] = value.lower() == "true"
        elif key.endswith(".edge-properties.names"):
            names = [name for name in re.split("[, \t]+", value) if name]
            if len(names) > 1:
                raise RefusedError
            says["weighted"] = bool(names)
    return says


def plain_npz(content: bytes):
    """Read a sparse matrix with ``zipfile`` and ``numpy.lib.format``, member by member."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            form, shape = (member(archive, name) for name in ("format", "shape"))
            form = form.reshape(1) if form.ndim == 0 else form
            kind = form[0].decode() if isinstance(form[0], bytes) else str(form[0])
            if len(form) != 1 or kind not in ("csr", "csc", "coo"):
                raise RefusedError
            names = ("data", "row", "col") if kind == "coo" else ("data", "indptr", "indices")
            data, major, minor = (member(archive, name) for name in names)
    except Exception as wrong:
        raise RefusedError from wrong
    if {column.ndim for column in (form, shape, data, major, minor)} != {1} or data.dtype.kind not in "biuf":
        raise RefusedError
    if any(column.dtype.kind not in "iu" for column in (shape, major, minor)) or data.dtype.itemsize > 8:
        raise RefusedError
    size, weights, ends, starts = (column.tolist() for column in (shape, data, minor, major))
    if len(size) != 2 or size[0] != size[1] or len(weights) != len(ends) or any(map(math.isnan, weights)):
        raise RefusedError
    n = size[0]
    if kind != "coo":
        if len(starts) != n + 1 or starts[0] != 0 or starts != sorted(starts) or starts[-1] != len(ends):
            raise RefusedError
        starts = [u for u in range(n) for _ in range(starts[u + 1] - starts[u])]
    if len(starts) != len(ends) or any(not 0 <= end < n for end in starts + ends):
        raise RefusedError
    if n < 0:
        raise RefusedError
    if any(isinstance(w, int) and w >= 1 << 63 for w in weights):
        weights = [float(w) for w in weights]
    weights = [1] * len(weights) if data.dtype == bool else weights
    proportionate(n, len(ends))
    pairs = zip(ends, starts, weights, strict=True) if kind == "csc" else zip(starts, ends, weights, strict=True)
    return True, range(n), list(pairs)


def member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Return an array of the archive; refuse bytes after it."""
    content = archive.read(f"{name}.npy")
    if len(content) != archive.getinfo(f"{name}.npy").file_size:
        raise RefusedError
    file = io.BytesIO(content)
    array = np.lib.format.read_array(file, allow_pickle=False)
    if file.read(1):
        raise RefusedError
    return array


SOURCES = ("source", "src", "from", "u")
TARGETS = ("target", "destination", "dst", "to", "v")


def plain_table(content: bytes, suffix: str):
    """Read the whole table at once with pyarrow."""
    import pyarrow
    from pyarrow import parquet

    try:
        if suffix == ".parquet":
            file = parquet.ParquetFile(io.BytesIO(content))
            schema = file.schema_arrow
            table = file.read(columns=chosen(schema.names), use_threads=False)
        else:
            whole = pyarrow.ipc.open_file(pyarrow.py_buffer(content)).read_all()
            schema = whole.schema
            table = whole.select(chosen(schema.names))
        table.validate(full=True)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as wrong:
        raise RefusedError from wrong
    if suffix == ".parquet" and table.num_rows != file.metadata.num_rows:
        raise RefusedError
    names = chosen(schema.names)
    columns = [table.column(name) for name in names]
    kinds = pyarrow.types
    named = all(kinds.is_string(column.type) for column in columns[:2])
    for column_number, column in enumerate(columns[2:] if named else columns, 2 if named else 0):
        number = kinds.is_integer(column.type)
        if column_number == 2:
            number = number or kinds.is_floating(column.type) or kinds.is_boolean(column.type)
        if not number:
            raise RefusedError
    listed = [column.to_pylist() for column in columns]
    if any(value is None for column in listed for value in column) or not listed[0]:
        raise RefusedError
    names = sorted({end.encode() for column in listed[:2] for end in column}) if named else None
    if names:
        if any(not 0 < len(name) < 256 or b"\0" in name for name in names):
            raise RefusedError
        listed[:2] = [[names.index(end.encode()) for end in column] for column in listed[:2]]
    if any(not 0 <= end < 1 << 63 for column in listed[:2] for end in column):
        raise RefusedError
    weights = listed[2] if len(listed) > 2 else [1] * len(listed[0])
    if any(math.isnan(w) for w in weights):
        raise RefusedError
    if any(isinstance(w, int) and w >= 1 << 63 for w in weights):
        weights = [float(w) for w in weights]
    noted = (schema.metadata or {}).get(b"dgraph.directed")
    return noted != b"0", names, list(zip(listed[0], listed[1], map(number_of, weights), strict=True))


def number_of(weight):
    return int(weight) if isinstance(weight, bool) else weight


def chosen(names: list[str]) -> list[str]:
    if len(set(names)) != len(names):
        raise RefusedError
    small = {name.lower(): name for name in names}
    ends = [[small[name] for name in kind if name in small][:1] for kind in (SOURCES, TARGETS)]
    weights = [name for name in names if name.lower() == "weight"]
    if len(weights) > 1:
        raise RefusedError
    if ends[0] and ends[1]:
        return [*ends[0], *ends[1], *weights]
    others = [name for name in names if name not in weights]
    if len(names) not in (2, 3) or len(others) < 2:
        raise RefusedError
    return [*others[:2], *weights]
