"""A loaded graph assembled from all ranks' blocks, and the clean graph of listed edges in plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from simulated import on_ranks

from dgraph.graph.block import EdgeBlock, LoadFacts, gid_type
from dgraph.graph.load import load
from dgraph.graph.load_options import LoadOptions


@dataclass
class Whole:
    """All blocks of a graph; vertices and arcs by original id, in the order of the ranks."""

    n: int
    m: int
    directed: bool
    vertices: list[int]
    arcs: list[tuple]
    weights: np.dtype | None
    facts: LoadFacts


def share(block: EdgeBlock, comm) -> tuple:
    """Return a rank's block and the original ids of its rows, sources and targets."""
    rows = np.arange(block.first, block.first + block.rows)
    lists = rows, block.sources(), block.targets
    return block, *(block.ids.to_original(gids, comm).tolist() for gids in lists)


def joined(shares: list[tuple]) -> Whole:
    """Return the graph of all ranks' shares, after checks of every block's invariants."""
    blocks, vertices, arcs = [part[0] for part in shares], [], []
    for block, rows, src, dst in shares:
        assert block.first == len(vertices)
        assert block.offsets.dtype == np.int64
        assert block.offsets[0] == 0
        assert block.offsets[-1] == block.targets.size
        assert block.targets.dtype == gid_type(block.n)
        assert (block.weights is None) == (blocks[0].weights is None)
        assert block.facts == blocks[0].facts
        assert (block.n, block.m, block.arcs) == (blocks[0].n, blocks[0].m, blocks[0].arcs)
        vertices += rows
        weights = [1] * len(src) if block.weights is None else block.weights.tolist()
        arcs += zip(src, dst, weights, strict=True)
    assert len(vertices) == blocks[0].n
    assert len(arcs) == blocks[0].arcs
    dtypes = {None if block.weights is None else block.weights.dtype for block in blocks}
    assert len(dtypes) == 1
    block = blocks[0]
    return Whole(block.n, block.m, block.directed, vertices, arcs, dtypes.pop(), block.facts)


def loaded(path, ranks: int = 1, **options) -> Whole:
    """Return the graph of a file, loaded on ``ranks`` threads."""
    return joined(agreed(on_ranks(ranks, lambda comm: share(load(str(path), comm, LoadOptions(**options)), comm))))


def agreed(results: list) -> list:
    """Return the ranks' results; if one raised, check that all raised the same error, and raise it."""
    errors = [result for result in results if isinstance(result, Exception)]
    if errors:
        assert len(errors) == len(results), results
        assert {(type(error), str(error)) for error in errors} == {(type(errors[0]), str(errors[0]))}
        raise errors[0]
    return results


def cleaned(edges, directed: bool, *, vertices=None, keep_loops=False, keep_parallel=False) -> tuple:
    """Return ``vertices, arcs, m, loops, duplicates, isolated`` of listed ``(u, v, weight)``, without using arrays."""
    vertices = sorted({end for u, v, _ in edges for end in (u, v)} if vertices is None else vertices)
    loops = sum(u == v for u, v, _ in edges)
    listed = [edge for edge in edges if keep_loops or edge[0] != edge[1]]
    pairs = Counter((u, v) if directed else (min(u, v), max(u, v)) for u, v, _ in listed)
    duplicates = len(listed) - len(pairs)
    both = listed if directed else listed + [(v, u, w) for u, v, w in listed if u != v]
    arcs = sorted(both)
    if not keep_parallel:
        arcs = [arc for number, arc in enumerate(arcs) if number == 0 or arcs[number - 1][:2] != arc[:2]]
    ends = {end for u, v, _ in listed for end in (u, v)}
    return vertices, arcs, len(listed) if keep_parallel else len(pairs), loops, duplicates, len(set(vertices) - ends)


def figures(graph: Whole) -> tuple:
    """Return a loaded graph in the form of :func:`cleaned`."""
    facts = graph.facts
    return graph.vertices, graph.arcs, graph.m, facts.loops, facts.duplicates, facts.isolated


def written(folder, name, content):
    """Write a file of text or bytes; return its path."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
