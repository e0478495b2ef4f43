"""Shortest paths of results and of ``--target``, against NetworkX."""

import json

import networkx as nx
import numpy as np
import pytest

import dgraph
from dgraph.cli import main
from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError


def grid(side=12, lightest=0):
    """Edges of a grid and a separate pair; weights of 0 make plateaus."""
    G = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side), ordering="sorted")
    G.add_edge(side * side, side * side + 1)
    rng = np.random.default_rng(1)
    for u, v in G.edges:
        G[u][v]["weight"] = int(rng.integers(lightest, 4))
    return G


def loaded(G, policy, comm=None):
    comm = comm or world()
    edges = np.array([(u, v, w) for u, v, w in G.edges.data("weight")])[comm.rank :: comm.size].T
    return dgraph.Graph.from_edges(*edges, n=len(G), directed=False, policy=policy, comm=comm)


@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["oec", "cvc", "random"])
@pytest.mark.parametrize("algorithm", ["bfs", "sssp"])
def test_paths_are_shortest(algorithm, policy):
    G = grid()
    result = dgraph.run(algorithm, loaded(G, policy), source=5)
    weight = "weight" if algorithm == "sssp" else None
    for target in (143, 5, np.int64(77), 6):
        path = result.path(target)
        assert path[0] == 5
        assert path[-1] == target
        assert all(type(vertex) is int for vertex in path)
        length = nx.path_weight(G, path, "weight") if weight else len(path) - 1
        assert length == nx.shortest_path_length(G, 5, target, weight)
        assert result.value(target, "distance") == length
    assert result.path(144) == []


@pytest.mark.mpi
def test_a_path_of_names(tmp_path):
    folder = world().bcast_json(str(tmp_path))
    if world().rank == 0:
        (tmp_path / "g.txt").write_text("home shop\nshop work\nhome park\npark shop\nsea lake\n")
    world().barrier()
    graph = dgraph.Graph.load(f"{folder}/g.txt", ids="string", header=False)
    stopped = dgraph.bfs(graph, source="home", target="shop", validate=True)
    assert stopped.summary["target"] == "shop"
    assert stopped.path("shop") == ["home", "shop"]
    assert stopped.path("work") == []
    result = dgraph.bfs(graph, source="home")
    assert result.path("work") == ["home", "shop", "work"]
    assert result.path("lake") == []
    assert result.value("work", "predecessor") == "shop"
    with pytest.raises(UsageError, match="'moon' is not a vertex"):
        result.path("moon")


@pytest.mark.mpi
def test_what_has_no_path_says_why():
    graph = loaded(grid(), "auto")
    with pytest.raises(UsageError, match="return_predecessors=True"):
        dgraph.bfs(graph, source=1, return_predecessors=False).path(2)
    with pytest.raises(UsageError, match="cc finds none; run bfs or sssp"):
        dgraph.cc(graph).path(2)
    result = dgraph.bfs(graph, source=1)
    with pytest.raises(UsageError, match="146 is not a vertex"):
        result.path(146)
    with pytest.raises(UsageError, match="'2' is not an integer"):
        result.path("2")


def test_a_long_path():
    result = dgraph.bfs(dgraph.Graph.load("path:20000", comm=SerialComm()), source=0)
    assert result.path(19999) == list(range(20000))


@pytest.mark.mpi_skip
def test_a_target_on_the_command_line(capsys, tmp_path):
    def printed(*words):
        assert main([*words, "-q"]) == 0
        return capsys.readouterr().out

    assert "path     length 4, 4 edges: 1 → 2 → 3 → 4 → 5" in printed("bfs", "path:9", "--source", "1", "--target", "5",
                                                              "--format", "table")  # fmt: skip
    report = json.loads(printed("bfs", "path:90", "--source", "1", "--target", "5", "--format", "json"))
    assert report["outcome"]["summary"]["reached"] == 6, "the search stops at the target"
    assert report["outcome"]["path"]["vertices"] == [1, 2, 3, 4, 5]
    (tmp_path / "g.wel").write_text("0 1 5\n1 2 7\n3 0 1\n")
    words = ("sssp", str(tmp_path / "g.wel"), "--source", "0", "--target")
    report = json.loads(printed(*words, "2", "--format", "json", "--report", str(tmp_path / "r.json")))
    assert report["outcome"]["path"] == {"target": 2, "vertices": [0, 1, 2], "length": 12}
    assert json.loads((tmp_path / "r.json").read_text())["outcome"]["path"]["length"] == 12
    assert "path     none: 3 is not reached" in printed(*words, "3", "--format", "table")
    assert json.loads(printed(*words, "3", "--format", "json"))["outcome"]["path"]["vertices"] == []


@pytest.mark.mpi_skip
@pytest.mark.parametrize(("words", "error"), [
    ("cc path:9 --target 3", "unknown option --target"),
    ("bfs path:9 --target 3,4", "it is one vertex"),
    ("bfs path:9 --target 3 --no-return-predecessors", "drop one of them"),
    ("bfs path:9 --target 3 --format gap", "give table or json"),
    ("bfs path:9 --target 10", "10 is not a vertex"),
])  # fmt: skip
def test_targets_that_are_refused(capsys, words, error):
    assert main([*words.split(), "-q"]) == 2
    assert error in capsys.readouterr().err
