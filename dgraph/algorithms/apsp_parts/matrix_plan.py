"""Memory of all pairs, planned before anything is allocated, and the choice of the method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.algorithms.apsp_parts.array_distances import PAIRS
from dgraph.algorithms.apsp_parts.row_searches import strips_of
from dgraph.algorithms.apsp_parts.separators import parts_of
from dgraph.algorithms.many_sources.lane_searches import BYTES
from dgraph.engine.rounds.passes import host_share, lacking, refuse_unless_fits
from dgraph.errors import UsageError, option
from dgraph.graph.halo import NumberedRows

SEARCHED = 30e-9
"""Seconds a thread takes for an arc, or a vertex of a heap, of one search."""

IN_LANES = 6e-9
"""The same of searches from several vertices at a time."""

SPARSE, FEW = 8, 1024
"""Most arcs a vertex, and fewest vertices, of graphs that are partitioned to look for separators."""


@dataclass(frozen=True)
class MatrixPlan:
    """Work of one rank.

    Attributes:
        variant: method.
        need: bytes of host memory on this rank.
        in_file: True if the matrix lies in a file.
        reason: of the choice.
        search: method of johnson's searches.
        parts: of separators: the part of each vertex, -1 in the separator.
    """

    variant: str
    need: int
    in_file: bool
    reason: str
    search: str
    parts: np.ndarray | None = None


def placed(kernel: Any, products: str, variant: str, rows: NumberedRows, itemsize: int) -> tuple[Any, str]:
    """Return the kernel for where the matrix lies, and why: host memory if it exceeds the GPUs'; collective.

    Args:
        kernel: min-plus products on this rank.
        products: "auto", "resident" (in GPU memory), "streamed" or "hybrid".
        variant: method.
        rows: the graph.
        itemsize: bytes of a distance.

    Raises:
        UsageError: products are asked for that need a GPU.
        OutOfMemory: a GPU has not the memory of a streamed product; on every rank alike.
    """
    if products != "auto" and kernel.on_host:
        gpus = option("backend", "cuda")
        raise UsageError(f"products = {products!r} runs on GPUs alone; leave it out, or give {gpus}")
    if kernel.on_host or variant == "johnson" or products == "resident":
        return kernel, ""
    n, own = rows.n, rows.stop - rows.first
    reason = "it was asked for"
    if products == "auto":
        need = own * n * itemsize + beside_matrix("blocked", n, 0, kernel.most, itemsize, 1)
        if lacking(rows.comm, need, kernel.free(need)) is None:
            return kernel, ""
        products, reason = "streamed", "the matrix exceeds the memory of a GPU"
    streamed = kernel.streamed(hybrid=products == "hybrid")
    need = streamed.bytes_there(own, n, min(streamed.preferred, n), itemsize)
    advice = f"use more GPUs, or {option('backend', 'cpu')}"
    _refuse(rows.comm, n, itemsize, need, kernel.free(need), "of its GPU beside the matrix on its host", advice)
    return streamed, f"{products}: {reason}"


def planned(
    rows: NumberedRows, variant: str, itemsize: int, block: int, given_parts: int | None, matrix_file: str | None,
    kernel: Any, threads: int, beside_pair: int = 0, search: str = "heap", by_lanes: bool = False,
) -> MatrixPlan:  # fmt: skip
    """Choose a method that fits; collective, equal on all ranks but for ``need``.

    Args:
        rows: the graph.
        variant: method; "auto" chooses.
        itemsize: bytes of a distance.
        block: pivots of a block.
        given_parts: parts of separators; None: by size.
        matrix_file: file for a matrix that exceeds the memory; None: there is none.
        kernel: min-plus products on this rank.
        threads: threads of this rank.
        beside_pair: bytes of host memory that a pair takes beside its distance.
        search: of johnson; all but "heap" run on GPUs.
        by_lanes: True if "auto" may search from several vertices at a time.

    Raises:
        OutOfMemory: on every rank alike, with the bytes needed and free.
    """
    comm, n = rows.comm, rows.n
    arcs = comm.total(len(rows.sources))
    reason, parts = "it was asked for", None
    on_host, chosen, threads = kernel.on_host, variant == "auto", max(threads, 1)
    if variant == "auto":
        workers = comm.total(threads)
        added = kernel.added[itemsize] / (workers if on_host else comm.size)
        search = "lanes" if by_lanes and on_host else search
        relaxed = IN_LANES if search == "lanes" else SEARCHED
        seconds = {"johnson": n * (n + arcs) * relaxed / workers, "blocked": float(n) ** 3 * added}
        if on_host and n >= FEW and arcs <= SPARSE * n:
            parts = parts_of(rows, None)
            seconds["separators"] = _additions(parts) * added
        variant = min(seconds, key=lambda name: seconds[name])
        reason = "estimates: " + ", ".join(f"{name} {about:.2g} s" for name, about in seconds.items())
    elif variant == "separators":
        parts = parts_of(rows, given_parts)
    matrix = (rows.stop - rows.first) * n * itemsize
    beside = beside_matrix(variant, n, arcs, block, itemsize, threads, search)
    if not on_host and variant != "johnson":
        free_there = kernel.free(matrix + beside)
        advice = f"use more GPUs, or {option('backend', 'cpu')}"
        _refuse(comm, n, itemsize, matrix + beside, free_there, "of its GPU", advice)
    if search not in ("heap", "lanes"):
        strip = -(-(rows.stop - rows.first) // strips_of(n, arcs))
        there = kernel.bytes_of_searches(strip, n, arcs, itemsize)
        advice = f"use {option('search', 'heap')}, or more GPUs"
        _refuse(comm, n, itemsize, there, kernel.free(there), "of its GPU", advice)
    allowed = host_share(comm)
    matrix += (rows.stop - rows.first) * n * beside_pair
    fits = lacking(comm, matrix + beside, allowed) is None
    if not fits and chosen and on_host:
        variant, reason = "johnson", "memory is short, and searches write each row once"
        beside = beside_matrix(variant, n, arcs, block, itemsize, threads, search)
        fits = lacking(comm, matrix + beside, allowed) is None
    if fits:
        return MatrixPlan(variant, matrix + beside, False, reason, search, parts if variant == "separators" else None)
    narrower = f"{option('dtype', 'float32')}, " if itemsize == 8 else ""
    advice = f"use more hosts, {narrower}or an .npy file for the matrix (--output FILE.npy, matrix_file=)"
    if matrix_file is None or not on_host:
        _refuse(comm, n, itemsize, matrix + beside, allowed, "of its host", advice)
    _refuse(comm, n, itemsize, beside, allowed, "of its host beside the file", "use more hosts, or another variant")
    where = f"{reason}; the matrix exceeds the free memory and lies in {matrix_file}"
    return MatrixPlan(variant, beside, True, where, search, parts if variant == "separators" else None)


def _additions(parts: np.ndarray) -> float:
    """Return the additions of an elimination by parts: each reaches its part and the separator, the last one all."""
    n, inside = len(parts), np.bincount(parts[parts >= 0]).astype(float)
    shared = n - inside.sum()
    return float((inside * (inside + shared) ** 2).sum() + shared * float(n) ** 2)


def beside_matrix(
    variant: str, n: int, arcs: int, block: int, itemsize: int, threads: int, search: str = "heap"
) -> int:
    """Return the bytes that a rank takes beside its rows of the matrix."""
    if variant == "johnson" and search == "lanes":
        return 60 * arcs + (8 + BYTES * threads) * n + (8 * n * n if n * n <= PAIRS else 0)
    if variant == "johnson":
        return 28 * arcs + 8 * n + 28 * n * threads
    whole = 3 * block * n * itemsize + 24 * arcs
    return whole + (n * n * itemsize // 4 if variant == "separators" else 0)


def _refuse(comm: Any, n: int, itemsize: int, need: int, free: int | None, where: str, advice: str) -> None:
    """Raise on all ranks if some rank needs more than is free."""
    ranks = f"{comm.size} rank{'s' if comm.size > 1 else ''}"
    refuse_unless_fits(comm, need, free, lambda need, free: (
        f"the distances between all pairs of {n:,} vertices take {need:,} bytes on a rank ({itemsize} bytes a pair, "
        f"{ranks}), and {free:,} bytes {where} are free; {advice}"
    ))  # fmt: skip
