"""Simple writers of file formats, written from the formats' descriptions: references for the readers."""

import struct

import numpy as np


def rows(n, edges):
    """Return each vertex's ``(target, weight)`` in the order listed."""
    out = [[] for _ in range(n)]
    for u, v, w in edges:
        out[u].append((v, w))
    return out


def both_ways(edges):
    """Return both arcs of every edge; a loop has one."""
    return [*edges, *((v, u, w) for u, v, w in edges if u != v)]


def gapbs(n, edges, directed, weighted) -> bytes:
    """Return a .sg or .wsg file. Undirected: ``edges`` has both arcs of every edge."""
    out = struct.pack("<Bqq", directed, len(edges), n)
    for arcs in [edges, [(v, u, w) for u, v, w in edges]][: 1 + directed]:
        listed = rows(n, arcs)
        end = 0
        out += struct.pack("<q", 0)
        for row in listed:
            end += len(row)
            out += struct.pack("<q", end)
        for row in listed:
            for v, w in row:
                out += struct.pack("<ii", v, w) if weighted else struct.pack("<i", v)
    return out


def galois(n, edges, version, data="", pad=True) -> bytes:
    """Return a binary .gr file; ``data`` is a struct code of edge data, ``pad`` pads odd arc counts in version 2."""
    listed = rows(n, edges)
    out = struct.pack("<QQQQ", version, struct.calcsize(data), n, len(edges))
    end = 0
    for row in listed:
        end += len(row)
        out += struct.pack("<Q", end)
    for row in listed:
        for v, _ in row:
            out += struct.pack("<I" if version == 1 else "<Q", v)
    if len(edges) % 2 and (version == 1 or pad):
        out += bytes(4 if version == 1 else 8)
    if data:
        for row in listed:
            for _, w in row:
                out += struct.pack("<" + data, w)
    return out


def metis(n, edges, fmt="", ncon=0) -> str:
    """Return a .graph file of an undirected graph, each edge once in ``edges``; sizes and vertex weights are all 9."""
    form = fmt.zfill(3)
    before = (form[0] == "1") + (ncon or form[1] == "1")
    listed = rows(n, both_ways(edges))
    lines = ["% a comment", " ".join([str(n), str(len(edges)), *[fmt] * bool(fmt), *[str(ncon)] * bool(ncon)])]
    for row in listed:
        words = [9] * before
        for v, w in row:
            words += [v + 1, w] if form[2] == "1" else [v + 1]
        lines.append(" ".join(map(str, words)))
    return "\n".join(lines) + "\n"


def packed(edges) -> bytes:
    """Return Graph500's 12-byte edges."""
    out = b""
    for u, v, _ in edges:
        out += struct.pack("<IIhh", u & 0xFFFFFFFF, v & 0xFFFFFFFF, u >> 32, v >> 32)
    return out


def wide(edges) -> bytes:
    """Return Graph500's 16-byte edges."""
    return b"".join(struct.pack("<qq", u, v) for u, v, _ in edges)


def random_edges(n, m, seed=1, top=100):
    """Return distinct edges, loops among them, with weights of at least 1."""
    rng = np.random.default_rng(seed)
    pairs = sorted({(int(u), int(v)) for u, v in rng.integers(0, n, (m, 2))})
    return [(u, v, int(w)) for (u, v), w in zip(pairs, rng.integers(1, top, len(pairs)), strict=True)]
