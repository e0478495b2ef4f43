"""Streaming partitioners: vertices come one after the other, and each stays where most of its neighbours are.

LDG: Stanton, Kliot, Streaming graph partitioning for large distributed graphs, KDD 2012.
Fennel: Tsourakakis et al., Fennel: streaming graph partitioning for massive scale graphs, WSDM 2014.

In natural order every rank streams its own rows, one rank after the other, and hands on what the parts hold: no rank
has the whole graph, but each has the owner of every vertex. Other orders need the whole graph on rank 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from partitioning.arrays import arcs
from partitioning.placement import Placement, PolicyError
from partitioning.policies.edge_cut import in_offsets
from partitioning.policies.gather_root import Table, on_rank_zero, shortage
from partitioning.policy_register import policy

Balance = Literal["edges", "vertices"]
Order = Literal["natural", "random", "bfs"]

BYTES = 24
"""Memory of a stream on rank 0 per vertex and adjacency entry: the graph, its reverse, the order of the stream."""


@policy("ldg", "linear deterministic greedy: each vertex to most of its neighbours, less the fuller a part is")
def ldg(
    edges, parts, comm, *, balance: Balance = "edges", order: Order = "natural", slack: float = 1.05, seed: int = 1
) -> Placement:
    """``balance``: what is shared out evenly; ``slack``: times the mean that a part may hold."""
    _check("ldg", slack)
    rule = (0.0, 0.0, slack)
    return Placement("ldg", "outgoing", parts, _streamed("ldg", edges, parts, comm, rule, balance, order, seed))


@policy("fennel", "Fennel: each vertex to most of its neighbours, at a price that grows with a part's load")
def fennel(
    edges,
    parts,
    comm,
    *,
    gamma: float = 1.5,
    alpha: float = 0.0,
    balance: Balance = "edges",
    order: Order = "natural",
    slack: float = 1.1,
    seed: int = 1,
) -> Placement:
    """A part of load x costs ``alpha x**gamma``; ``alpha`` 0 is the paper's: edges × parts**(gamma-1) / n**gamma."""
    _check("fennel", slack)
    if gamma <= 1 or alpha < 0:
        raise PolicyError(f"policy 'fennel': gamma={gamma}, alpha={alpha}; gamma is above 1, alpha 0 or more")
    edges_once = edges.arcs if edges.directed else edges.arcs / 2
    rule = (gamma, alpha or edges_once * parts ** (gamma - 1) / max(edges.n, 1) ** gamma, slack)
    return Placement("fennel", "outgoing", parts, _streamed("fennel", edges, parts, comm, rule, balance, order, seed))


def _check(name: str, slack: float) -> None:
    if slack < 1:
        raise PolicyError(f"policy {name!r}: slack={slack} leaves no room for all; take 1 or more, such as 1.05")


def _streamed(name, edges, parts, comm, rule, balance, order, seed) -> Table:
    if order == "natural":
        return _in_turns(edges, parts, comm, rule, balance)
    wrong = comm.bcast_json(_obstacle(edges, order) if comm.rank == 0 else None)
    if wrong:
        raise PolicyError(f"policy {name!r}: {wrong}; take order=natural, which needs it on no rank")

    def work(degrees, targets):
        offsets = np.concatenate([[0], np.cumsum(degrees)])
        back = _reversed(offsets, targets) if edges.directed else (None, None)
        visits = _visits(order, seed, offsets, targets, *back)
        owner, load = _fresh(edges.n, parts)
        _stream(edges, parts, rule, balance, owner, load, visits, 0, offsets, targets, *back)
        return owner

    return on_rank_zero(edges, comm, work, np.min_scalar_type(parts))


def _obstacle(edges, order: str) -> str:
    entries = edges.arcs * (2 if edges.directed else 1)
    return shortage(edges.n, entries, BYTES, f"order={order} needs the whole graph")


def _in_turns(edges, parts, comm, rule, balance) -> Table:
    offsets, sources = in_rows(edges, comm) if edges.directed else (None, None)
    owner, load = _fresh(edges.n, parts)
    visits = np.arange(len(edges.offsets) - 1)
    for turn in range(comm.size):
        mine = slice(edges.first, edges.first + len(visits))
        if turn == comm.rank:
            _stream(
                edges, parts, rule, balance, owner, load, visits, edges.first,
                edges.offsets, edges.targets, offsets, sources,
            )  # fmt: skip
        first = comm.allgather(np.array([mine.start], np.int64))[turn, 0]
        told = comm.allgatherv(owner[mine] if turn == comm.rank else owner[:0])[turn]
        owner[first : first + len(told)] = told
        load = comm.allgather(load)[turn]
    return Table(owner)


def _fresh(n: int, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Nobody owns anything (``parts`` stands for that), and nothing is held."""
    return np.full(n, parts, np.min_scalar_type(parts)), np.zeros(parts, np.int64)


def _stream(edges, parts, rule, balance, owner, load, visits, first, *adjacency) -> None:
    from partitioning.policies.streaming_kernels import stream

    gamma, alpha, slack = rule
    by_edges = balance == "edges"
    total = max(edges.n + (edges.arcs if by_edges else 0), 1)
    stream(visits, first, *adjacency, owner, load, by_edges, float(total), float(edges.n), gamma, alpha, slack)


def in_rows(edges, comm) -> tuple[np.ndarray, np.ndarray]:
    """The sources of the arcs that enter this rank's rows: offsets (rows + 1,), and gids row by row; collective."""
    from partitioning.arrays.kernels import place

    starts = np.append(comm.allgather(np.array([edges.first], np.int64))[:, 0], edges.n)
    offsets = in_offsets(edges, starts, comm)
    sources, cursor = np.empty(offsets[-1], edges.targets.dtype), offsets[:-1].copy()
    for number in range(arcs.rounds(edges, comm)):
        src, dst = arcs.ends(edges, *arcs.span(edges, number))
        order, cuts = arcs.deal(np.searchsorted(starts[1:-1], dst, side="right"), comm.size)
        came = (comm.alltoallv(arcs.grouped(ends, order, cuts)) for ends in (src, dst))
        for from_there, to_here in zip(*came, strict=True):
            place(from_there, to_here, edges.first, cursor, sources)
    return offsets, sources


def _reversed(offsets, targets) -> tuple[np.ndarray, np.ndarray]:
    from partitioning.arrays.kernels import count, place

    n = len(offsets) - 1
    back = np.zeros(n + 1, np.int64)
    count(targets, 0, back)
    np.cumsum(back, out=back)
    sources = np.empty(len(targets), targets.dtype)
    place(np.repeat(np.arange(n, dtype=targets.dtype), np.diff(offsets)), targets, 0, back[:-1].copy(), sources)
    return back, sources


def _visits(order, seed, *adjacency) -> np.ndarray:
    n = len(adjacency[0]) - 1
    if order == "random":
        return np.random.default_rng(abs(seed)).permutation(n)
    from partitioning.policies.streaming_kernels import breadth_first

    return breadth_first(*adjacency)
