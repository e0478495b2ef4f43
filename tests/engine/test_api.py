"""The Python API: typed functions, options, devices, handles of one graph, what is refused and what to do then."""

import ast
import inspect
import re

import numpy as np
import pytest

import dgraph
import dgraph.testing
from dgraph.algorithms import ALGORITHMS, Algorithm, algorithm
from dgraph.algorithms.signatures import signature
from dgraph.cli.listing import registers
from dgraph.comm import SerialComm, world
from dgraph.engine.run_options import Options
from dgraph.errors import UsageError
from dgraph.tools.typed_functions import NAMES, STUB, names, stub

EDGES = [0, 1, 2, 5], [1, 2, 3, 6]
SETTINGS = {"options", "validate", "checkpoint"}


def path():
    return dgraph.Graph.from_edges(*EDGES, n=7, device="cpu")


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_is_a_typed_function(name):
    function = getattr(dgraph, name)
    assert inspect.signature(function) == signature(ALGORITHMS[name])
    weighted = ALGORITHMS[name].weighted or "weighted" in ALGORITHMS[name].parameters
    assert set(inspect.signature(function).parameters) == {"graph", *ALGORITHMS[name].parameters} | SETTINGS | (
        ({"previous"} if ALGORITHMS[name].continues else set()) | ({"weight"} if weighted else set())
    )
    for parameter in ALGORITHMS[name].parameters:
        assert f"    {parameter}: " in function.__doc__


@pytest.mark.parametrize(("path", "text"), [(STUB, stub), (NAMES, names)], ids=["stub", "names"])
def test_written_files_are_those_of_the_register(path, text):
    assert path.read_text() == text(), "run python -m dgraph.tools.typed_functions"


def test_the_stub_declares_every_public_name():
    tree = ast.parse(STUB.read_text())
    declared = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    declared |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    declared |= {node.targets[0].id for node in tree.body if isinstance(node, ast.Assign)}
    declared |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert sorted(dgraph.__all__) == dir(dgraph)
    assert [name for name in dgraph.__all__ if name not in declared or not hasattr(dgraph, name)] == []


def test_functions_are_those_of_the_register():
    assert set(dgraph.FUNCTIONS) == set(ALGORITHMS)
    assert {"bfs", "run", "Graph", "Options", "Cuda"} <= set(dir(dgraph))
    with pytest.raises(AttributeError, match="farness"):
        dgraph.farness  # noqa: B018


def test_every_alias_is_a_function():
    """Walk the register as ``list`` prints it: each other name of an algorithm is the same function."""
    aliases = {alias: row["name"] for row in registers()["algorithms"] for alias in row["aliases"]}
    assert dgraph.ALIASES == aliases == ALGORITHMS.aliases
    assert set(aliases) <= set(dir(dgraph))
    for alias, name in aliases.items():
        assert getattr(dgraph, alias) is getattr(dgraph, name)


def test_a_function_equals_run():
    graph = path()
    typed, named = dgraph.bfs(graph, 1, depth_limit=1), dgraph.run("bfs", graph, source=1, depth_limit=1)
    assert typed.columns["distance"][:4].tolist() == named.columns["distance"][:4].tolist()
    assert typed.columns["distance"][1:3].tolist() == [0, 1]
    with pytest.raises(TypeError, match="got 2 without a name, and only graph and source may"):
        dgraph.bfs(graph, 1, 2)
    with pytest.raises(UsageError, match="starts from a vertex"):
        dgraph.bfs(graph)


def test_run_has_at_most_ten_parameters():
    assert len(inspect.signature(dgraph.run).parameters) <= 10
    assert "parameters" in inspect.signature(dgraph.run).parameters


@pytest.mark.parametrize(
    ("keywords", "advice"),
    [
        ({"weights": "1..9"}, "Graph.load"),
        ({"policy": "cvc"}, r"graph\.on\(policy="),
        ({"backend": "cpu"}, "Graph.load"),
        ({"threads": 2}, "Graph.load"),
        ({"direction": "push"}, r"options=dgraph\.Options\(direction=…\)"),
        ({"schedule": "alb"}, r"options=dgraph\.Options\(schedule=…\)"),
        ({"checkpoint_every": 5}, r"dgraph\.Checkpoint\(folder, every="),
        ({"depth_limt": 2}, "did you mean 'depth_limit'"),
    ],
)
def test_misplaced_words_are_refused_with_their_place(keywords, advice):
    with pytest.raises(UsageError, match=advice):
        dgraph.run("bfs", path(), source=0, **keywords)
    with pytest.raises(UsageError, match=advice):
        dgraph.bfs(path(), 0, **keywords)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"direction": "flip"}, "unknown direction 'flip'"),
        ({"sync": "poison"}, "unknown sync mode 'poison'"),
        ({"max_rounds": 0}, "max_rounds = 0"),
        ({"max_rounds": True}, "max_rounds = True"),
        ({"watchdog": -1}, "watchdog"),
        ({"schedule": "alb,thresold=3"}, "did you mean 'threshold'"),
        ({"schedule": "alb,threshold"}, "threshold has no value; write threshold=auto|threads|N"),
        ({"schedule": "alb,threshold=1,threshold=2"}, "stands there twice"),
        ({"schedule": "virtual_warp,warp_size=3"}, "a power of two"),
        ({"schedule": "vertex,threshold=3"}, "has no options"),
        ({"record": "residual,tiem"}, "known are load, ranges, residual, time"),
        ({"rounds": "locl"}, "did you mean 'local'"),
        ({"rounds": "limit=many"}, "limit=many is not a number"),
    ],
)
def test_options_are_checked_when_they_are_made(keywords, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        Options(**keywords)


def test_options_come_to_the_backend():
    options = Options(schedule="alb,threshold=threads,distribution=blocked", rounds="host,limit=7", record="load")
    assert options.gpu_keywords() == {
        "schedule": "alb", "alb_threshold": "threads", "alb_distribution": "blocked", "host_rounds": True,
        "across_limit": 7, "record": True,
    }  # fmt: skip
    assert Options().gpu_keywords() == {}


def test_the_test_aids_run():
    """Check an answer with alternating directions, and with garbage in mirrors that the plan calls unread."""
    aids = dgraph.testing.TestOptions(direction="flip", sync="poison")
    result = dgraph.cc(path(), options=aids, validate=True)
    assert result.summary["components"] == 3


def test_gpu_options_are_refused_without_a_gpu():
    with pytest.raises(UsageError, match="schedule='twc' is about GPUs, and this run has none"):
        dgraph.bfs(path(), 0, options=Options(schedule="twc"))


@pytest.mark.parametrize("device", ["tpu", 3, None.__class__])
def test_what_is_not_a_device(device):
    with pytest.raises(UsageError, match="device"):
        dgraph.Graph.from_edges(*EDGES, device=device)
    with pytest.raises(UsageError, match="0 threads"):
        dgraph.Cpu(threads=0)


def test_handles_of_one_graph_share_its_partitions():
    graph = path()
    dgraph.bfs(graph.on(policy="hash"), 0)
    dgraph.bfs(graph, 0)
    assert set(graph.partitions) == {"hash", "auto"}
    other = graph.on(policy="oec", device=dgraph.Cpu(1))
    assert (other.policy, other.device, graph.policy, graph.device) == ("oec", dgraph.Cpu(1), "auto", "cpu")
    assert other.fingerprint() == graph.fingerprint()
    undirected = other.undirected()
    assert (undirected.policy, undirected.device) == ("oec", dgraph.Cpu(1))
    assert undirected._shared is graph.undirected()._shared, "the rows of both directions are held once"


def test_a_closed_graph_is_refused_by_name():
    graph = path()
    other = graph.on(policy="hash")
    with graph:
        result = dgraph.bfs(graph, 0)
    graph.close()  # once more does nothing
    assert result.columns["distance"][:3].tolist() == [0, 1, 2], "results stay"
    for use in (lambda: dgraph.cc(graph), lambda: dgraph.cc(other), graph.hub, graph.undirected):
        with pytest.raises(UsageError, match="was closed; load it again"):
            use()


def test_a_checkpoint_is_checked_when_it_is_made(tmp_path):
    with pytest.raises(UsageError, match="every = 'soon'"):
        dgraph.Checkpoint(tmp_path, every="soon")
    with pytest.raises(UsageError, match="'perhaps'"):
        dgraph.Checkpoint(tmp_path, resume="perhaps")
    with pytest.raises(UsageError, match="folder = 3 is not valid: give a path"):
        dgraph.Checkpoint(3)
    assert dgraph.bfs(path(), 0, checkpoint=tmp_path).converged


@pytest.mark.mpi
def test_policy_and_device_of_every_constructor():
    """Check that every constructor keeps policy and device, on any number of ranks."""
    comm = world()
    keywords = {"policy": "hash", "device": dgraph.Cpu(1), "comm": comm}
    share = slice(comm.rank, None, comm.size)
    offsets = np.array([0, 1, 1] if comm.rank == 0 else [0])
    graphs = [
        dgraph.Graph.load("path:6", **keywords),
        dgraph.Graph.from_edges(np.array(EDGES[0])[share], np.array(EDGES[1])[share], **keywords),
        dgraph.Graph.from_csr(offsets, np.array([1] if comm.rank == 0 else [], np.int64), **keywords),
    ]
    for graph in graphs:
        assert (graph.policy, graph.device, graph.comm.size) == ("hash", dgraph.Cpu(1), comm.size)
        report = dgraph.cc(graph, validate=True).report
        taken = {choice["what"]: choice["taken"] for choice in report["choices"]}
        assert (taken["policy"], taken["threads"], taken["backend"]) == ("hash", "1", "cpu")


def test_a_graph_given_by_name_is_loaded_with_defaults(tmp_path):
    (tmp_path / "a.el").write_text("0 1\n1 2\n")
    assert dgraph.bfs(tmp_path / "a.el", 0).summary["reached"] == 3
    assert dgraph.Graph.load("path:4", comm=SerialComm()).device == "auto"


@pytest.mark.mpi_skip
def test_aliases_are_names():
    graph = dgraph.Graph.load("rmat:6", comm=SerialComm())
    for alias, name in (("connected_components", "cc"), ("core_number", "kcore"), ("maximal_independent_set", "mis")):
        assert alias in ALGORITHMS
        assert alias not in list(ALGORITHMS)
        assert dgraph.run(alias, graph).algorithm == name
        assert name in (row["name"] for row in registers()["algorithms"] if alias in row["aliases"])
    with pytest.raises(UsageError, match="two algorithms are named 'core_number'"):
        algorithm("mine", aliases=("core_number",))(type("Mine", (Algorithm,), {}))
    assert "mine" not in ALGORITHMS
    with pytest.raises(UsageError, match="unknown algorithm 'core_numbers'"):
        dgraph.run("core_numbers", graph)
