"""Graphs in stores: any number of ranks opens the graph that was written, and results are equal."""

import networkx
import numpy as np
import pandas as pd
import pytest
from battery import CASES
from built import check
from flat_run import flat_run
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import Graph as Small
from simulated import battery, graph, skewed, star, succeed
from stopped_runs import FLOAT_SUMS

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.cli import main
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError, UsageError
from dgraph.graph import stored_graph
from dgraph.graph.build.local_graph import build_parts
from dgraph.graph.stored.repartition import pieces
from dgraph.graph.stored_graph import Graph
from partitioning import plan
from partitioning.store import Store

GRAPHS = battery()
POLICIES = ["oec", "iec", "cvc", "hvc,threshold=2", "hash", "metis"]


def save(given_, path, policy, parts, ranks=1, **more):
    def work(comm):
        return Graph(given_.block(comm), comm).save_store(path, policy=policy, parts=parts, **more)

    return succeed(ranks, work)


def opened(path, ranks, **options):
    def work(comm):
        return Graph.open(path, comm=comm, **options).opened("auto").local

    return succeed(ranks, work)


@pytest.mark.parametrize("ends", [[7, 70, 10**15], [0, 1, 2], ["é", "a,b", "c"]])
@pytest.mark.parametrize("ranks", [3, 1])
def test_an_opened_store_is_written_again(ends, ranks, tmp_path):
    """Ids far apart, consecutive ids, and names: the second store has the edges and the vertices of the list."""

    def work(comm):
        edges = (ends[:2], ends[1:], [4, 9]) if comm.rank == 0 else (None, None, None)
        written = Graph.from_edges(*edges, sparse_ids=True, comm=comm)
        written.save_store(tmp_path / "first", policy="cvc", parts=2)
        Graph.open(tmp_path / "first", comm=comm).save_store(tmp_path / "second", policy="oec", parts=4)
        again = Graph.open(tmp_path / "second", comm=comm)
        assert again.has(np.array(ends)).all()
        rows = again.to_pandas(root=None).astype({"source": str, "target": str, "weight": int}).to_numpy().tolist()
        return comm.allgather_json(rows)

    wanted = sorted([str(u), str(v), w] for u, v, w in zip(ends[:2], ends[1:], [4, 9], strict=True))
    for parts in succeed(ranks, work):
        assert sorted(row for rows in parts for row in rows) == wanted


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", GRAPHS)
def test_any_number_of_ranks_opens_a_store(name, policy, tmp_path):
    """Ranks: as many as parts, fewer, more, and more than chunks."""
    for parts, writers in ((2, 1), (4, 3)):
        path = tmp_path / str(parts)
        save(GRAPHS[name], path, policy, parts, writers)
        for ranks in (1, 3, 4, 17):
            check(GRAPHS[name], opened(path, ranks), f"{name} of {parts} parts on {ranks} ranks")


@pytest.mark.interpreted
@pytest.mark.parametrize("writers", [1, 3])
def test_names_of_vertices_are_in_a_store(writers, tmp_path):
    """Any number of ranks opens a store of names: distances by NetworkX, names that differ by their last bytes."""
    names = [f"{kind}{number}" * (1 + number % 3) for number in range(13) for kind in ("ä", "a", "日")]
    chosen = np.random.default_rng(4)
    source, target = (chosen.choice(names, 160) for _ in range(2))
    weights = chosen.integers(1, 9, 160)
    table = pd.DataFrame({"source": source, "target": target, "weight": weights})
    path = tmp_path / "names.parts"
    succeed(
        writers,
        lambda comm: Graph.from_pandas(table[comm.rank :: comm.size], comm=comm).save_store(path, parts=2),
    )
    network = networkx.MultiDiGraph()
    network.add_weighted_edges_from(zip(source, target, weights.tolist(), strict=True))
    simple = networkx.DiGraph(network)
    simple.remove_edges_from(list(networkx.selfloop_edges(simple)))
    expected = networkx.single_source_dijkstra_path_length(network, source[0])

    def answers(comm):
        opened = Graph.load(path, comm=comm)
        for loaded in (opened, opened.on(policy="hash")):
            rows = dgraph.sssp(loaded, source=source[0]).gather()
            if rows is not None:
                yield {v: d for v, d in zip(rows["vertex"], rows["distance"], strict=True) if v in expected}
                assert set(rows["vertex"]) == set(network)
        assert simple.out_degree(opened.hub()) == max(degree for _, degree in simple.out_degree)
        with pytest.raises(UsageError, match="'a99' is not a vertex"):
            dgraph.sssp(opened, source="a99")

    for ranks in (1, 2, 4):
        assert succeed(ranks, lambda comm: list(answers(comm)))[0] == [expected, expected]
    assert main(["sssp", str(path), "--source", source[0], "-o", str(tmp_path / "a.csv"), "-q"]) == 0
    written = pd.read_csv(tmp_path / "a.csv").dropna(subset="distance")
    assert dict(zip(written.vertex, written.distance, strict=True)) == expected
    damaged = bytearray((path / "names.bin").read_bytes())
    damaged[3] ^= 1
    (path / "names.bin").write_bytes(damaged)
    with pytest.raises(DataError, match=r"names\.bin: block values"):
        Graph.load(path, comm=SerialComm())


@settings(max_examples=25)
@given(st.data())
def test_any_graph_any_parts_any_ranks(tmp_path_factory, data):
    n = data.draw(st.integers(1, 12))
    ends = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40, unique=True))
    original = graph(n, *np.array(ends, np.int64).reshape(-1, 2).T)
    original.weights = np.arange(len(ends)) * 3
    policy = data.draw(st.sampled_from(POLICIES[:-1]))
    parts, writers, ranks = (data.draw(st.integers(1, most)) for most in (6, 3, 9))
    path = tmp_path_factory.mktemp("stores") / "store"
    save(original, path, policy, parts, writers, chunks=data.draw(st.integers(parts, 3 * parts)))
    check(original, opened(path, ranks))


@pytest.mark.parametrize("policy", POLICIES)
def test_at_the_same_number_nothing_is_built(policy, tmp_path):
    original = GRAPHS["directed"]
    save(original, tmp_path / "s", policy, 3)
    wanted = build_parts(
        original.block(SerialComm()), plan(policy, original.block(SerialComm()), 3, SerialComm()), SerialComm()
    )
    for have, want in zip(opened(tmp_path / "s", 3), wanted, strict=True):
        for name in ("gids", "original", "out_degree"):
            np.testing.assert_array_equal(getattr(have, name), getattr(want, name))
        for name in ("offsets", "neighbours", "weights"):
            mapped = getattr(have.out, name)
            np.testing.assert_array_equal(mapped, getattr(want.out, name))
            assert mapped.base is not None, "a copy"
            assert mapped.flags.writeable, "Numba would compile everything again for arrays that are not"
        assert have.own_mirrors == want.own_mirrors
        assert have.peer_mirrors.keys() == want.peer_mirrors.keys()
        for peer, mirrors in want.peer_mirrors.items():
            np.testing.assert_array_equal(have.peer_mirrors[peer].lids, mirrors.lids)


def test_what_is_written_to_a_map_stays_in_the_process(tmp_path):
    save(GRAPHS["directed"], tmp_path / "s", "oec", 1)
    (local,) = opened(tmp_path / "s", 1)
    local.out.neighbours[:] = 0
    check(GRAPHS["directed"], opened(tmp_path / "s", 1))


@pytest.mark.parametrize("policy", ["oec", "iec", "hash"])
def test_chunks_are_dealt_out_evenly(policy, tmp_path):
    original = skewed(3000, 40_000, directed=True)
    save(original, tmp_path / "s", policy, 4, chunks=32)
    store = Store.open(tmp_path / "s")
    for ranks in (2, 3, 5, 8, 40):
        cuts = [pieces(store, rank, ranks) for rank in range(ranks)]
        counts = np.array([sum(piece.high - piece.low for piece in mine) for mine in cuts])
        assert counts.sum() == len(original.src)
        assert counts.max() <= counts.mean() * (1.5 if ranks < 9 else 2.5)
    assert [[piece.part for piece in pieces(store, rank, 2)] for rank in range(2)] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("cut", ["outgoing", "incoming"])
def test_an_edge_cut_stays_one_on_other_ranks(cut, tmp_path):
    """The placement stays an edge-cut, so synchronisation still skips half of its work."""
    save(GRAPHS["directed"], tmp_path / "s", {"outgoing": "hash", "incoming": "iec"}[cut], 4)
    for ranks in (2, 3, 7):
        for local in opened(tmp_path / "s", ranks):
            for mirrors in local.own_mirrors.values():
                low, high = mirrors.span("row" if cut == "outgoing" else "column")
                assert low == high


def test_a_hub_beyond_a_share_is_parted_where_the_cut_allows(tmp_path):
    save(star(500, directed=True), tmp_path / "s", "hvc,threshold=10", 2)
    counts = [len(local.out.neighbours) for local in opened(tmp_path / "s", 16)]
    assert max(counts) <= 2 * 500 / 16 + 1


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", None])
@pytest.mark.parametrize("directed", [True, False])
def test_a_stored_graph_is_the_graph(dtype, directed, tmp_path):
    """The handle's facts, the joined rows, the ids, and the effect of load options."""
    rng = np.random.default_rng(3)
    ids = np.sort(rng.choice(10**12, 50, replace=False))
    src, dst = ids[rng.integers(0, 50, (2, 300))]
    weights = None if dtype is None else rng.integers(1, 9, 300).astype(dtype)

    def first(comm):
        original = Graph.from_edges(src, dst, weights, directed=directed, sparse_ids=True, comm=comm)
        original.save_store(tmp_path / "s", policy="hash", parts=3)
        return original

    (given_,) = succeed(1, first)
    for ranks in (1, 2, 3):

        def work(comm):
            stored = Graph.load(str(tmp_path / "s"), comm=comm)
            assert (stored.n, stored.m, stored.arcs, stored.directed) == (given_.n, given_.m, given_.arcs, directed)
            assert (stored.weight_type, stored.hub(), stored.fingerprint()) == (
                given_.weight_type, given_.hub(), given_.fingerprint(),
            )  # fmt: skip
            assert "opened from" in repr(stored)
            np.testing.assert_array_equal(stored.ids.to_gid(ids[::-1] + [0, 1] * 25, comm)[::2], np.arange(50)[::-2])
            np.testing.assert_array_equal(stored.ids.to_gid(ids + 1, comm), -1)
            np.testing.assert_array_equal(stored.ids.to_original(np.arange(50), comm), ids)
            block = stored.block
            parts = [comm.allgatherv(part) for part in (np.diff(block.offsets), block.targets)]
            for have, want in zip(parts, (np.diff(given_.block.offsets), given_.block.targets), strict=True):
                np.testing.assert_array_equal(np.concatenate(have), want)
            if dtype:
                np.testing.assert_array_equal(np.concatenate(comm.allgatherv(block.weights)), given_.block.weights)
            again = Graph(block, comm)
            assert again.fingerprint() == given_.fingerprint()

        succeed(ranks, work)


@pytest.mark.parametrize("name", GRAPHS)
def test_rows_are_put_together_again(name, tmp_path):
    """Rows of several parts are joined, with loops and parallel arcs if those were kept."""
    save(GRAPHS[name], tmp_path / "s", "cvc", 4)
    wanted = GRAPHS[name].block(SerialComm())

    def work(comm):
        block = Graph.open(tmp_path / "s", comm=comm).block
        assert (block.n, block.m, block.arcs) == (wanted.n, wanted.m, wanted.arcs)
        return [np.concatenate(comm.allgatherv(part)) for part in (block.sources(), block.targets, block.weights)]

    for ranks in (1, 3):
        for columns in succeed(ranks, work):
            for have, want in zip(columns, (wanted.sources(), wanted.targets, wanted.weights), strict=True):
                np.testing.assert_array_equal(have, want)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_rows_of_one_part_are_those_of_its_file(name, tmp_path, monkeypatch):
    wanted, comm = GRAPHS[name].block(SerialComm()), SerialComm()
    save(GRAPHS[name], tmp_path / "s", "oec", 1)
    monkeypatch.setattr(stored_graph, "rows_of_arcs", None)
    block = Graph.open(tmp_path / "s", comm=comm).block
    assert (block.n, block.m, block.arcs, block.directed) == (wanted.n, wanted.m, wanted.arcs, wanted.directed)
    for part in ("offsets", "targets", "weights"):
        np.testing.assert_array_equal(getattr(block, part), getattr(wanted, part))
    assert not block.arcs or block.targets.base is not None, "a copy"


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({"directed": False}, lambda original: original.undirected()),
        ({"weights": "1..100", "seed": 5}, None),
        ({"weights": "0.5..1.5"}, None),
        ({"weights": "unit"}, None),
    ],
)
def test_what_options_change(options, change, tmp_path):
    save(GRAPHS["directed"], tmp_path / "s", "cvc", 4)
    original = Graph(GRAPHS["directed"].block(SerialComm()), SerialComm())
    if change:
        wanted = change(original)
    else:
        from dgraph.graph.load import reweigh

        reweigh(original.block, options["weights"], options.get("seed", 1))
        wanted = original

    def work(comm):
        stored = Graph.open(tmp_path / "s", comm=comm, **options)
        local = stored.opened("auto")
        assert (stored.n, stored.m, stored.directed) == (wanted.n, wanted.m, wanted.directed)
        assert stored.weight_type == wanted.weight_type
        assert stored.fingerprint() == wanted.fingerprint()
        assert Graph(stored.block, comm).fingerprint() == wanted.fingerprint()
        return local.local

    for ranks in (1, 4, 3):
        locals_ = succeed(ranks, work)
        block = wanted.block
        check(Small(block.n, block.sources(), block.targets, True, block.weights), [
            _as_directed(local, block) for local in locals_
        ])  # fmt: skip


def _as_directed(local, block):
    """Return the graph as directed: ``check`` takes edges of undirected graphs, and these are arcs."""
    local.directed, local.m = True, block.arcs
    return local


@pytest.mark.parametrize("weights", [None, "1..100"])
def test_both_arcs_of_an_undirected_store(weights, tmp_path):
    """Weights equal those of a load with the same options: a generated weight may differ from its reverse's."""
    from dgraph.graph.load import reweigh

    save(GRAPHS["undirected"], tmp_path / "s", "oec", 2)
    block = GRAPHS["undirected"].block(SerialComm())
    block.directed, block.m = True, block.arcs
    if weights:
        reweigh(block, weights, 1)
    for ranks in (1, 2, 3):

        def work(comm):
            stored = Graph.open(tmp_path / "s", comm=comm, directed=True, weights=weights)
            assert (stored.directed, stored.m) == (True, block.arcs)
            assert stored.fingerprint() == Graph(block, SerialComm()).fingerprint()
            return stored.opened("auto").local

        check(Small(block.n, block.sources(), block.targets, True, block.weights), succeed(ranks, work))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"keep_loops": True}, "keep_loops is for graphs that are read"),
        ({"sparse_ids": True}, "sparse_ids is for graphs that are read"),
        ({"weights": "nonsense"}, "not a rule"),
    ],
)
def test_options_that_a_store_refuses(options, said, tmp_path):
    save(GRAPHS["path"], tmp_path / "s", "oec", 2)
    with pytest.raises(UsageError, match=said):
        Graph.load(str(tmp_path / "s"), comm=SerialComm(), **options)


def test_another_policy_places_anew(tmp_path):
    save(GRAPHS["directed"], tmp_path / "s", "hash", 2)
    stored = Graph.open(tmp_path / "s", comm=SerialComm())
    assert stored.opened("oec") is None
    assert stored.opened("hash").policy == "hash"
    assert flat_run("cc", stored, policy="iec").summary == dgraph.run("cc", stored).summary


RUNS = {name: {"source": 5} if algorithm.needs_source else {} for name, algorithm in ALGORITHMS.items()}
RUNS |= {"pagerank": {"tol": 0, "max_iter": 9}, "katz": {"alpha": 1e-4}, "eigenvector": {"tol": 0.1}}


@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["oec", "iec", "cvc", "hvc,threshold=5"])
@pytest.mark.parametrize("parts", [2, 3, 4])
def test_answers_through_a_store_are_those_of_a_load(policy, parts, tmp_path):
    comm = world()
    path = comm.bcast_json(str(tmp_path / "store"))
    case = CASES["plateaus"]
    mine = slice(comm.rank, None, comm.size)
    original = dgraph.Graph.from_edges(
        case.src[mine], case.dst[mine], case.weights[mine], n=case.n, directed=False, comm=comm
    )
    original.save_store(path, policy=policy, parts=parts)
    stored = dgraph.Graph.load(path, comm=comm)
    for name, parameters in RUNS.items():
        wanted = flat_run(name, original, **parameters).gather()
        answer = flat_run(name, stored, validate=name == "sssp", **parameters).gather()
        with comm.together():
            for column in wanted if comm.rank == 0 else ():
                if name in FLOAT_SUMS:
                    np.testing.assert_allclose(answer[column], wanted[column], rtol=1e-10)
                else:
                    np.testing.assert_array_equal(answer[column], wanted[column], f"{name} {column}")


@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_runs_use_the_partition_that_was_saved_and_rows_can_be_dropped(policy, tmp_path):
    given_ = skewed(60, 300, directed=True)
    batch = [[61, 7], [60, 62]]  # ids count from 1; two vertices are new

    def work(comm):
        original = Graph(given_.block(comm), comm).on(policy=policy)
        before, hub = original.block, original.hub()
        original.save_store(tmp_path / "s")
        local = original.partitions[policy].local
        stored = Graph.open(tmp_path / "s", comm=comm).opened("auto").local
        np.testing.assert_array_equal(local.gids, stored.gids)
        np.testing.assert_array_equal(local.out.neighbours, stored.out.neighbours)
        original.drop_rows()
        assert (original._rows is None, original.partition().local) == (comm.size > 1, local)
        changed = original.with_edges(add=batch)
        assert (changed.m, original.m, original.weight_type) == (before.m + 2, before.m, before.weight_type)
        for rows in ("targets", "offsets"):
            have, want = (
                np.concatenate(comm.allgatherv(np.diff(block.offsets) if rows == "offsets" else block.targets))
                for block in (original.block, before)
            )
            np.testing.assert_array_equal(have, want)
        ids = original.vertices()
        kept = original.with_columns(third=(ids, ids % 3))
        kept.drop_rows()
        np.testing.assert_array_equal(kept.columns["third"], kept.vertices() % 3)
        assert (original.hub(), original.fingerprint()) == (hub, Graph(before, comm).fingerprint())

    succeed(3, work)
