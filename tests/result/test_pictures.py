"""``Result.plot`` and ``Graph.plot``: what is drawn, against counts of the gathered columns, on any number of ranks."""

import sys

import matplotlib.figure
import networkx
import numpy as np
import pytest

import dgraph
from dgraph._support.pictures import draw_counts
from dgraph.comm import world
from dgraph.errors import OutputError, UsageError

matplotlib.use("agg")
pytestmark = [pytest.mark.mpi, pytest.mark.interpreted]


@pytest.fixture(scope="module")
def graph():
    return dgraph.Graph.load("rmat:6", directed=False, comm=world())


@pytest.fixture
def ax():
    return matplotlib.figure.Figure().add_subplot()


def drawn(line):
    """Return the points of a line as a dict."""
    return dict(zip(line.get_xdata().tolist(), line.get_ydata().tolist(), strict=True))


def counts(values):
    return dict(zip(*(part.tolist() for part in np.unique(values, return_counts=True)), strict=True))


def test_sizes_of_components(graph, ax):
    result = dgraph.cc(graph)
    axes, rows = result.plot(ax=ax), result.gather()
    if world().rank == 0:
        sizes = np.unique(rows["labels"], return_counts=True)[1]
        assert drawn(axes.lines[0]) == counts(sizes)
        assert axes.get_title() == "cc: sizes of labels"
    else:
        assert axes is None


def test_profile_of_cores(graph, ax):
    result = dgraph.kcore(graph)
    axes, rows = result.plot(ax=ax), result.gather()
    if world().rank == 0:
        cores = rows["core_number"]
        assert drawn(axes.lines[0]) == {k: int(np.sum(cores >= k)) for k in set(cores.tolist())}


def test_values_leave_out_unreached_vertices(graph, ax):
    result = dgraph.bfs(graph, source=graph.hub())
    axes, rows = result.plot(ax=ax), result.gather()
    if world().rank == 0:
        reached = rows["distance"][rows["distance"] < np.iinfo(np.int64).max]
        assert {round(bar.get_x() + 0.5): bar.get_height() for bar in axes.patches} == counts(reached)


def test_few_values_far_apart_have_bars_that_are_seen(ax):
    draw_counts(ax, np.array([0, 3, 10_908]), np.array([5, 1, 7]), logarithmic=False)
    assert min(bar.get_width() for bar in ax.patches) > np.ptp(ax.get_xlim()) / 400
    assert [bar.get_height() for bar in ax.patches] == [5, 1, 7]


def test_histogram_of_floats(graph, ax):
    axes = dgraph.pagerank(graph).plot(ax=ax)
    if world().rank == 0:
        assert axes.patches[0].get_data().values.sum() == graph.n


def test_many_distances_have_bins(ax):
    grid = dgraph.Graph.load("grid:40x40", weights="1..100000", seed=1, comm=world())
    axes = dgraph.sssp(grid, source=0).plot(ax=ax)
    if world().rank == 0:
        assert axes.patches[0].get_data().values.sum() == grid.n


def test_rounds(graph, ax):
    result = dgraph.bfs(graph, source=graph.hub())
    axes, kept = result.plot("rounds", ax=ax), result.report["rounds"]["kept"]
    if world().rank == 0:
        assert drawn(axes.figure.axes[1].lines[0]) == {row["round"]: row["frontier_vertices"] for row in kept}


def test_convergence(graph, ax):
    result = dgraph.pagerank(graph, tol=1e-4, options=dgraph.Options(record="residual"))
    axes, table = result.plot("convergence", ax=ax), result.rounds_table()
    if world().rank == 0:
        assert axes.get_yscale() == "log"
        assert drawn(axes.lines[0]) == dict(zip(table["round"].tolist(), table["residual"].tolist(), strict=True))
        assert drawn(axes.lines[0])[result.rounds] == result.summary["change"] < axes.lines[1].get_ydata()[0] == 1e-4
        assert axes.get_legend().get_texts()[0].get_text() == "tol = 0.0001"


def test_convergence_to_the_last_bit_leaves_out_a_residual_of_zero(ax):
    star = dgraph.Graph.load("path:2", directed=False, comm=world())
    axes = dgraph.pagerank(star, options=dgraph.Options(record="residual")).plot("convergence", ax=ax)
    if world().rank == 0:
        assert np.isnan(axes.lines[0].get_ydata()).all()  # equal ranks from the start


def test_degrees(graph, ax):
    axes, rows = graph.plot("degrees", ax=ax), graph.to_arrow()
    if world().rank == 0:
        ends = np.concatenate([rows[name].to_numpy() for name in ("source", "target")])
        assert drawn(axes.lines[0]) == counts(np.bincount(ends, minlength=graph.n))


def test_the_size_decides_where_no_kind_is_named(ax):
    small, large = (dgraph.Graph.load(f"path:{n}", comm=world()) for n in (200, 201))
    axes = small.ego(7, radius=3, undirected=True).plot(ax=ax)
    if world().rank == 0:
        assert {text.get_text() for text in axes.texts} == {"4", "5", "6", "7", "8", "9", "10"}
    titles = [part.plot() for part in (small, large)]
    if world().rank == 0:
        assert [axes.get_title() for axes in titles] == ["", "degrees"]


def test_network_in_colours_of_communities(ax):
    club = dgraph.Graph.from_networkx(networkx.karate_club_graph() if world().rank == 0 else None, comm=world())
    coloured = club.with_columns(community=dgraph.leiden(club))
    axes = coloured.ego(0).plot(color="community", ax=ax)
    near = coloured.ego(0).n
    if world().rank == 0:
        assert {text.get_text() for text in axes.texts} >= {"0", "1", "8"}
        assert len(axes.texts) == near


def test_refusals(graph):
    with pytest.raises(dgraph.UsageError, match="kind of picture"):
        graph.plot("pie")
    with pytest.raises(dgraph.UsageError, match="column"):
        graph.plot(color="none")
    with pytest.raises(dgraph.UsageError, match="--record residual"):
        dgraph.pagerank(graph).plot("convergence")
    with pytest.raises(dgraph.UsageError, match="at most 400"):
        dgraph.Graph.load("path:401", comm=world()).plot("network")


def test_matplotlib_is_named_when_missing(graph, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    if world().size == 1:
        with pytest.raises(dgraph.UsageError, match=r"dgraph-analytics\[plots\]"):
            graph.plot()


def test_a_picture_goes_to_a_file_of_its_suffix(graph, ax, mpi_tmp_path):
    result = dgraph.cc(graph)
    last = world().size - 1
    result.plot(ax=ax, path=mpi_tmp_path / "sizes.svg", root=last)
    graph.plot("degrees", ax=ax, path=str(mpi_tmp_path / "degrees.png"))
    world().total(1)
    assert "<svg" in (mpi_tmp_path / "sizes.svg").read_text()
    assert (mpi_tmp_path / "degrees.png").read_bytes()[1:4] == b"PNG"
    for drawing in (result, graph):
        with pytest.raises(UsageError, match=r"'xyz' is not supported.*give \.png"):
            drawing.plot(ax=ax, path=mpi_tmp_path / "a.xyz")
        with pytest.raises(OutputError, match="cannot be written: No such file"):
            drawing.plot(ax=ax, path=mpi_tmp_path / "none" / "a.png")
        with pytest.raises(UsageError, match="path = 3 is not valid"):
            drawing.plot(ax=ax, path=3)
