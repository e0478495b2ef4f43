"""Phases of a run on one rank, and the maximum bytes of each."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dgraph.algorithms import ALGORITHMS
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.record import peak_memory
from dgraph.graph.block import gid_type
from dgraph.tools.estimate.gpu import GpuBytes, on_gpu
from dgraph.tools.estimate.machines import Needs, needs
from dgraph.tools.estimate.shape import Shape

CUT = {"metis": 0.02}
"""Mirrors ÷ masters of policies that minimise the cut, on road networks and meshes, for which "auto" picks them."""

SOURCE, TARGET = 0, 1
"""Ends of an arc, as indices."""

BLOCKS = ("auto", "oec", "iec")
"""Policies that assign consecutive vertices to a rank, and each edge to the owner of one of its ends."""

VERTEX = 24
"""Bytes of a local vertex: gid, original id, out-degree."""

THREADS = 2
"""Threads of a rank on which solvers are planned."""

NUMBER = 8
"""Bytes of the number of a listed edge, which arcs carry where columns are kept."""
BUCKETED = 2
"""Bytes of an arc in a bucket of rows, beside its target and weight."""

FINGERPRINT = 8
"""Temporary bytes per arc for the fingerprint of a weighted graph."""

BUILDING = 24
"""Temporary bytes per local vertex while the local graph is built, beside the rows and the result."""


@dataclass(frozen=True)
class RunPlan:
    """Maximum bytes on a rank, if vertices and edges are spread evenly.

    Attributes:
        algorithm: its name.
        policy: partition policy.
        ranks: number of ranks.
        masters: vertices of a rank.
        mirrors: mirrors of a rank.
        edges: arcs of a rank.
        base: Python and libraries.
        load: while the graph is loaded.
        build: while the local graph is built.
        rounds: while rounds run.
        graph: this rank's part of the graph.
        gpu: plan of the rank's GPU, if it has one.
    """

    algorithm: str
    policy: str
    ranks: int
    masters: int
    mirrors: int
    edges: int
    base: int
    load: int
    build: int
    rounds: int
    graph: int
    gpu: GpuBytes

    @property
    def peak(self) -> int:
        """Maximum host memory of a rank, in bytes."""
        return self.base + max(self.load, self.build, self.rounds)


def estimate(
    algorithm: str, shape: Shape, ranks: int, policy: str = "auto", *,
    parameters: dict[str, Any] | None = None, undirected: bool = False, direction: str = "auto",
    gpu_memory: int | None = None, drawn: bool = False, schedule: str = "auto",
) -> RunPlan:  # fmt: skip
    """Make the memory plan of a run.

    Args:
        algorithm: its name.
        shape: the graph.
        ranks: number of ranks.
        policy: partition policy.
        parameters: the algorithm's.
        undirected: the algorithm needs an undirected graph; building one holds a directed graph twice.
        direction: "auto", "push" or "pull".
        gpu_memory: bytes of a GPU; None: unknown.
        drawn: GPUs build the graph (``--build device``).
        schedule: of a GPU, as for a run.
    """
    solved = shape.undirected() if undirected else shape
    requested = parameters or {}
    work = needs(algorithm, solved, requested, direction)
    programs, gpu_programs = work.needs, work.programs
    varied = ALGORITHMS[algorithm].on_gpus(ranks) if solved.skewed else {}
    if varied and not requested.keys() & varied.keys():
        gpu_programs = gpu_programs + needs(algorithm, solved, {**requested, **varied}, direction).programs
    base = _resident_bytes()
    masters, arcs = math.ceil(solved.n / ranks), math.ceil(solved.arcs / ranks)
    mirrors = _mirrors(solved, ranks, policy)
    size = masters + mirrors
    gid = gid_type(shape.n).itemsize
    kept = sum(shape.attributes)
    rows = 8 * masters + arcs * (gid + solved.weight + kept)
    part = size * (VERTEX + 8) + arcs * (4 + solved.weight) + 4 * mirrors
    if ranks == 1:
        part = VERTEX * masters
    counts, loaded = 8 * masters, math.ceil(shape.arcs / ranks)
    listed = math.ceil(shape.edges / ranks) * (2 * gid + shape.listed_weight + kept)
    carried = NUMBER if kept else shape.listed_weight
    bucketed = BUCKETED + gid + carried
    load, before = listed + 2 * counts + loaded * (gid + carried + bucketed), 0
    if kept:  # the edges' numbers, and the columns that they bring
        load = max(load, listed + counts + loaded * (gid + NUMBER + solved.weight + kept))
    if undirected and shape.directed:
        before = counts + loaded * (gid + shape.weight + kept)
        load = max(load, before + 2 * loaded * (gid + shape.weight + bucketed) + counts + rows)
    if set(solved.kept) & set(ALGORITHMS[algorithm].edge_rule.stripped):
        before += rows  # of the graph with the edges that the algorithm leaves out
        load = max(load, before + rows)
    checked = FINGERPRINT * arcs if solved.weight else 0
    turned = solved.directed and any(traced.program.reverse for traced, _ in work.programs)
    transposed = 0
    if turned or (solved.directed and any(p.pulls for p in programs)):
        transposed = size * 8 + arcs * (4 + solved.weight)
    graph = rows + part + transposed + turned * 8 * size  # in-degrees
    states = _states(programs, masters, mirrors, ranks)
    extent = RowSize(solved.n, solved.arcs, size, arcs, masters, THREADS)
    for solver in work.rows:
        if solver.cpu:
            states = max(states, solver.load("cpu").bytes(extent))
    return RunPlan(
        algorithm, policy, ranks, masters, mirrors, arcs,
        base=base,
        load=load,
        build=before + rows + part + max(BUILDING * size if ranks > 1 else 0, checked),
        rounds=math.ceil(before + graph + states + 2 * work.result * masters),
        graph=graph,
        gpu=on_gpu(
            gpu_programs, solved, masters, mirrors, arcs, ranks, gpu_memory, drawn, rows=work.rows,
            direction=direction, schedule=schedule,
        ),
    )  # fmt: skip


def _resident_bytes() -> int:
    """Return this process's resident memory, with the libraries that a run loads."""
    import numba  # noqa: F401 (a run loads it where something is compiled, which small graphs do without)

    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return peak_memory()


def _states(programs: list[Needs], masters: int, mirrors: int, ranks: int) -> float:
    """Return the maximum over programs of machine, messages and the kept fields of earlier programs."""
    most, kept = 0.0, 0.0
    for program in programs:
        program_bytes = program.machine(masters, mirrors) + program.messages(masters, mirrors, ranks - 1)
        most, kept = max(most, kept + program_bytes), kept + program.kept(masters, mirrors)
    return most


def _mirrors(shape: Shape, ranks: int, policy: str) -> int:
    """Estimate the mirrors of a rank, as if the ends of its arcs were drawn from all vertices the policy allows."""
    if ranks == 1:
        return 0
    masters, arcs, name = shape.n / ranks, shape.arcs / ranks, policy.partition(",")[0]
    if name in CUT:
        return math.ceil(CUT[name] * masters)
    if shape.span is not None and name in BLOCKS and 2 * shape.span < masters:
        return 2 * shape.span
    if name == "cvc":
        columns = next(k for k in range(math.isqrt(ranks), 0, -1) if ranks % k == 0)
        rows = ranks // columns
        sources, targets = _distinct(shape, arcs, 1 / rows, SOURCE), _distinct(shape, arcs, 1 / columns, TARGET)
        return math.ceil(sources * (1 - 1 / columns) + targets * (1 - 1 / rows))
    sides = 2 if name in ("hvc", "random") else 1
    end = SOURCE if name == "iec" else TARGET
    return math.ceil(min(sides * _distinct(shape, arcs, 1.0, end), shape.n) * (1 - 1 / ranks))


def _distinct(shape: Shape, draws: float, part: float, end: int) -> float:
    """Return the expected number of distinct vertices among ``draws`` arc ends.

    All vertices are equally likely; for R-MAT the probability depends on the number of ones in the id's bits.

    Args:
        shape: the graph.
        draws: number of arc ends.
        part: fraction of the vertices that they are drawn from.
        end: ``SOURCE`` or ``TARGET``.
    """
    draws /= part
    if shape.ones is None:
        return part * shape.n * -math.expm1(-draws / shape.n)
    shares = shape.ones if not shape.directed else (shape.ones[end],)
    bits, expected = round(math.log2(shape.n)), 0.0
    for ones in range(bits + 1):
        likely = sum((1 - share) ** (bits - ones) * share**ones for share in shares) / len(shares)
        expected += math.comb(bits, ones) * -math.expm1(-draws * likely)
    return part * expected
