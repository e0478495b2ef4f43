"""Layout of in-edges by tiles of sources: each arc once, on any number of threads, and ranks over several tiles."""

import numpy as np
import pytest
import scipy.sparse

import dgraph
from dgraph.algorithms.many_sources.rank_tiles import CHUNK, SHIFT, TiledRows
from dgraph.backend.cpu.threads.team import team_of


def drawn(rows, n, arcs, seed):
    """Return offsets, sources, weights, an order of the rows, and places of the sources."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, rows, arcs)) if rows else np.zeros(0, np.int64)
    offsets = np.searchsorted(ends, np.arange(rows + 1)).astype(np.int64)
    sources = rng.integers(0, n, len(ends)).astype(np.uint32)
    return offsets, sources, rng.random(len(ends)), rng.permutation(rows), rng.permutation(n).astype(np.uint32)


@pytest.mark.parametrize(("rows", "n", "arcs"), [(90, 90, 700), (3, 200, 50), (200, 64, 0), (1, 1, 1), (0, 5, 0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_arc_is_in_the_tile_of_its_source(rows, n, arcs, weighted):
    offsets, sources, weights, order, places = drawn(rows, n, arcs, 7)
    taken = (offsets, sources, weights if weighted else None, order, places)
    layouts = [TiledRows.of(team_of(threads), *taken, shift=3, most=5) for threads in (1, 2, 3)]
    for layout in layouts[1:]:
        for name in ("tiles", "rows", "firsts", "sources", "weights", "ends"):
            np.testing.assert_array_equal(getattr(layout, name), getattr(layouts[0], name))
    layout, arcs_of_rows = layouts[0], []
    assert len(layout.tiles) - 1 == min(-(-n // 8), 5)
    for tile, (first, last) in enumerate(zip(layout.tiles, layout.tiles[1:], strict=False)):
        assert np.all(np.diff(layout.rows[first:last].astype(np.int64)) > 0)
        for visit in range(first, last):
            mine = slice(layout.firsts[visit], layout.firsts[visit + 1])
            assert mine.start < mine.stop
            assert np.all(np.minimum(layout.sources[mine] >> 3, 4) == tile)
            weighed = layout.weights[mine] if weighted else np.ones(mine.stop - mine.start)
            arcs_of_rows += zip([layout.rows[visit]] * len(weighed), layout.sources[mine], weighed, strict=True)
    rank = np.argsort(order)[np.repeat(np.arange(rows), np.diff(offsets))]
    wanted = zip(rank, places[sources], weights if weighted else np.ones(len(sources)), strict=True)
    assert sorted(arcs_of_rows) == sorted(wanted)
    np.testing.assert_array_equal(np.diff(layout.ends), np.diff(offsets)[order])
    by_row = TiledRows.of(team_of(3), *taken, whole_rows=True, shift=3, most=5)
    assert (len(by_row.tiles), len(by_row.rows)) == (2, rows)
    visits = np.lexsort((np.repeat(np.arange(len(layout.tiles) - 1), np.diff(layout.tiles)), layout.rows))
    arcs = [arc for visit in visits for arc in range(layout.firsts[visit], layout.firsts[visit + 1])]
    np.testing.assert_array_equal(by_row.sources, layout.sources[arcs])
    if weighted:
        np.testing.assert_array_equal(by_row.weights, layout.weights[arcs])
    np.testing.assert_array_equal(by_row.firsts, layout.ends)


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_blocks_are_whole_chunks(count):
    offsets, sources, _, order, places = drawn(700, 50, 4000, 3)
    bounds = TiledRows.of(team_of(1), offsets, sources, None, order, places).blocks(count)
    assert (bounds[0], bounds[-1]) == (0, 700)
    assert np.all(np.diff(bounds) > 0)
    assert np.all(bounds[:-1] % CHUNK == 0)
    assert len(bounds) <= count + 1


@pytest.mark.compiled
def test_ranks_of_a_graph_of_several_tiles():
    n, alpha = (2 << SHIFT) + 500, 0.85
    rng = np.random.default_rng(5)
    ends = np.minimum(rng.zipf(1.3, (2, 6 * n)), n) - 1
    ends = rng.permutation(n)[ends]
    weights = rng.integers(1, 9, ends.shape[1]).astype(float)
    matrix = scipy.sparse.coo_array((weights, ends), (n, n)).tocsr()
    graph = dgraph.Graph.from_edges(*ends, weights, n=n, merge="sum", keep_loops=True, device=dgraph.Cpu(threads=6))
    sources = ends[0, :3].tolist()
    result = dgraph.multi_source_pagerank(graph, sources=sources, alpha=alpha, tol=0.0, max_iter=9)
    again = dgraph.multi_source_pagerank(graph.on(device=dgraph.Cpu(threads=1)), sources=sources, tol=0.0, max_iter=9)
    sums = matrix.sum(axis=1)
    steps = (scipy.sparse.diags_array(np.divide(1, sums, where=sums > 0, out=np.zeros(n))) @ matrix).T.tocsr()
    for source in sources:
        ranks, jump = np.full(n, 1 / n), np.arange(n) == source
        for _ in range(9):
            ranks = alpha * (steps @ ranks) + (1 - alpha + alpha * ranks[sums == 0].sum()) * jump
        np.testing.assert_allclose(result.columns[f"pagerank_{source}"], ranks, rtol=1e-9, atol=1e-15)
        np.testing.assert_array_equal(result.columns[f"pagerank_{source}"], again.columns[f"pagerank_{source}"])
