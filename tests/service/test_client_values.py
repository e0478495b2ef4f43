"""The client: values that no service takes, handles of versions, names of any letters, and jobs that are removed."""

from operator import attrgetter, methodcaller

import numpy as np
import pyarrow
import pytest
from children import ROOT

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.errors import DataError, UsageError
from dgraph.service.client.remote_result import OF_EDGES

BAD_NUMBERS = (float("inf"), float("-inf"), float("nan"), np.float64("inf"), 10**400)


@pytest.fixture(scope="module")
def client(live):
    with dgraph.connect(live.unix) as service:
        yield service


@pytest.fixture(scope="module")
def rome(client):
    return client.graph("rome")


@pytest.mark.quick
@pytest.mark.parametrize("name", ["timeout", "patience"])
@pytest.mark.parametrize("value", [*BAD_NUMBERS, -1, 2e9, "5", None, 1j], ids=lambda value: repr(value)[:9])
def test_times_of_a_connection(name, value):
    with pytest.raises(UsageError, match=f"{name} ?= ?.*give (a number|seconds, from 0)"):
        dgraph.connect("unix:/nothing.sock", **{name: value})


@pytest.mark.quick
@pytest.mark.parametrize(
    "token",
    ["a\r\nX: 1", "a b", "tök", "\ud800", "a\0", "\x7f", "a\n", " ", 5, b"abc", ["a"], np.array(["a", "b"])],
    ids=ascii,
)
def test_tokens_that_no_header_can_have(token, monkeypatch):
    with pytest.raises(UsageError, match="token") as caught:
        dgraph.connect("unix:/nothing.sock", token=token)
    assert "abc" not in str(caught.value)
    if isinstance(token, str) and "\0" not in token and token != "\ud800":
        monkeypatch.setenv("DGRAPH_TOKEN", token)
        with pytest.raises(UsageError, match="token"):
            dgraph.connect("unix:/nothing.sock")


@pytest.mark.quick
@pytest.mark.parametrize(
    "address",
    ["unix:/a\0b", "unix:\ud800", "http://h:99999", "http://h:x", "http://[::1", "http://" + "a" * 70, "http://\ud800:1",
     None, 5, b"unix:/x", "http://a..b:1"],
    ids=ascii,
)  # fmt: skip
def test_addresses_that_cannot_be(address):
    with pytest.raises(UsageError, match="is not the address of a service"):
        dgraph.connect(address)


@pytest.mark.quick
@pytest.mark.parametrize("value", [*BAD_NUMBERS, "\ud800"], ids=lambda value: ascii(value)[:9])
def test_parameters_that_cannot_be_sent_are_usage_errors(client, rome, value):
    before = [job.id for job in client.jobs()]
    for call in (
        lambda: dgraph.pagerank(rome, tol=value),
        lambda: dgraph.run("bfs", rome, source=value),
        lambda: dgraph.run("bfs", rome, source=np.array([value], object)[0]),
        lambda: rome.submit("pagerank", personalization={1: value}).wait(),
        lambda: rome.submit("cc", timeout_s=value),
        lambda: rome.submit("cc", where={"column": "hops", "is": "<", "value": value}).wait(),
        lambda: rome.estimate("pagerank", tol=value),
        lambda: rome.path(1, value),
        lambda: dgraph.bfs(rome, 1).value(value),
        lambda: client.load("n", "path:3", idle_s=value),
        lambda: client.put("n", pyarrow.table({"source": [1], "target": [2]}), idle_s=value),
    ):
        with pytest.raises(UsageError):
            call()
    with pytest.raises((UsageError, DataError)):
        rome.with_edges([[1, 2]], weights=[value])
    with pytest.raises(UsageError, match=r"parameters\.tol is inf, which no service takes"):
        rome.estimate("pagerank", tol=float("inf"))
    later = [job.record["algorithm"] for job in client.jobs() if job.id not in before]
    assert set(later) <= {"bfs", "cc", "pagerank"}  # of value(), and of an integer that is finite
    assert client.graph("rome").version == rome.version


@pytest.mark.quick
@pytest.mark.parametrize("name", ["a/b", "a?version=1", "a#b", "é 😀", "%00", "\ud800", "..", "", 5])
def test_names_of_any_letters_are_not_found(client, name):
    for call in (client.graph, client.job):
        with pytest.raises(UsageError) as caught:
            call(name)
        assert "Method Not Allowed" not in str(caught.value)


def test_a_handle_of_a_version_has_its_figures(client):
    newest = client.load("versions", "path:5").with_edges([[0, 5], [5, 6]])
    assert (newest.version, newest.n, newest.m) == (2, 7, 6)
    graph = client.graph("versions")
    for first in (graph.at(1), client.graph("versions", 1), newest.at(1)):
        assert (first.n, first.m, first.state, first.version) == (5, 4, "ready", 1)
        assert first.fingerprint() != newest.fingerprint()
        assert first.bytes_by_rank
        assert "5 vertices, 4 edges, version 1" in repr(first)
        assert dgraph.bfs(first, 0).value(4) == 4
    with pytest.raises(UsageError, match="6 is not a vertex"):
        graph.at(1).path(0, 6)
    assert graph.path(0, 6) == newest.path(0, 6) == [0, 5, 6]
    for version in (0, -1, 3, 99, 2**70, 1.5, "x"):
        ghost = graph.at(version)
        assert f"not asked yet, version {version}" in repr(ghost)
        for use in (
            attrgetter("n"), attrgetter("state"), attrgetter("bytes_by_rank"), methodcaller("fingerprint"),
            methodcaller("estimate", "cc"), methodcaller("path", 0, 1), dgraph.cc,
        ):  # fmt: skip
            with pytest.raises(UsageError):
                use(ghost)
    with pytest.raises(UsageError, match="got version 99 of versions, which has 1, 2"):
        client.graph("versions", 99)


def test_a_job_is_removed(client, rome):
    job = rome.submit("cc", cache=False).wait()
    job.cancel()
    assert job.refresh().state == "done"
    assert client.job(job.id).result().summary
    job.drop()
    for call in (job.refresh, lambda: client.job(job.id), job.drop):
        with pytest.raises(UsageError, match=job.id):
            call()


def test_a_graph_of_a_service_has_sizes_and_paths_and_names_what_a_local_one_has(rome):
    assert len(rome) == rome.n
    path = rome.shortest_path(1, 900)
    assert path == dgraph.Graph.load(ROOT / "tests/data/rome99.gr").shortest_path(1, 900)
    for name, words in (
        ("filter_edges", "a local Graph has it"), ("nodes", r"graph\.vertices\(\), where graph is a local one"),
        ("edges", r"graph\.to_pandas\(\), where graph is a local one"), ("vcount", r"there is graph\.n$"),
        ("no_such", "'no_such'$"),
    ):  # fmt: skip
        with pytest.raises(AttributeError, match=words):
            getattr(rome, name)
    assert rome
    with pytest.raises(TypeError, match="no items"):
        rome[1]


def test_edges_of_a_result_of_a_service_are_answered_with_where_they_are(client):
    table = pyarrow.table({"source": [0, 1, 2], "target": [1, 2, 0]})
    graph = client.put("ring", table, directed=False)
    result = dgraph.ktruss(graph)
    with pytest.raises(UsageError, match=r"no edges; dgraph\.ktruss\(graph\)"):
        result.edges.values  # noqa: B018
    assert dgraph.cc(graph).edges is None
    assert result.gather()["truss"].tolist() == [3, 3, 3]
    graph.drop()


def test_algorithms_with_values_of_edges():
    triangle = dgraph.Graph.from_edges([0, 1, 2], [1, 2, 0], directed=False)
    free = {name for name, kind in ALGORITHMS.items() if not kind.needs_source} - {"multi_source_pagerank"}
    assert {name for name in free if dgraph.run(name, triangle).edges is not None} == set(OF_EDGES)
