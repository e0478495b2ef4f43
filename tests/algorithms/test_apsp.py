"""All pairs on any number of ranks and policies, against SciPy's and NetworkX's distances."""

import itertools

import networkx as nx
import numpy as np
import pytest
from battery import CASES
from scipy.sparse import csgraph, csr_array
from signed_arcs import dense, graph, signed
from test_battery import combinations, solve

import dgraph
from dgraph.algorithms.apsp import VARIANTS
from dgraph.algorithms.apsp_parts import elimination
from dgraph.algorithms.apsp_parts.minplus_cpu import FIRST, MinPlus
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError, OutOfMemory, UsageError
from dgraph.validate import validate

METHODS = VARIANTS[1:]


def check(matrix, wanted, what, rtol=0.0):
    """Compare this rank's rows; all ranks raise together."""
    with world().together():
        rows = wanted[matrix.first : matrix.first + len(matrix.here)]
        np.testing.assert_allclose(matrix.here, rows, rtol=rtol, err_msg=str(what))


@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_battery(name):
    case = CASES[name]
    dtype = case.dtypes[0]
    n, src, dst, weights = case.arcs(dtype)
    wanted = csgraph.dijkstra(csr_array((weights.astype(float), (src, dst)), (n, n)))
    for step, chosen in enumerate(combinations(name)):
        method = METHODS[(step + world().size + len(name)) % len(METHODS)]
        options = {} if method == "johnson" else {"block": 7}
        result, vertices = solve("apsp", name, dtype, chosen, variant=method, **options)
        check(result.matrix, wanted, (chosen, method), 0 if dtype.startswith("int") else 1e-6)
        with world().together():
            np.testing.assert_array_equal(result.columns["reached"], np.isfinite(wanted).sum(axis=1)[vertices])
            assert result.matrix.ids.tolist() == case.vertices.tolist()


@pytest.mark.mpi
@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_every_method_takes_negative_weights(kind):
    n, src, dst, weights = signed()
    apart = src != dst
    wanted = csgraph.johnson(dense(n, src[apart], dst[apart], weights[apart]))
    scale = 1 if kind is np.int32 else 0.1
    loaded = graph(n, src, dst, (weights * scale).astype(kind))
    for method in METHODS:
        result = dgraph.apsp(loaded, variant=method, block=None if method == "johnson" else 9, validate=True)
        with world().together():
            rows = wanted[result.matrix.first :][: len(result.matrix.here)] * scale
            near = {"rtol": 0} if scale == 1 else {"rtol": 1e-12, "atol": 1e-12}
            np.testing.assert_allclose(result.matrix.here, rows, **near)
            assert result.matrix.dtype == ("float32" if scale == 1 else "float64")


@pytest.mark.mpi
@pytest.mark.parametrize("method", METHODS)
def test_a_negative_cycle_is_named(method):
    src, dst = np.array([0, 1, 2, 3, 4, 3]), np.array([1, 2, 3, 4, 2, 5])
    with pytest.raises(DataError, match="negative cycle, 2 → 3 → 4 → 2: "):
        dgraph.apsp(graph(6, src, dst, np.array([1, 1, 2, -4, 1, 1])), variant=method)


@pytest.mark.mpi
def test_paths_are_shortest():
    n, src, dst, weights = signed()
    result = dgraph.apsp(graph(n, src, dst, weights))
    reference = nx.MultiDiGraph()
    reference.add_nodes_from(range(n))
    reference.add_weighted_edges_from(zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True))
    for u, v in ((0, 7), (3, 39), (5, 5), (11, 2)):
        path, length = result.matrix.path(u, v), result.matrix.value(u, v)
        with world().together():
            assert length == nx.bellman_ford_path_length(reference, u, v)
            assert (path[0], path[-1]) == (u, v)
            steps = itertools.pairwise(path)
            assert sum(min(arc["weight"] for arc in reference[x][y].values()) for x, y in steps) == length
    rows = result.matrix.rows([4, 0, 4])
    whole = result.matrix.gather()
    with world().together():
        assert whole is None or np.array_equal(rows, whole[[4, 0, 4]])
    with pytest.raises(UsageError, match="99 is not a vertex"):
        result.matrix.path(0, 99)


@pytest.mark.mpi
def test_names_and_missing_paths(tmp_path_factory):
    comm = world()
    folder = comm.bcast_json(str(tmp_path_factory.mktemp("names")) if comm.rank == 0 else None)
    if comm.rank == 0:
        with open(f"{folder}/g.csv", "w") as file:
            file.write("b,a\na,d\n")
    comm.barrier()
    result = dgraph.apsp(dgraph.Graph.load(f"{folder}/g.csv", ids="string", header=False, directed=True, comm=comm))
    assert result.matrix.path("b", "d") == ["b", "a", "d"]
    assert result.matrix.path("d", "b") == []
    result.save(f"{folder}/d.parquet")
    result.save(f"{folder}/d.npz")
    with comm.together():
        import pyarrow.parquet as parquet

        rows = parquet.read_table(f"{folder}/d.parquet").to_pylist()
        assert [tuple(row.values()) for row in rows] == [
            ("a", "a", 0), ("a", "d", 1), ("b", "a", 1), ("b", "b", 0), ("b", "d", 2), ("d", "d", 0),
        ]  # fmt: skip
        archive = np.load(f"{folder}/d.npz")
        assert archive["vertex"].tolist() == ["a", "b", "d"]
        assert archive["distance"].tolist() == [[0, np.inf, 1], [1, 0, 2], [np.inf, np.inf, 0]]


@pytest.mark.mpi
def test_the_matrix_lies_in_a_file_if_memory_is_short(tmp_path_factory, monkeypatch):
    comm = world()
    folder = comm.bcast_json(str(tmp_path_factory.mktemp("short")) if comm.rank == 0 else None)
    n, src, dst, weights = signed()
    loaded = graph(n, src, dst, weights)
    wanted = dgraph.apsp(loaded)
    wanted.save(f"{folder}/saved.npy")
    monkeypatch.setattr("dgraph.algorithms.apsp_parts.matrix_plan.beside_matrix", lambda *_: 0)
    monkeypatch.setattr("dgraph.engine.rounds.passes.free_memory", lambda: 1000)
    with pytest.raises(OutOfMemory, match=r"1,?600|bytes on a rank \(4 bytes a pair"):
        dgraph.apsp(loaded)
    for method in ("auto", "johnson", "blocked"):
        result = dgraph.apsp(loaded, variant=method, matrix_file=f"{folder}/kept.npy", validate=True)
        result.save(f"{folder}/kept.npy")
        with comm.together():
            np.testing.assert_array_equal(np.load(f"{folder}/kept.npy"), np.load(f"{folder}/saved.npy"))
            assert isinstance(result.matrix.here, np.memmap)
    with pytest.raises(UsageError, match=r"not an \.npy file"):
        dgraph.apsp(loaded, matrix_file="d.csv")


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("spec", "taken"), [("grid:36x36", "separators"), ("complete:300", "blocked"), ("path:900", "johnson")]
)
def test_the_method_is_chosen_by_estimates(spec, taken, monkeypatch):
    """Check that auto takes each method on its kind of graph, and gives the same distances."""
    monkeypatch.setattr("dgraph.algorithms.apsp_parts.matrix_plan.SEARCHED", 1e-9 if taken == "johnson" else 30e-9)
    loaded = dgraph.Graph.load(spec, weights="1..9", comm=world())
    result = dgraph.apsp(loaded)
    assert {"what": "variant", "taken": taken} in [
        {name: choice[name] for name in ("what", "taken")} for choice in result.report["choices"]
    ]
    other = dgraph.apsp(loaded, variant="blocked" if taken == "johnson" else "johnson")
    with world().together():
        np.testing.assert_array_equal(result.matrix.here, other.matrix.here)


@pytest.mark.mpi
@pytest.mark.parametrize("weights", ["0..9", "1..1000000"])
@pytest.mark.parametrize("spec", ["rmat:9", "grid:23x17"])
def test_searches_in_lanes_find_the_distances_of_a_heap(spec, weights, monkeypatch):
    loaded = dgraph.Graph.load(spec, weights=weights, comm=world())
    wanted = dgraph.apsp(loaded, variant="johnson")
    monkeypatch.setattr("dgraph.algorithms.apsp_parts.matrix_plan.IN_LANES", 0.0)
    monkeypatch.setattr(MinPlus, "search", None)
    monkeypatch.setattr(FIRST, "runs_plain", lambda args: False)
    result = dgraph.apsp(loaded)
    assert {choice["what"]: choice["taken"] for choice in result.report["choices"]}["variant"] == "johnson"
    with world().together():
        assert result.matrix.here.dtype == wanted.matrix.here.dtype
        np.testing.assert_array_equal(result.matrix.here, wanted.matrix.here)


@pytest.mark.mpi
@pytest.mark.parametrize("zero", [False, True])
def test_the_certificate_catches_wrong_distances(zero):
    """Check a distance too long, too short, invented, missing, and one held up by a cycle of weight 0 alone."""
    src, dst = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 2])
    loaded = graph(5, src, dst, np.array([1, 2, 0, 0]) if zero else np.array([1, 2, 3, 4]))
    result = dgraph.apsp(loaded, validate=True)
    columns = dict(result.columns)

    def failure(changes):
        rows = result.matrix.here.copy()
        for u, v, value in changes:
            if result.matrix.first <= u < result.matrix.first + len(rows):
                rows[u - result.matrix.first, v] = value
        verdict = validate("apsp", loaded.block, columns, world(), parameters={}, rounds=0, matrix=rows)
        return verdict.failure or ""

    assert failure([]) == ""
    assert "from 0 to 2 it is 4.0" in failure([(0, 2, 4)])
    assert "from 0 to 2 it is 2.0" in failure([(0, 2, 2)])
    assert "from 0 to 4 it is 7.0" in failure([(0, 4, 7)])
    assert "from 1 to 3" in failure([(1, 3, np.inf)])
    assert "the distance from 4 to itself is 1.0" in failure([(4, 4, 1)])
    assert ("no arcs give 9.0 as the distance from 4 to 2" if zero else "in-arcs") in failure([(4, 2, 9), (4, 3, 9)])


@pytest.mark.mpi
@pytest.mark.parametrize(("method", "products"), [("auto", 11), ("blocked", 13)])
def test_pivots_of_auto_are_vertices_inside_paths(method, products):
    """Inner vertices of 37: 33, and those of the path 0 … 31, 36, 35 but its ends; 32 has one neighbour, on a cycle."""
    ends = [*itertools.pairwise(range(32)), (32, 33), (33, 32), (34, 35), (34, 33), (36, 36), (36, 35), (31, 36)]
    src, dst = np.array(ends).T
    weights = np.arange(1, len(ends) + 1)
    joined = csr_array((weights * (src != dst), (src, dst)), (37, 37))
    result = dgraph.apsp(graph(37, src, dst, weights, directed=True), variant=method, block=3)
    check(result.matrix, csgraph.dijkstra(joined), method)
    assert result.summary["products"] == products


def test_the_matrix_is_an_array():
    matrix = dgraph.apsp("path:5").matrix
    distances = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    whole = np.asarray(matrix)
    assert (whole.dtype, whole.shape) == (matrix.dtype, matrix.shape)
    np.testing.assert_array_equal(whole, distances)
    np.testing.assert_array_equal(matrix, distances)
    assert np.asarray(matrix, np.float64).dtype == np.array(matrix, dtype="float64", copy=True).dtype == np.float64
    assert not np.shares_memory(np.array(matrix), matrix.here)
    assert np.shares_memory(whole, matrix.here) == (world().size == 1)
    assert float(np.max(matrix)) == 4
    if world().size == 1:
        assert np.shares_memory(matrix.__array__(copy=False), matrix.here)
    for dtype, refused in ((None, world().size > 1), ("int32", True)):
        if refused:
            with pytest.raises(ValueError, match="needs new memory"):
                matrix.__array__(dtype, copy=False)


@pytest.mark.mpi_skip
@pytest.mark.parametrize("tall", [1, 7, 64])
@pytest.mark.parametrize(("spec", "half"), [("rmat:8,symmetric", True), ("grid:15x13", True), ("rmat:8", False)])
def test_one_triangle_of_a_symmetric_matrix_is_computed(tall, spec, half, monkeypatch):
    monkeypatch.setattr(elimination, "TALL", tall)
    monkeypatch.setattr("dgraph.algorithms.apsp_parts.matrix_plan.SEARCHED", 1.0)  # auto takes products
    products, usual = [], MinPlus.update

    def counted(self, c, rows, columns, a, b):
        products.append(len(a) * (columns.stop - columns.start) if len(c) == loaded.n else 0)
        usual(self, c, rows, columns, a, b)

    monkeypatch.setattr(elimination, "COPIED", 0)

    monkeypatch.setattr(MinPlus, "update", counted)
    loaded = dgraph.Graph.load(spec, weights="1..255", comm=SerialComm(), device="cpu")
    result = dgraph.apsp(loaded, block=33)
    share = sum(products) / (result.summary["products"] * loaded.n**2)
    assert share < 0.5 + tall / loaded.n if half else share == 1
    np.testing.assert_array_equal(result.matrix.here, dgraph.apsp(loaded, variant="johnson").matrix.here)


@pytest.mark.mpi_skip
def test_weights_that_round_take_the_whole_matrix(monkeypatch):
    monkeypatch.setattr(elimination.Elimination, "_eliminate_half", None)
    loaded = dgraph.Graph.load("grid:15x13", weights="0.5..2.5", comm=SerialComm(), device="cpu")
    dgraph.apsp(loaded)
    with pytest.raises(TypeError):
        dgraph.apsp(dgraph.Graph.load("grid:15x13", weights="1..9", comm=SerialComm(), device="cpu"))


@pytest.mark.mpi_skip
def test_vertices_of_one_neighbour_are_left_out_of_products():
    paths = [
        (0, 1, 4),
        (1, 2, 3),
        (2, 0, 2),
        (2, 3, 9),
        (3, 4, 1),
        (0, 5, 7),
        (6, 7, 5),
        (1, 8, 6),
        (1, 9, 2),
        (9, 1, 3),
    ]
    src, dst, weights = np.array(paths).T
    loaded = dgraph.Graph.from_edges(src, dst, weights, n=12, directed=False, comm=SerialComm(), device="cpu")
    result = dgraph.apsp(loaded, block=2)
    assert result.summary["products"] == 2  # the four vertices 0, 1, 2 and 3 are between others
    np.testing.assert_array_equal(result.matrix.here, dgraph.apsp(loaded, variant="johnson").matrix.here)
