"""GraphML and GEXF: what NetworkX writes is read, and ``to_networkx`` is the way back, on any number of ranks."""

import sys

import networkx
import pytest

import dgraph
from dgraph.comm import world
from dgraph.errors import DataError, UsageError

pytestmark = pytest.mark.mpi

GRAPHS = {
    "numbers": networkx.gnm_random_graph(20, 50, seed=1, directed=True),
    "names": networkx.les_miserables_graph(),
    "apart": networkx.empty_graph(3),
}


def path_of(folder, name, suffix):
    """Return the file of a graph, which rank 0 writes."""
    path = world().bcast_json(str(folder / f"{name}{suffix}"))
    if world().rank == 0:
        (networkx.write_graphml if suffix == ".graphml" else networkx.write_gexf)(GRAPHS[name], path)
    world().barrier()
    return path


@pytest.mark.quick
@pytest.mark.parametrize("suffix", [".graphml", ".gexf"])
@pytest.mark.parametrize("name", GRAPHS)
def test_there_and_back(name, suffix, tmp_path):
    graph, expected = dgraph.Graph.load(path_of(tmp_path, name, suffix), comm=world()), GRAPHS[name]
    back = graph.to_networkx()
    assert (graph.n, graph.m, graph.directed) == (len(expected), expected.size(), expected.is_directed())
    assert graph.facts.name == f"{name}{suffix}"
    if world().rank == 0:
        assert networkx.utils.graphs_equal(
            networkx.Graph(back) if not expected.is_directed() else back,
            networkx.create_empty_copy(expected, with_data=False) if not expected.size() else weighted(expected),
        )


def weighted(graph):
    """Return a graph with the attribute ``weight`` alone, where some edge has it."""
    other = graph.__class__()
    other.add_nodes_from(graph)
    for u, v, about in graph.edges(data=True):
        other.add_edge(u, v, **({"weight": about["weight"]} if "weight" in about else {}))
    return other


def test_attributes_that_are_not_read_are_named(tmp_path):
    path = world().bcast_json(str(tmp_path / "a.graphml"))
    if world().rank == 0:
        graph = networkx.DiGraph([(0, 1, {"weight": 2, "time": 5, "kind": "a"}), (1, 2, {"weight": 3, "cost": 1.5})])
        networkx.write_graphml(graph, path)
    world().barrier()
    notes = dgraph.Graph.load(path, comm=world()).facts.notes
    assert "attributes of edges not used: cost, kind, time" in notes
    notes = dgraph.Graph.load(path, weight="cost", keep="time,kind", comm=world()).facts.notes
    assert "attributes of edges not used: weight" in notes
    notes = dgraph.Graph.load(path, keep="time,kind,cost", comm=world()).facts.notes
    assert not any("not used" in note for note in notes)


def test_refusals(tmp_path, monkeypatch):
    path = path_of(tmp_path, "numbers", ".graphml")
    with pytest.raises(UsageError, match="directed"):
        dgraph.Graph.load(path, directed=False, comm=world())
    if world().rank == 0:
        with open(path, "a") as file:
            file.write("<")
    world().barrier()
    with pytest.raises(DataError, match=r"numbers\.graphml: NetworkX cannot read it"):
        dgraph.Graph.load(path, comm=world())
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(UsageError, match=r"dgraph-analytics\[networkx\]"):
        dgraph.Graph.load(path, comm=world())


WEIGHT = '<key id="w" for="edge" attr.name="weight" attr.type="double"><default>7</default></key>'
EDGES = '<edge source="007" target="8"/><edge source="8" target="9"><data key="w">2</data></edge>'
NODES = '<node id="007"/><node id="8"/><node id="9"/>'


def graphml(folder, body):
    """Return the path of a GraphML file, which rank 0 writes."""
    path = world().bcast_json(str(folder / "a.graphml"))
    if world().rank == 0:
        space = 'xmlns="http://graphml.graphdrawing.org/xmlns"'
        text = f'<graphml {space}>{WEIGHT}<graph edgedefault="directed">{body}</graph></graphml>'
        (folder / "a.graphml").write_text(text)
    world().barrier()
    return path


def test_defaults_of_edges_and_ids_with_zeros_are_those_of_the_file(tmp_path):
    graph = dgraph.Graph.load(graphml(tmp_path, NODES + EDGES), comm=world())
    back = graph.to_networkx()
    if world().rank == 0:
        assert {(u, v): weight for u, v, weight in back.edges(data="weight")} == {("007", "8"): 7, ("8", "9"): 2}


@pytest.mark.parametrize("more", ["<node id='a'><graph edgedefault='directed'/></node>", "</graph><graph id='b'>"])
def test_a_file_of_several_graphs_is_refused(more, tmp_path):
    with pytest.raises(DataError, match="it holds 2 graphs"):
        dgraph.Graph.load(graphml(tmp_path, NODES + EDGES + more), comm=world())
