"""Write graphs as lines of text: edge lists, Matrix Market, DIMACS. Every rank writes the lines of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dgraph._support.compiled import njit
from dgraph._support.threads import in_order
from dgraph.comm.rank_threads import rank_threads
from dgraph.graph.block import EdgeBlock
from dgraph.graph.ids import ConsecutiveIds
from dgraph.result.files.shared_file import SharedFile
from partitioning.arrays import arcs

WIDTH = 64
"""Largest size in bytes of two ids with their tag and separators."""


@dataclass(frozen=True)
class Lines:
    """Text format of a block's arcs.

    Attributes:
        base: number of the first vertex.
        once: True if an undirected edge is one line, that of the arc to its smaller end.
        weights: True to write weights, 1 if the graph has none.
        tag: prefix of every line.
        separator: separator of columns.
    """

    base: int
    once: bool
    weights: bool
    tag: bytes = b""
    separator: bytes = b" "

    def blocks(self, block: EdgeBlock, threads: int) -> Iterator[np.ndarray]:
        """Yield the lines of this rank's arcs, by gid, in blocks that threads format."""

        def lines(first: int) -> np.ndarray:
            part = slice(first, min(first + arcs.CHUNK, block.targets.size))
            low, high, counts = arcs.rows(block, part.start, part.stop)
            gids = np.arange(block.first + low, block.first + high)
            weights = None if block.weights is None else block.weights[part]
            return self.text(gids, counts, block.targets[part], weights, self.once and not block.directed)

        return in_order(lines, range(0, block.targets.size, arcs.CHUNK), threads)

    def text(
        self, src: np.ndarray, counts: np.ndarray, dst: np.ndarray, weights: np.ndarray | None, once: bool = False
    ) -> np.ndarray:
        """Return the lines of arcs, uint8.

        Args:
            src: sources.
            counts: number of arcs of each source.
            dst: targets, grouped by source.
            weights: in the order of ``dst``; None: there are none.
            once: leave out arcs to a larger target.
        """
        numbers, words = np.empty(0, np.int64), np.empty((0, 0), np.uint8)
        if self.weights and (weights is None or weights.dtype.kind == "i"):
            numbers = np.ones(dst.size, np.int64) if weights is None else weights.astype(np.int64, copy=False)
        elif self.weights:
            # float32 is written as float64, too: the shortest digits that read back equal.
            digits = weights.astype(np.float64).astype("S32")  # type: ignore[union-attr]
            words = digits.view(np.uint8).reshape(dst.size, 32)
        letters = np.empty(dst.size * (WIDTH + 32), np.uint8)
        tag, separator = np.frombuffer(self.tag, np.uint8), self.separator[0]
        return letters[: _write(src, counts, dst, numbers, words, tag, separator, self.base, once, letters)]


def write_blocks(file: SharedFile, begin: int, lines: Lines, block: EdgeBlock) -> int:
    """Write all ranks' lines from byte ``begin`` of the file on; return their bytes; collective."""
    comm, threads, size = file.comm, rank_threads(file.comm), 0

    def measured() -> Iterator[np.ndarray]:
        nonlocal size
        for text in lines.blocks(block, threads):
            size += len(text)
            yield text

    if comm.size == 1:
        file.write(begin, measured())
        return size
    with comm.together():
        for _ in measured():
            pass
    file.write(begin + comm.before(size), lines.blocks(block, threads))
    return comm.total(size)


def count_lines(block: EdgeBlock, once: bool) -> int:
    """Return the number of lines of the whole graph."""
    return block.m if once and not block.directed else block.arcs


def save_el(file: SharedFile, block: EdgeBlock) -> None:
    """Write GAPBS's ``SOURCE TARGET`` lines, ids from 0; an undirected edge once."""
    write_blocks(file, 0, Lines(0, True, False), block)


def save_wel(file: SharedFile, block: EdgeBlock) -> None:
    """Write GAPBS's ``SOURCE TARGET WEIGHT`` lines, ids from 0; an undirected edge once."""
    write_blocks(file, 0, Lines(0, True, True), block)


def save_txt(file: SharedFile, block: EdgeBlock) -> None:
    """Write SNAP's lines: original ids, separated by tabs, and weights if there are any; an undirected edge once."""
    write_originals(file, block, b"\t")


def save_csv(file: SharedFile, block: EdgeBlock) -> None:
    """Write original ids and optional weights, separated by commas, below a header; an undirected edge once."""
    head = b"source,target,weight\n" if block.weights is not None else b"source,target\n"
    file.write(0, [head] if file.comm.rank == 0 else [])
    write_originals(file, block, b",", len(head))


def write_originals(file: SharedFile, block: EdgeBlock, separator: bytes, begin: int = 0) -> None:
    """Write lines of original ids; collective."""
    ids, comm = block.ids, file.comm
    lines = Lines(ids.base if isinstance(ids, ConsecutiveIds) else 0, True, block.weights is not None, b"", separator)
    if isinstance(ids, ConsecutiveIds):
        write_blocks(file, begin, lines, block)
        return
    rounds, begin_here = arcs.rounds(block, comm), begin
    for number in range(rounds):
        start, stop = arcs.span(block, number)
        src, dst = arcs.ends(block, start, stop)
        weights = None if block.weights is None else block.weights[start:stop]
        if not block.directed:
            kept = np.flatnonzero(dst <= src)
            src, dst, weights = src[kept], dst[kept], None if weights is None else weights[kept]
        one_each = np.ones(src.size, np.int64)
        text = lines.text(ids.to_original(src, comm), one_each, ids.to_original(dst, comm), weights)
        file.write(begin_here + comm.before(len(text)), [text])
        begin_here += comm.total(len(text))


def save_mtx(file: SharedFile, block: EdgeBlock) -> None:
    """Write Matrix Market coordinates from 1; for an undirected graph the lower triangle, as ``symmetric``."""
    kind = "pattern" if block.weights is None else "integer" if block.weights.dtype.kind == "i" else "real"
    shape = "general" if block.directed else "symmetric"
    head = f"%%MatrixMarket matrix coordinate {kind} {shape}\n{block.n} {block.n} {count_lines(block, True)}\n".encode()
    file.write(0, [head] if file.comm.rank == 0 else [])
    write_blocks(file, len(head), Lines(1, True, block.weights is not None), block)


def save_dimacs(file: SharedFile, block: EdgeBlock) -> None:
    """Write DIMACS's ``a SOURCE TARGET WEIGHT`` lines, ids from 1; an undirected edge as both of its arcs."""
    head = f"p sp {block.n} {block.arcs}\n".encode()
    file.write(0, [head] if file.comm.rank == 0 else [])
    write_blocks(file, len(head), Lines(1, False, True, b"a "), block)


@njit(cache=True, nogil=True)
def _write(src, counts, dst, numbers, words, tag, separator, base, once, letters):
    position, i = 0, -1
    for row in range(src.size):
        begin = end = position  # of the tag, the source and a separator, once they are written for the row
        for _ in range(counts[row]):
            i += 1
            if once and np.int64(dst[i]) > np.int64(src[row]):
                continue
            if end == begin:
                for byte in tag:
                    letters[position] = byte
                    position += 1
                position = _decimal(np.int64(src[row]) + base, letters, position)
                letters[position] = separator
                position += 1
                end = position
            else:
                for place in range(begin, end):
                    letters[position] = letters[place]
                    position += 1
            position = _decimal(np.int64(dst[i]) + base, letters, position)
            if numbers.size:
                letters[position] = separator
                position = _decimal(numbers[i], letters, position + 1)
            if words.size:
                letters[position] = separator
                position += 1
                for byte in words[i]:
                    if byte == 0:
                        break
                    letters[position] = byte
                    position += 1
            letters[position] = 10
            position += 1
    return position


@njit(cache=True)
def _decimal(value, letters, position):
    """Write an integer; return the position after it."""
    rest = np.uint64(value)
    if value < 0:
        letters[position] = 45
        position += 1
        rest = np.uint64(0) - rest
    end, left = position + 1, rest // np.uint64(10)
    while left > 0:
        end += 1
        left //= np.uint64(10)
    for place in range(end - 1, position - 1, -1):
        tens = rest // np.uint64(10)
        letters[place] = np.uint8(48) + np.uint8(rest - tens * np.uint64(10))
        rest = tens
    return end
