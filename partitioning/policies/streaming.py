"""Streaming partitioners: vertices arrive one by one, and each goes to the part with most of its neighbours.

LDG: Stanton, Kliot, Streaming graph partitioning for large distributed graphs, KDD 2012.
Fennel: Tsourakakis et al., Fennel: streaming graph partitioning for massive scale graphs, WSDM 2014.

In natural order, ranks stream their own rows one rank after the other, and pass on the parts' loads. No rank has the
whole graph, but each has the owner of every vertex. Other orders need the whole graph on rank 0.
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
"""Memory of a stream on rank 0, per vertex and adjacency entry: the graph, its reverse, the order of the stream."""


@policy("ldg", "linear deterministic greedy: each vertex to most of its neighbours, less the fuller a part is")
def ldg(
    edges, parts, comm, *, balance: Balance = "edges", order: Order = "natural", slack: float = 1.05, seed: int = 1
) -> Placement:
    """Place each vertex with most of its neighbours, weighted by the free capacity of the part; collective.

    ``balance``: quantity that is balanced; ``slack``: capacity of a part as a multiple of the mean.
    """
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
    """Place each vertex with most of its neighbours, minus a price that grows with the part's load; collective.

    A part of load x costs ``alpha x**gamma``; ``alpha`` 0 is the paper's: edges × parts**(gamma-1) / n**gamma.
    ``balance`` and ``slack`` as in :func:`ldg`.
    """
    _check("fennel", slack)
    if gamma <= 1 or alpha < 0:
        raise PolicyError(f"policy 'fennel': gamma={gamma}, alpha={alpha}; gamma is above 1, alpha 0 or more")
    edges_once = edges.arcs if edges.directed else edges.arcs / 2
    rule = (gamma, alpha or edges_once * parts ** (gamma - 1) / max(edges.n, 1) ** gamma, slack)
    return Placement("fennel", "outgoing", parts, _streamed("fennel", edges, parts, comm, rule, balance, order, seed))


def _check(name: str, slack: float) -> None:
    if slack < 1:
        raise PolicyError(f"policy {name!r}: slack={slack}, so the parts cannot hold all; take 1 or more, such as 1.05")


def _streamed(name, edges, parts, comm, rule, balance, order, seed) -> Table:
    if order == "natural":
        return _stream_by_rank(edges, parts, comm, rule, balance)
    wrong = comm.bcast_json(_obstacle(edges, order) if comm.rank == 0 else None)
    if wrong:
        raise PolicyError(f"policy {name!r}: {wrong}; take order=natural, which needs it on no rank")

    def work(degrees, targets):
        offsets = np.concatenate([[0], np.cumsum(degrees)])
        back = _reversed(offsets, targets) if edges.directed else (None, None)
        visits = _visits(order, seed, offsets, targets, *back)
        owner, load = _no_owners(edges.n, parts)
        _stream(edges, parts, rule, balance, owner, load, visits, 0, offsets, targets, *back)
        return owner

    return on_rank_zero(edges, comm, work, np.min_scalar_type(parts))


def _obstacle(edges, order: str) -> str:
    entries = edges.arcs * (2 if edges.directed else 1)
    return shortage(edges.n, entries, BYTES, f"order={order} needs the whole graph")


def _stream_by_rank(edges, parts, comm, rule, balance) -> Table:
    offsets, sources = in_edges(edges, comm) if edges.directed else (None, None)
    owner, load = _no_owners(edges.n, parts)
    visits = np.arange(len(edges.offsets) - 1)
    for turn in range(comm.size):
        mine = slice(edges.first, edges.first + len(visits))
        if turn == comm.rank:
            _stream(
                edges, parts, rule, balance, owner, load, visits, edges.first,
                edges.offsets, edges.targets, offsets, sources,
            )  # fmt: skip
        first = comm.allgather(np.array([mine.start], np.int64))[turn, 0]
        received = comm.allgatherv(owner[mine] if turn == comm.rank else owner[:0])[turn]
        owner[first : first + len(received)] = received
        load = comm.allgather(load)[turn]
    return Table(owner)


def _no_owners(n: int, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the initial state: no vertex has an owner (marked by ``parts``), and loads are 0."""
    return np.full(n, parts, np.min_scalar_type(parts)), np.zeros(parts, np.int64)


def _stream(edges, parts, rule, balance, owner, load, visits, first, *adjacency) -> None:
    from partitioning.policies.streaming_kernels import stream

    gamma, alpha, slack = rule
    by_edges = balance == "edges"
    total = max(edges.n + (edges.arcs if by_edges else 0), 1)
    near, price = np.empty(parts), np.empty(parts)
    stream(
        visits, first, *adjacency, owner, load, near, price, by_edges, float(total), float(edges.n), gamma, alpha, slack
    )


def in_edges(edges, comm) -> tuple[np.ndarray, np.ndarray]:
    """Return the sources of this rank's in-edges (CSC): offsets (rows + 1,), and gids row by row; collective."""
    from partitioning.arrays.kernels import place

    starts = np.append(comm.allgather(np.array([edges.first], np.int64))[:, 0], edges.n)
    offsets = in_offsets(edges, starts, comm)
    sources, cursor = np.empty(offsets[-1], edges.targets.dtype), offsets[:-1].copy()
    for number in range(arcs.rounds(edges, comm)):
        src, dst = arcs.ends(edges, *arcs.span(edges, number))
        order, cuts = arcs.group_by_owner(np.searchsorted(starts[1:-1], dst, side="right"), comm.size)
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
