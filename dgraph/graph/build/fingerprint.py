"""A graph's fingerprint: 64 bits, independent of the ranks, the policy and the order in which arcs were read.

It is a sum of per-arc hashes, so each rank adds up its own arcs. Checkpoints and stores compare it.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from dgraph._support.compiled import njit, plain
from dgraph.comm import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.graph.block import EdgeBlock
from dgraph.graph.generators.counter import mix
from dgraph.graph.local import LocalGraph
from dgraph.graph.rows import row_shares
from partitioning.arrays.lazy_numba import machine_code

UNIT = np.ones(1, np.uint64)
"""Bits of every weight of an unweighted graph: equal to a graph whose edges weigh the integer 1."""

MANY = 1 << 24
"""Arcs from which machine code hashes them: NumPy takes 20 ns for one, and a thread's piece of them may be small."""

CACHED = 1 << 14
"""Arcs that NumPy hashes at a time: its arrays fit the cache of a core."""


def fingerprint(block: EdgeBlock, comm: Comm) -> str:
    """Return 16 hexadecimal digits over the whole graph's arcs by gid, weights, n and direction; collective.

    Integer weights hash as int64 and floats as float64, so that a wider dtype does not change the fingerprint.
    """
    if block.fingerprint is not None:
        return block.fingerprint
    return text(block.n, block.directed, block_sum(block, comm))


def block_sum(block: EdgeBlock, comm: Comm) -> int:
    """Return the sum (mod 2**64) of a hash over all arcs; collective."""
    return _summed(hashed(block, comm, both=False)[0], comm)


def local_fingerprint(local: LocalGraph, comm: Comm) -> str:
    """Return the fingerprint of a partitioned graph, equal to that of its :class:`EdgeBlock`; collective."""
    return text(local.n, local.directed, local_sum(local, local.gids, comm))


def local_sum(local: LocalGraph, gids: np.ndarray, comm: Comm) -> int:
    """Return the sum of :func:`block_sum`, of a partitioned graph whose lids have these gids; collective."""
    csr, sums = local.out, []

    def add(rows: slice) -> None:
        offsets, neighbours, bits = _rows_here(csr.offsets, csr.neighbours, csr.weights, rows)
        sums.append(_sum_by_lid(offsets, neighbours, bits, gids, rows.start))

    row_shares(add, csr.offsets, rank_threads(comm))
    return _summed(np.array(sums, np.uint64).sum(dtype=np.uint64), comm)


def hashed(block: EdgeBlock, comm: Comm, both: bool) -> np.ndarray:
    """Return the sums (mod 2**64) of a hash over this rank's arcs, and over their reverses, by threads: uint64 (2,).

    Unless ``both``, the second is 0, which takes half the time.
    """
    sums: list[tuple] = []  # appending is atomic

    def add(rows: slice) -> None:
        arrays = _rows_here(block.offsets, block.targets, block.weights, rows)
        with machine_code(block.targets.size > MANY):
            sums.append(arc_sums(*arrays, block.first + rows.start, both))

    row_shares(add, block.offsets, rank_threads(comm))
    return np.array(sums, np.uint64).sum(axis=0, dtype=np.uint64)


def _rows_here(
    offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, rows: slice
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the offsets from 0, the targets and the bits of the weights of some rows."""
    here = offsets[rows.start : rows.stop + 1]
    arcs = slice(int(here[0]), int(here[-1]))
    return here - here[0], targets[arcs], weight_bits(None if weights is None else weights[arcs])


def changed_sum(before: int, gone: tuple, came: tuple, comm: Comm) -> int:
    """Return the sum of :func:`block_sum` after arcs were removed and added; collective.

    Args:
        before: the sum before.
        gone: sources, targets and weights (or None) of this rank's removed arcs.
        came: those of its new ones.
        comm: communicator of the ranks.
    """
    minus, plus = (_summed(_sum_of_pairs(src, dst, weight_bits(w)), comm) for src, dst, w in (gone, came))
    return (before - minus + plus) % 2**64


def _summed(there: np.uint64, comm: Comm) -> int:
    return int(comm.allgather(np.array([there], np.uint64)).sum(dtype=np.uint64))


def digest(n: int, directed: bool, there: np.uint64, comm: Comm) -> str:
    """Return the fingerprint from this rank's sum over its arcs; collective."""
    return text(n, directed, _summed(there, comm))


def text(n: int, directed: bool, arcs: int) -> str:
    """Return the fingerprint from the sum over all arcs."""
    return blake2b(f"{n} {directed} {arcs}".encode(), digest_size=8).hexdigest()


def weight_bits(weights: np.ndarray | None) -> np.ndarray:
    """Return weights as uint64, equal bits for equal values: shape (arcs,), or (1,) if every arc weighs 1."""
    if weights is None:
        return UNIT
    if weights.dtype.kind == "i":
        return weights.astype(np.int64, copy=False).view(np.uint64)
    return np.add(weights, 0.0, dtype=np.float64).view(np.uint64)  # + 0.0: -0.0 is 0.0


def _few_arc_sums(offsets, targets, bits, first, both):
    sources, sums = np.repeat(np.arange(first, first + offsets.size - 1), np.diff(offsets)), np.zeros(2, np.uint64)
    for begin in range(0, sources.size, CACHED):
        piece = slice(begin + int(offsets[0]), min(begin + CACHED, sources.size) + int(offsets[0]))
        u, v = sources[begin : begin + CACHED].astype(np.uint64), targets[piece].astype(np.uint64)
        weights = bits[piece] if bits.size > 1 else bits
        sums[:1] += plain(_hash)(u, v, weights).sum(dtype=np.uint64)
        if both:
            sums[1:] += plain(_hash)(v, u, weights).sum(dtype=np.uint64)
    return sums[0], sums[1]


@njit(cache=True, nogil=True, few=_few_arc_sums, most=1 << 20)
def arc_sums(offsets, targets, bits, first, both):
    """Return the sums (mod 2**64) of a hash over all arcs here, and with ``both`` over their reverses, else 0.

    ``bits``: as :func:`weight_bits` returns them.
    """
    there, back = np.uint64(0), np.uint64(0)
    for row in range(offsets.size - 1):
        u = np.uint64(row + first)
        for i in range(offsets[row], offsets[row + 1]):
            v = np.uint64(targets[i])
            weight = bits[i] if bits.size > 1 else bits[0]
            there += _hash(u, v, weight)
            if both:
                back += _hash(v, u, weight)
    return there, back


@njit(cache=True)
def pair_sums(sources, targets, bits):
    """Return the sums that :func:`arc_sums` returns, of arcs in any order but without loops."""
    there, back = np.uint64(0), np.uint64(0)
    for i in range(sources.size):
        u, v = np.uint64(sources[i]), np.uint64(targets[i])
        if u != v:
            weight = bits[i] if bits.size > 1 else bits[0]
            there += _hash(u, v, weight)
            back += _hash(v, u, weight)
    return there, back


@njit(cache=True)
def _sum_of_pairs(sources, targets, bits):
    there = np.uint64(0)
    for i in range(sources.size):
        there += _hash(np.uint64(sources[i]), np.uint64(targets[i]), bits[i] if bits.size == sources.size else bits[0])
    return there


@njit(cache=True, nogil=True)
def _sum_by_lid(offsets, neighbours, bits, gids, first):
    there = np.uint64(0)
    for row in range(offsets.size - 1):
        for i in range(offsets[row], offsets[row + 1]):
            weight = bits[i] if bits.size > 1 else bits[0]
            there += _hash(np.uint64(gids[row + first]), np.uint64(gids[neighbours[i]]), weight)
    return there


@njit(no_cpython_wrapper=True, forceinline=True)
def _hash(u, v, weight):
    start = np.uint64(0x9E3779B97F4A7C15)  # mix(0) is 0: without it arc 0 → 0 of weight 0 would add nothing
    return mix(mix(mix(start + u) + v) + weight)
