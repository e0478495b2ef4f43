"""Graph handles from arrays of edges, from rows and from files; and refused inputs."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import agreed, cleaned, figures, joined, share
from simulated import on_ranks

from dgraph.algorithms import Algorithm, Parameter, algorithm
from dgraph.comm import SerialComm
from dgraph.errors import DataError, UsageError
from dgraph.graph.stored_graph import Graph
from dgraph.run import run

EDGES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(-3, 3)), min_size=1, max_size=30)


def whole(ranks, make):
    """Return the graph that ``make(comm)`` makes on ``ranks`` threads."""

    def work(comm):
        graph = make(comm)
        return share(graph.block, comm)

    return joined(agreed(on_ranks(ranks, work)))


def part(comm, *columns):
    return [column[comm.rank :: comm.size] for column in columns]


@settings(max_examples=40)
@given(EDGES, st.integers(1, 3), st.booleans(), st.sampled_from(["i1", "u2", "i4", "u4", "i8", "u8", ">i4"]))
def test_edges_of_any_integers(edges, ranks, directed, dtype):
    src, dst, weights = (np.array(column) for column in zip(*edges, strict=True))

    def make(comm):
        u, v, w = part(comm, src.astype(dtype), dst.astype(dtype), weights)
        return Graph.from_edges(u, v, w, directed=directed, comm=comm)

    n = max(max(u, v) for u, v, _ in edges) + 1
    assert figures(whole(ranks, make)) == cleaned(edges, directed, vertices=range(n))


def test_edges_keep_what_they_are_asked_to():
    edges = [(0, 0, 2), (0, 1, 3), (0, 1, 1)]
    src, dst, weights = (list(column) for column in zip(*edges, strict=True))
    graph = whole(2, lambda comm: Graph.from_edges(
        *part(comm, src, dst, weights), n=4, comm=comm, keep_loops=True, keep_parallel=True
    ))  # fmt: skip
    assert figures(graph) == cleaned(edges, True, vertices=range(4), keep_loops=True, keep_parallel=True)
    sparse = whole(2, lambda comm: Graph.from_edges(*part(comm, [5, 1 << 60], [9, 5]), comm=comm, sparse_ids=True))
    assert figures(sparse) == cleaned([(5, 9, 1), (1 << 60, 5, 1)], True)


@pytest.mark.parametrize(
    ("given_", "kept"),
    [("i1", "i4"), ("?", "i4"), ("u4", "i8"), ("u8", "i8"), ("f2", "f4"), (">f8", "f8"), ("f4", "f4"), ("i8", "i8")],
)
def test_weights_are_widened_to_what_a_graph_holds(given_, kept):
    graph = Graph.from_edges([0, 1], [1, 2], np.array([1, 0], given_), comm=SerialComm())
    assert graph.block.weights.dtype == kept
    assert graph.block.weights.tolist() == [1, 0]


def test_ranks_agree_on_one_type_of_weight():
    def make(comm):
        weights = [np.array([1], np.int32), np.array([0.5], np.float32), None][comm.rank]
        ends = ([], []) if weights is None else ([comm.rank], [2])
        return Graph.from_edges(*ends, weights, comm=comm)

    assert whole(3, make).weights == np.float64


BAD_EDGES = [
    (([0, -1], [1, 1]), {}, DataError, r"src\[1\] is -1"),
    (([0, 1], [1, 9]), {"n": 3}, DataError, r"dst\[1\] is 9; it must be within 0 \.\. 2"),
    (([0, 1], [1, 2], [0.5, np.nan]), {}, DataError, r"weights\[1\] is nan"),
    (([0, 1], [1, 2], [0.5, np.nan]), {}, DataError, r"weights\[1\] is nan"),
    (([0.5, 1.5], [1, 2]), {}, UsageError, "src: got an array of float64; ids are integers"),
    (([0, 1], [1]), {}, UsageError, "dst has 1 values, src 2"),
    (([0, 1], [1, 2], [1]), {}, UsageError, "weights has 1 values, src 2"),
    (([[0, 1]], [1]), {}, UsageError, "src: got values of list"),
    (([0], [1], ["a"]), {}, UsageError, "weights: got values of str"),
    (([0], [np.uint64(1 << 63)]), {}, DataError, r"dst\[0\] is 9223372036854775808"),
    (([0], [1 << 50]), {}, DataError, "only 1 edges; pass sparse_ids=True"),
    (([], []), {}, UsageError, "pass n"),
    (([0], [1]), {"n": 0}, UsageError, "at least one vertex"),
]


@pytest.mark.parametrize(("edges", "more", "error", "message"), BAD_EDGES)
@pytest.mark.parametrize("ranks", [1, 2])
def test_bad_edges_are_refused_on_every_rank(edges, more, error, message, ranks):
    def work(comm):
        mine = edges if comm.rank == 0 else ([], [], [])[: len(edges)]
        return Graph.from_edges(*mine, **more, comm=comm)

    with pytest.raises(error, match=message):
        agreed(on_ranks(ranks, work))


def test_ranks_that_disagree_are_told():
    with pytest.raises(UsageError, match=r"n is \[3, 4\] on the ranks"):
        agreed(on_ranks(2, lambda comm: Graph.from_edges([0], [1], n=3 + comm.rank, comm=comm)))
    with pytest.raises(UsageError, match="rank 1 passed no weights, others did"):
        agreed(on_ranks(2, lambda comm: Graph.from_edges([0], [1], [[5], None][comm.rank], comm=comm)))


def csr(n, directed, seed=1):
    rng = np.random.default_rng(seed)
    matrix = scipy.sparse.random(n, n, 0.2, rng=rng, format="csr")
    matrix.setdiag(0)
    matrix = matrix if directed else matrix.maximum(matrix.T)
    matrix = scipy.sparse.csr_array(matrix)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def rows_of(matrix, comm):
    """Return this rank's rows of a CSR matrix."""
    lo, hi = (matrix.shape[0] * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    cut = slice(matrix.indptr[lo], matrix.indptr[hi])
    return matrix.indptr[lo : hi + 1] - matrix.indptr[lo], matrix.indices[cut], matrix.data[cut]


def listed(matrix):
    table = matrix.tocoo()
    return list(zip(table.coords[0].tolist(), table.coords[1].tolist(), table.data.tolist(), strict=True))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("ranks", [1, 2, 3, 12])
def test_rows_are_taken_as_they_are(directed, ranks):
    matrix = csr(10, directed)
    graph = whole(ranks, lambda comm: Graph.from_csr(*rows_of(matrix, comm), directed=directed, comm=comm))
    edges = [(u, v, w) for u, v, w in listed(matrix) if directed or u <= v]
    assert figures(graph) == cleaned(edges, directed, vertices=range(10))
    assert graph.facts.largest_degree == np.diff(matrix.indptr).max()


@pytest.mark.parametrize("dtype", [np.uint32, np.int32])
def test_arrays_that_change_after_the_call_leave_the_graph_as_it_is(dtype):
    matrix = csr(10, True)
    offsets, targets = matrix.indptr.astype(np.int64), matrix.indices.astype(dtype)
    expected = listed(matrix)
    graphs = [Graph.from_csr(offsets, targets, matrix.data, comm=SerialComm()), Graph.from_scipy(matrix)]
    for array in (offsets, targets, matrix.indices, matrix.data):
        array[:] = 0
    for graph in graphs:
        block = graph.block
        arcs = zip(block.sources().tolist(), block.targets.tolist(), block.weights.tolist(), strict=True)
        assert list(arcs) == expected


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("directed", [True, False])
def test_rows_that_are_not_clean_are_cleaned(directed, ranks):
    edges = [(0, 2, 5), (0, 1, 3), (0, 2, 4), (1, 0, 3), (2, 2, 1), (2, 0, 5), (2, 0, 4)]
    matrix = scipy.sparse.csr_array(
        (np.array([w for *_, w in edges]), np.array([v for _, v, _ in edges]), np.array([0, 3, 4, 7])), shape=(3, 3)
    )
    graph = whole(ranks, lambda comm: Graph.from_csr(*rows_of(matrix, comm), directed=directed, comm=comm))
    assert graph.arcs == [(0, 1, 3), (0, 2, 4), (1, 0, 3), (2, 0, 4)]
    assert (graph.m, graph.facts.loops, graph.facts.duplicates) == ((4, 1, 2) if directed else (2, 1, 1))


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("falling", [False, True])
def test_loops_and_parallel_edges_of_rows_stay_where_they_are_asked_for(directed, falling, ranks):
    edges = [(0, 1, 3), (0, 2, 4), (0, 2, 5), (1, 0, 3), (2, 0, 4), (2, 0, 5), (2, 2, 1), (2, 2, 2)]
    if falling:
        edges[1], edges[2] = edges[2], edges[1]
    rows, columns, weights = (np.array(column) for column in zip(*edges, strict=True))
    matrix = scipy.sparse.csr_array((weights, columns, np.searchsorted(rows, np.arange(4))), shape=(3, 3))
    keep = {"keep_loops": True, "keep_parallel": True}
    graph = whole(ranks, lambda comm: Graph.from_csr(*rows_of(matrix, comm), directed=directed, comm=comm, **keep))
    edges = [edge for edge in edges if directed or edge[0] <= edge[1]]
    assert figures(graph) == cleaned(edges, directed, vertices=range(3), **keep)


BAD_ROWS = [
    (([0, 1], [1]), {}, DataError, r"targets\[0\] is 1; it must be within 0 \.\. 0"),
    (([0, 2], [0]), {}, DataError, "offsets go from 0 to 2 over 1 targets"),
    (([0, 2, 1], [0]), {}, DataError, "they ascend"),
    (([1, 2], [0, 0]), {}, DataError, "offsets go from 1"),
    (([], []), {}, UsageError, "offsets: pass a 1-D array"),
    (([0], []), {}, UsageError, "no row on any rank"),
    (([0, 1, 1], [1], [np.nan]), {}, DataError, r"weights\[0\] is nan"),
    (([0, 1, 1], [1], [1, 2]), {}, UsageError, "weights has 2 values, targets 1"),
    (([0, 1, 1], [1]), {"directed": False}, DataError, "some arc lacks its reverse"),
    (([0, 1, 2], [1, 0], [1, 2]), {"directed": False}, DataError, "some arc lacks its reverse"),
    (([0, 1, 2], [1, 0], [1 << 60, (1 << 60) + 1]), {"directed": False}, DataError, "some arc lacks its reverse"),
]


@pytest.mark.parametrize(("given_", "more", "error", "message"), BAD_ROWS)
def test_bad_rows_are_refused(given_, more, error, message):
    with pytest.raises(error, match=message):
        Graph.from_csr(*given_, **more, comm=SerialComm())


def test_the_handle_says_what_it_holds():
    graph = Graph.from_edges([0, 1], [1, 2], comm=SerialComm())
    assert (graph.n, graph.m, graph.directed) == (3, 2, True)
    assert repr(graph).startswith("<Graph edges: 3 vertices · 2 edges, directed, unweighted")
    both = graph.undirected()
    assert (both.n, both.m, both.directed, both.block.arcs) == (3, 2, False, 4)
    assert graph.undirected().block is both.block
    assert both.undirected() is both


def test_load_takes_the_options_by_name(tmp_path):
    (tmp_path / "a.txt").write_text("1 2\n2 2\n")
    graph = Graph.load(str(tmp_path / "a.txt"), comm=SerialComm(), directed=False, keep_loops=True)
    assert (graph.n, graph.m, graph.directed) == (2, 2, False)
    with pytest.raises(UsageError, match="unknown option 'loops': did you mean 'keep_loops'"):
        Graph.load(str(tmp_path / "a.txt"), comm=SerialComm(), loops=True)


def test_a_graph_takes_every_option_of_loading(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("when,from,to\n1,a,b\n2,b,c\n3,c\n4,c,a\n")
    asked = {"ids": "string", "columns": "2,3", "header": True, "lenient": True, "order": "degree", "directed": False}
    graph = Graph.load(str(path), comm=SerialComm(), **asked)
    result = run("cc", graph)
    assert [*result.columns["vertex"]] == ["a", "b", "c"]
    assert result.report["graph"]["lines_dropped"] == 1
    assert result.report["graph"]["directed"] is False
    with pytest.raises(UsageError, match=r"order= is about the graph; give it to Graph.load"):
        run("cc", graph, order="degree")
    with pytest.raises(UsageError, match="unknown parameter of cc 'lenent'"):
        run("cc", graph, lenent=True)
    with pytest.raises(UsageError, match="unknown order 'degre': did you mean 'degree'"):
        Graph.load(str(path), comm=SerialComm(), order="degre")


def test_no_parameter_of_an_algorithm_has_the_name_of_an_option_of_loading():
    with pytest.raises(UsageError, match="colour: the parameter seed is also a load option"):
        algorithm("colour", Parameter("seed", int, 1, "of the order"))(type("Colour", (Algorithm,), {}))


def test_a_path_is_as_good_as_its_text(tmp_path):
    (tmp_path / "pair.el").write_text("0 1\n")
    assert run("bfs", tmp_path / "pair.el", source=0).columns["distance"].tolist() == [0, 1]
    assert Graph.load(tmp_path / "pair.el", comm=SerialComm()).m == 1


@pytest.mark.parametrize("graph", [None, 7])
def test_what_names_no_graph_is_refused(graph):
    with pytest.raises(UsageError, match=r"is not a graph; give a file, a generator NAME:SIZE, or a dgraph.Graph"):
        run("bfs", graph, source=0)


@pytest.mark.parametrize("graph", [["a.el"], np.zeros((3, 2), np.int64), [(0, 1)]])
def test_edges_in_place_of_a_graph_are_sent_to_from_edges(graph):
    with pytest.raises(UsageError, match=r"is not a graph; make one by Graph.from_edges.*\*array.T"):
        run("bfs", graph, source=0)


@pytest.mark.parametrize("source", ["0", 0.0, True])
def test_a_source_that_is_no_integer_is_refused(source):
    graph = Graph.from_edges([0, 1], [1, 2], comm=SerialComm())
    with pytest.raises(UsageError, match=r"source.* is not (a vertex|an integer)"):
        run("bfs", graph, source=source)
    assert run("bfs", graph, source=np.int32(0)).summary["reached"] == 3
