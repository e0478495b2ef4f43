"""Weights that no shortest path can use: they stop algorithms that read weights, and no others."""

import io
from pathlib import Path

import emulated
import numpy as np
import pytest
import scipy.sparse
import signed_arcs
from flat_run import flat_run
from loading import loaded, written

import dgraph
from dgraph.algorithms.apsp import SEARCHES, VARIANTS
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError
from dgraph.graph.stored_graph import Graph

BIG = (1 << 63) + 2048
EDGES = "5 6 1.5\n6 7 {}\n1 2 {}\n2 5 0.5\n"


@pytest.fixture
def path(tmp_path_factory):
    """Function that writes a file on rank 0 and returns its path on all ranks."""
    comm = world()
    folder = Path(comm.bcast_json(str(tmp_path_factory.mktemp("weights")) if comm.rank == 0 else None))

    def write(name, content):
        with comm.together():
            if comm.rank == 0:
                written(folder, name, content)
        return str(folder / name)

    return write


def distances(result):
    table = result.gather()
    return dict(zip(table["vertex"].tolist(), table["distance"].tolist(), strict=True)) if table is not None else None


@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["auto", "hash"])
@pytest.mark.parametrize("wrong", ["inf", "-Infinity", "-4"])
def test_weights_that_cannot_be_used_stop_the_algorithms_that_use_them(wrong, policy, path):
    file = path("a.txt", EDGES.format(wrong, wrong))
    graph = Graph.load(file, directed=False)
    assert flat_run("cc", graph, policy=policy).summary["components"] == 1
    assert flat_run("bfs", graph, source=1, policy=policy).summary["depth"] == 4
    with pytest.raises(DataError, match=rf"a\.txt: the edge 1 → 2 weighs {wrong.lower()[:4]}.*; .*--weights"):
        flat_run("sssp", graph, source=1, policy=policy)
    column = distances(flat_run("sssp", file, source=1, directed=False, weights="unit", policy=policy))
    if world().rank == 0:
        assert column == {1: 0, 2: 1, 5: 2, 6: 3, 7: 4}


OVERFLOWS = [
    ("sssp", {"source": 0}), ("multi_source_sssp", {"sources": [0, 3]}),
    ("multi_source_sssp", {"sources": [0, 3], "return_predecessors": True}),
    ("multi_source_sssp", {"sources": [0, 3], "min_only": True}), ("closeness", {"weighted": True}),
    *(("apsp", {"variant": variant}) for variant in VARIANTS),
    ("apsp", {"return_predecessors": True}),
]  # fmt: skip
"""Algorithms that find distances by weights ≥ 0, with their parameters."""


def overflowing(weights, comm=None, **options):
    """Return the path of these weights, with its arcs spread over the ranks."""
    ids = np.arange(len(weights))
    return signed_arcs.graph(len(weights) + 1, ids, ids + 1, np.array(weights), comm, **options)


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "parameters"), OVERFLOWS)
def test_distances_beyond_the_largest_float_are_refused(name, parameters):
    """No vertex counts as unreached because a sum is infinite; a large sum that is finite is an answer."""
    with pytest.raises(DataError, match=r"a distance through vertex 1 passes 1\.8e\+308; use small weights"):
        dgraph.run(name, overflowing([1e308, 1e308, 1.0, 2.0]), **parameters)
    dgraph.run(name, overflowing([8e307, 1.0, 1e300]), validate=name != "closeness", **parameters)


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["sssp", "multi_source_sssp"])
def test_distances_beyond_float32(name):
    graph, which = overflowing(np.float32([3e38, 3e38, 1.0])), {"source": 0} if name == "sssp" else {"sources": [0]}
    with pytest.raises(DataError, match=r"a distance through vertex 1 passes 3\.4e\+38"):
        dgraph.run(name, graph, **which)
    assert dgraph.run(name, graph, cutoff=3.1e38, **which).summary.get("reached", 2) == 2
    assert dgraph.apsp(graph).summary["farthest"] == pytest.approx(6e38)
    with pytest.raises(DataError, match=r"a distance through vertex 0 passes 3\.4e\+38"):
        dgraph.apsp(overflowing([1e39, 1.0]), dtype="float32")


@pytest.mark.mpi
@pytest.mark.parametrize("variant", VARIANTS)
def test_distances_beyond_the_largest_float_among_negative_weights(variant):
    with pytest.raises(DataError, match=r"a distance through vertex [12] passes 1\.8e\+308"):
        dgraph.apsp(overflowing([-1e308, -1e308, 1.0]), variant=variant)
    with pytest.raises(DataError, match=r"a distance through vertex 1 passes 1\.8e\+308"):
        dgraph.apsp(overflowing([1e308, 1e308, -1.0]), variant=variant)


@pytest.mark.mpi
@pytest.mark.parametrize("variant", ["bellman-ford", "workfront"])
@pytest.mark.parametrize(("weights", "vertex"), [([-1e308, -1e308, 1.0], 2), ([1e308, 1e308, -1.0], 1)])
def test_distances_of_one_source_among_negative_weights(variant, weights, vertex):
    with pytest.raises(DataError, match=rf"a distance through vertex {vertex} passes 1\.8e\+308"):
        dgraph.sssp(overflowing(weights), 0, variant=variant)


@pytest.mark.mpi
def test_a_sum_of_distances_beyond_the_largest_float_is_refused():
    """Closeness would be 0, as that of a vertex that no other reaches."""
    graph = signed_arcs.graph(3, np.array([0, 1]), np.array([2, 2]), np.array([1e308, 1e308]))
    with pytest.raises(DataError, match=r"the sum of distances to vertex 2 passes 1\.8e\+308"):
        dgraph.closeness(graph, weighted=True)


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("multi_source_sssp", {"sources": [0, 3]}), ("closeness", {"weighted": True}),
        *(("apsp", {"variant": variant}) for variant in ("auto", "blocked", "johnson")),
        *(("apsp", {"variant": "johnson", "search": search}) for search in SEARCHES[1:]),
        ("apsp", {"variant": "blocked", "products": "streamed"}),
    ],
)  # fmt: skip
def test_distances_beyond_the_largest_float_are_refused_on_a_gpu(name, parameters):
    graph = overflowing([1e308, 1e308, 1.0, 2.0], SerialComm())
    with pytest.raises(DataError, match=r"a distance through vertex 1 passes 1\.8e\+308"):
        flat_run(name, graph, backend=emulated.backend(), **parameters)


@pytest.mark.mpi
def test_a_program_of_a_user_is_refused_infinite_weights_too(path):
    from dgraph.program import MIN, Field, Program

    class Lightest(Program):
        light = Field("float64", reduce=MIN)

        def init(self, v, g):
            return {"light": 9.0, "active": True}

        def edge(self, u, e, v):
            return {"light": 0.0 * u.light + e.weight}

    with pytest.raises(DataError, match=r"a\.txt: the edge 1 → 2 weighs inf; a weight that is used must be finite"):
        dgraph.run(Lightest(), path("a.txt", EDGES.format("inf", "inf")))


@pytest.mark.mpi
def test_integers_above_63_bits_become_floats_with_a_note(path):
    comm = world()
    matrix = scipy.sparse.coo_array((np.array([3, BIG, 7], np.uint64), ([0, 1, 2], [1, 2, 3])), shape=(4, 4))
    out = io.BytesIO()
    scipy.sparse.save_npz(out, matrix)
    src, dst = (np.array(ends) for ends in ([0, 1, 2], [1, 2, 3]))
    mine = slice(comm.rank, None, comm.size)
    graphs = [
        Graph.load(path("a.npz", out.getvalue())),
        Graph.from_edges(src[mine], dst[mine], matrix.data[mine], n=4),
        Graph.from_csr(*rows(comm, matrix.tocsr())),
    ]
    for graph in graphs:
        assert graph.weight_type == np.float64
        assert any("beyond 63 bits" in note for note in graph.facts.notes)
        assert dgraph.run("bfs", graph, source=0).summary["depth"] == 3
    column = distances(dgraph.run("sssp", graphs[0], source=0))
    if comm.rank == 0:
        assert column == {0: 0, 1: 3, 2: 3 + float(BIG), 3: 10 + float(BIG)}
    small = Graph.from_edges(src[mine], dst[mine], (matrix.data % 100)[mine], n=4)
    assert (small.weight_type, small.facts.notes) == (np.int64, [])


def rows(comm, matrix):
    """Return this rank's rows of a matrix as ``from_csr`` takes them."""
    low, high = (matrix.shape[0] * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    offsets = matrix.indptr[low : high + 1].astype(np.int64)
    part = slice(offsets[0], offsets[-1])
    return offsets - offsets[0], matrix.indices[part].astype(np.int64), matrix.data[part]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_tables_of_64_bit_weights(ranks, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"source": [0, 1, 2], "target": [1, 2, 3], "weight": pyarrow.array([3, BIG, 7], pyarrow.uint64())}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    graph = loaded(tmp_path / "a.parquet", ranks)
    assert graph.arcs == [(0, 1, 3.0), (1, 2, float(BIG)), (2, 3, 7.0)]
    assert any("beyond 63 bits" in note for note in graph.facts.notes)
    columns["weight"] = ["three", None, "seven"]
    parquet.write_table(pyarrow.table(columns), tmp_path / "b.parquet")
    assert loaded(tmp_path / "b.parquet", ranks, weights="unit").arcs == [(0, 1, 1), (1, 2, 1), (2, 3, 1)]


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("ids", ["integer", "string"])
def test_text_of_64_bit_weights(ids, ranks, tmp_path):
    path = written(tmp_path, "a.txt", f"0 1 3\n1 2 {BIG}\n2 3 7\n")
    graph = loaded(path, ranks, ids=ids)
    assert graph.arcs == [(0, 1, 3.0), (1, 2, float(BIG)), (2, 3, 7.0)]
    assert any("beyond 63 bits" in note for note in graph.facts.notes)
    path = written(tmp_path, "b.txt", "0 1 3\n1 2 0.12345678901234567890\n2 3 1e300\n")
    assert not any("beyond 63 bits" in note for note in loaded(path, ranks, ids=ids).facts.notes)


UNIT = [
    ("a.txt", "0 1 nan\n1 2 1e999\n2 0 99999999999999999999\n", "0 1 3\n1 2\n2 0 1\n"),
    ("a.csv", "0,1,?\n1,2,1e999\n2,0,x-y\n", "0,1,3\n1,2\n2,0,1\n"),
    ("a.wel", "0 1 nan\n1 2 x\n2 0 5\n", "0 1 3\n1 2\n2 0 1\n"),
    ("a.gr", "p sp 3 3\na 1 2 nan\na 2 3 ?\na 3 1 1\n", "p sp 3 2\na 1 2 3\na 2 3\n"),
    ("a.mtx", "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 1.5\n2 3 x\n",
     "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 1\n2 3\n"),
    ("a.e", "0 1 nan\n1 2 x\n2 0 5\n", "0 1 3\n1 2\n2 0 1\n"),
    ("a.graph", f"3 2 1\n2 {BIG << 1} 3 1\n1 5\n1 7\n", "3 2 1\n2 5 3\n1 5\n1 7\n"),
]  # fmt: skip


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(("name", "content", "missing"), UNIT)
def test_weights_that_are_replaced_are_not_read_but_must_be_there(name, content, missing, ranks, tmp_path):
    path = written(tmp_path, name, content)
    with pytest.raises(DataError):
        loaded(path, ranks)
    for rule in ("unit", "1..9"):
        graph = loaded(path, ranks, weights=rule)
        assert graph.m == 3 - (name in ("a.mtx", "a.graph"))
        assert (graph.weights is None) == (rule == "unit")
    with pytest.raises(DataError, match=r"missing|empty"):
        loaded(written(tmp_path, name, missing), ranks, weights="unit")


@pytest.mark.parametrize("ranks", [1, 3])
def test_words_with_weights_that_are_replaced(ranks, tmp_path):
    path = written(tmp_path, "a.txt", "anna ben nan\nben carl x\n")
    with pytest.raises(DataError, match=r"the weight .*is not a number"):
        loaded(path, ranks, ids="string")
    assert loaded(path, ranks, ids="string", weights="unit").m == 2
    with pytest.raises(DataError, match="a column is missing"):
        loaded(written(tmp_path, "a.txt", "anna ben 1\nben carl\ncarl anna 2\n"), ranks, ids="string", weights="unit")


@pytest.mark.parametrize("ranks", [1, 3])
def test_infinite_weights_are_read_and_kept(ranks, tmp_path):
    path = written(tmp_path, "a.txt", "0 1 inf\n0 1 2\n1 2 -INFINITY\n2 0 +Inf\n")
    assert loaded(path, ranks).arcs == [(0, 1, 2.0), (1, 2, -np.inf), (2, 0, np.inf)]
    path = written(tmp_path, "b.txt", "anna ben inf\nben anna 2\nanna carl 1.5\n")
    assert sorted(w for *_, w in loaded(path, ranks, ids="string").arcs) == [1.5, 2.0, np.inf]
