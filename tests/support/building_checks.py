"""Graphs that emulated GPUs generate and build, and checks of their partitions against the host's graph."""

from __future__ import annotations

import numpy as np
from emulated import Device

from dgraph.backend.cuda.graph_build import BuiltGraph
from dgraph.comm import SerialComm
from dgraph.graph.load_options import LoadOptions


def built(spec, comm=None, policy="auto", renumber=None, device=None, **options):
    comm = comm or SerialComm()
    return BuiltGraph.from_spec(
        spec, comm, device or Device(seed=comm.rank + 1), policy, LoadOptions(**options), renumber
    )


def check_parts(parts, want):
    """Check all ranks' graphs and partitions against the whole graph."""
    src, dst, weights = [], [], []
    for rank, (graph, local) in enumerate(parts):
        check_known_facts(graph, want)
        src.append(np.repeat(local.gids, np.diff(local.out.offsets)))
        dst.append(local.gids[local.out.neighbours])
        weights.append(local.out.weights)
        np.testing.assert_array_equal(local.out_degree, np.diff(want.block.offsets)[local.gids])
        check_mirrors(rank, local, [other for _, other in parts])
    masters = np.concatenate([local.gids[: local.masters] for _, local in parts])
    np.testing.assert_array_equal(np.sort(masters), np.arange(want.n))
    order = np.lexsort((np.concatenate(dst), np.concatenate(src)))
    np.testing.assert_array_equal(np.concatenate(src)[order], want.block.sources())
    np.testing.assert_array_equal(np.concatenate(dst)[order], want.block.targets)
    if want.weight_type is not None:
        np.testing.assert_array_equal(np.concatenate(weights)[order], want.block.weights)


def check_known_facts(graph, want):
    """Check facts that a rank knows without communication: ids, sizes, fingerprint."""
    assert vars(graph.facts) == vars(want.facts)
    assert (graph.n, graph.m, graph.arcs, graph._fingerprint) == (want.n, want.m, want.arcs, want.fingerprint())


def check_mirrors(rank, local, others):
    """Check that both sides of a message list the same vertices, and that each role is one slice."""
    rows = np.diff(local.out.offsets) > 0
    columns = np.bincount(local.out.neighbours, minlength=local.size) > 0
    assert local.mirrors == sum(side.count for side in local.own_mirrors.values())
    for peer, side in local.own_mirrors.items():
        here, there = slice(side.first, side.first + side.count), others[peer].peer_mirrors[rank]
        assert (there.count, there.columns, there.rows) == (side.count, side.columns, side.rows)
        np.testing.assert_array_equal(local.gids[here], others[peer].gids[there.lids])
        np.testing.assert_array_equal(rows[here], np.arange(side.count) >= side.rows)
        np.testing.assert_array_equal(columns[here], np.arange(side.count) < side.columns)
