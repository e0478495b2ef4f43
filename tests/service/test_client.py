"""The client against a service of its own processes: answers, columns and errors are those of a local run."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from children import ROOT, environment

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.errors import Cancelled, ConvergenceWarning, DataError, OutputError, UsageError
from dgraph.service.client.http_link import Link
from dgraph.service.client.problems import class_of, error_of, error_of_job

pytestmark = pytest.mark.starts_children

CALLS = {"who": ["ann", "bob", "ann", "zoë"], "whom": ["bob", "ann", "cy, jr", "yan"], "minutes": [3, 4, 5, 6]}
SETTINGS = {
    "hits": {"tol": 1e-3}, "bc": {"k": 40}, "edge_bc": {"k": 40}, "eigenvector": {"tol": 0.1}, "katz": {"alpha": 1e-6},
}  # fmt: skip
"""Parameters with which an algorithm converges, or ends soon."""
RUNS = [
    ("bfs", {"source": 1}),
    ("bfs", {"source": np.int64(1), "depth_limit": 5, "return_predecessors": False}),
    ("sssp", {"source": 1, "cutoff": 4000}),
    ("cc", {}),
    ("pagerank", {"personalization": {5: 1.0, np.int64(9): 3}}),
    ("multi_source_pagerank", {"personalizations": [{5: 1.0, np.int64(9): 3}, (7, 8)]}),
    *(
        (name, SETTINGS.get(name, {}))
        for name, algorithm in ALGORITHMS.items()
        if not algorithm.needs_source and name not in ("cc", "pagerank")
    ),
]


@pytest.fixture(scope="module")
def client(live):
    with dgraph.connect(live.unix) as service:
        yield service


@pytest.fixture(scope="module")
def rome(client):
    return client.graph("rome")


@pytest.fixture(scope="module")
def local():
    return dgraph.Graph.load(ROOT / "tests/data/rome99.gr")


@pytest.fixture(scope="module")
def pair(client):
    """Return a graph whose vertices have names, at the service and here."""
    frame = pandas.DataFrame(CALLS)
    there = client.put("calls", frame, columns="who,whom,minutes", directed=False, merge="sum")
    return there, dgraph.Graph.from_pandas(frame, "who", "whom", "minutes", directed=False, merge="sum")


def same_columns(columns, wanted):
    assert list(columns) == list(wanted)
    for name in wanted:
        assert columns[name].dtype == wanted[name].dtype, name
        np.testing.assert_array_equal(columns[name], wanted[name])


def same(answer, wanted, tmp_path):
    """Check that two results do not differ in what they offer."""
    column = list(wanted.columns)[1]
    assert repr(answer).splitlines()[1:] == repr(wanted).splitlines()[1:]
    same_columns(answer.top(4), wanted.top(4))
    vertex = wanted.columns["vertex"][3]
    vertex = vertex if isinstance(vertex, str) else int(vertex)
    assert answer.value(vertex) == wanted.value(vertex)
    same_columns(answer.gather(), wanted.gather())
    same_columns(answer.columns, wanted.columns)
    assert answer.to_arrow().equals(wanted.to_arrow())
    assert pa.table(answer).equals(pa.table(wanted))
    pandas.testing.assert_frame_equal(answer.to_pandas(), wanted.to_pandas())
    assert answer.to_polars().equals(wanted.to_polars())
    same_columns(answer.top(4, column), wanted.top(4, column))
    assert answer.value(vertex, column) == wanted.value(vertex, column)
    assert sorted(answer.to_networkx().nodes(data=True)) == sorted(wanted.to_networkx().nodes(data=True))
    for name, result in (("there.csv", answer), ("here.csv", wanted)):
        alone = wanted.edges or wanted.walks  # which services do not return
        result.save(tmp_path / name, column if alone else None)
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
    assert (answer.summary, answer.converged) == (wanted.summary, wanted.converged)
    if wanted.report["algorithm"]["name"] != "sssp":  # compiled rounds may see values of the same round
        assert answer.rounds == wanted.rounds
    assert answer.report["graph"]["fingerprint"] == wanted.report["graph"]["fingerprint"]


@pytest.mark.parametrize(("name", "parameters"), RUNS, ids=[f"{name}{i}" for i, (name, _) in enumerate(RUNS)])
def test_answers_are_those_of_a_local_run(rome, local, tmp_path, name, parameters):
    answer, wanted = getattr(dgraph, name)(rome, **parameters), getattr(dgraph, name)(local, **parameters)
    same(answer, wanted, tmp_path)


@pytest.mark.parametrize("name", ["sssp", "cc"])
def test_answers_with_names(pair, tmp_path, name):
    parameters = {"source": "ann"} if name == "sssp" else {}
    answer, wanted = dgraph.run(name, pair[0], **parameters), dgraph.run(name, pair[1], **parameters)
    same(answer, wanted, tmp_path)
    if name == "sssp":
        assert answer.path("cy, jr") == ["ann", "cy, jr"]
        assert answer.path("yan") == []
        assert answer.value("yan") == np.iinfo(np.int64).max


def test_kept_attributes_are_weights_of_jobs(client):
    frame = pandas.DataFrame(
        {"source": [1, 1, 2, 2], "target": [2, 3, 3, 3], "fee": [5, 90, 7, 4], "kind": list("abca")}
    )
    there = client.put("fees", frame, keep={"fee": "sum", "kind": "first"})
    here = dgraph.Graph.from_pandas(frame, keep=["fee:sum", "kind"])
    assert dgraph.sssp(here, 1, weight="fee").value(3) == 16
    for weight in ("fee", None, "fee"):  # the second is not the cached answer of the first
        wanted = dgraph.sssp(here, 1, weight=weight)
        same_columns(dgraph.sssp(there, 1, weight=weight).columns, wanted.columns)
        same_columns(there.run("sssp", source=1, weight=weight).columns, wanted.columns)
    with pytest.raises(UsageError, match=r"'size'.*fee"):
        dgraph.sssp(there, 1, weight="size")
    with pytest.raises(UsageError, match="kind"):
        dgraph.sssp(there, 1, weight="kind")
    with pytest.raises(UsageError, match="cc uses no weights"):
        dgraph.cc(there, weight="fee")
    with pytest.raises(UsageError, match="the edges keep fee, kind"):
        there.with_edges([(3, 1)])
    with pytest.raises(UsageError, match="columns are kept of tables"):
        client.load("kept-rmat", "rmat:3", keep="fee")
    there.drop()


def test_a_path_is_the_local_one(rome, local):
    wanted = dgraph.bfs(local, 1).path(50)
    assert dgraph.bfs(rome, 1).path(50) == wanted
    assert rome.path(1, 50, weighted=False) == wanted


def test_facts_of_a_graph(rome, local, client):
    assert (rome.n, rome.m, rome.arcs, rome.directed) == (local.n, local.m, local.arcs, local.directed)
    assert rome.weight_type == local.weight_type
    assert rome.fingerprint() == local.fingerprint()
    assert rome.name in [graph.name for graph in client.graphs()]
    assert f"{local.n:,} vertices" in repr(rome)
    estimate = rome.estimate("pagerank")
    assert estimate["fits"]
    assert min(estimate["bytes_by_rank"]) > 0


@pytest.mark.parametrize("make", [polars.DataFrame, pa.table])
def test_tables_that_are_sent(client, pair, make):
    graph = client.put("sent", make(CALLS), directed=False, merge="sum", columns="who,whom,minutes")
    assert graph.fingerprint() == pair[1].fingerprint()


def test_numbers_that_are_sent(client):
    edges = {"source": [0, 5, 7], "target": [5, 7, 0], "weight": [0.5, 1.5, 2.0]}
    graph = client.put("numbers", pa.table(edges))
    wanted = dgraph.sssp(dgraph.Graph.from_arrow(pa.table(edges), "source", "target", "weight"), 5)
    assert dgraph.sssp(graph, 5).to_arrow().equals(wanted.to_arrow())
    graph.drop()
    with pytest.raises(UsageError, match="numbers"):
        client.graph("numbers")


def test_a_table_that_replaces_a_graph_is_awaited_and_refused(client):
    assert client.put("replaced", pa.table({"source": [0], "target": [1]})).m == 1
    longer = client.put("replaced", pa.table({"source": [0, 1], "target": [1, 2]}))
    assert (longer.m, longer.version) == (2, None)
    with pytest.raises(DataError, match=r"it failed: .*is null"):
        client.put("replaced", pa.table({"source": [0, 1, 2], "target": [1, 2, None]}))
    assert longer.refresh().m == 2
    longer.drop()


def test_a_client_imports_neither_numba_nor_mpi(live):
    code = (
        "import sys, dgraph; graph = dgraph.connect(sys.argv[1]).graph('rome'); result = dgraph.bfs(graph, source=1); "
        "print(result.path(50), result.top(3), result); "
        "print(dgraph.run('cc', graph).columns['labels'][:3]); "
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, live.unix],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(eval(done.stdout.splitlines()[-1]))
    assert {"dgraph", "numpy", "pyarrow"} <= loaded
    heavy = {"numba", "llvmlite", "mpi4py", "cupy", "pandas", "polars", "pymetis", "rich", "scipy", "networkx"}
    assert loaded & heavy == set()


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda s, g: s.graph("nope"), UsageError, "'nope'.*known are"),
        (lambda s, g: dgraph.bfs(g, 10**9), UsageError, "1000000000 is not a vertex"),
        (lambda s, g: dgraph.bfs(g, 1, depth=3), UsageError, "unknown parameter of bfs 'depth'"),
        (lambda s, g: dgraph.run("dfs", g), UsageError, "unknown algorithm 'dfs'"),
        (lambda s, g: s.load("x", "../secret.txt"), UsageError, "data root"),
        (lambda s, g: s.put("x", pa.table({"source": [-1], "target": [2]})), DataError, "-1"),
        (lambda s, g: s.put("x", [1, 2]), UsageError, "got list; give a data frame"),
        (lambda s, g: dgraph.bfs(g, 1, options={"speed": 1}), UsageError, "speed"),
        (lambda s, g: dgraph.bfs(g, 1, checkpoint="c"), UsageError, "checkpoint= belongs"),
        (lambda s, g: dgraph.run(object(), g), UsageError, "object is code"),
        (lambda s, g: g.run("pagerank", tol=0.0, max_iter=10**7, timeout_s=0.3), OutputError, "0.3"),
        (lambda s, g: s.job("nope"), UsageError, "'nope'"),
        (lambda s, g: dgraph.cc(g).path(1), UsageError, "cc finds none"),
        (lambda s, g: dgraph.bfs(g, 1).value(1, "colour"), UsageError, "colour"),
    ],
)
def test_errors_have_the_classes_of_local_ones(client, rome, call, kind, words):
    with pytest.raises(kind, match=words) as caught:
        call(client, rome)
    assert type(caught.value) is kind


@pytest.mark.exhaustive
def test_an_interrupt_cancels_the_job(client, rome, interruptible):
    threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        dgraph.pagerank(rome, tol=0.0, max_iter=10**8)
    job = next(client.jobs(graph="rome"))
    end = time.monotonic() + 10
    while job.refresh().state == "running" and time.monotonic() < end:
        time.sleep(0.02)
    assert (job.state, job.record["algorithm"]) == ("cancelled", "pagerank")
    with pytest.raises(Cancelled, match="cancelled"):
        job.result()


def test_events_of_a_job(rome):
    job = rome.submit("pagerank", tol=0.0, max_iter=20_000, cache=False)
    rounds = [event["round"] for event in job.events() if "round" in event]
    assert rounds == sorted(set(rounds))
    assert rounds
    assert job.wait().record["round"] == 20_000


def test_a_run_that_a_limit_ended_warns(rome):
    with pytest.warns(dgraph.ConvergenceWarning, match="3 rounds") as caught:
        result = dgraph.pagerank(rome, tol=1e-15, max_iter=3)
    assert not result.converged
    assert caught[0].filename == __file__


@pytest.mark.skipif(not hasattr(dgraph.Graph, "with_edges"), reason="this version cannot change graphs")
def test_edges_are_visible_at_their_version(client):
    graph = client.load("changing", "path:50")
    longer = graph.with_edges(np.array([[0, 40], [3, 9]]))
    assert [dgraph.bfs(version, 0).value(40) for version in (longer, graph.at(1), graph)] == [1, 40, 1]
    shorter = longer.with_edges(remove=[[0, 40]])
    assert dgraph.bfs(shorter, 0).value(40) == 35
    assert dgraph.bfs(longer, 0).value(40) == 1


def test_a_kept_column_selects_vertices(client):
    graph = client.load("selected", "path:50")
    graph.submit("bfs", source=0, mode="mutate", column="hops").wait()
    assert graph.refresh().facts["columns"] == ["hops"]
    near = graph.submit("cc", where={"column": "hops", "is": "<", "value": np.int64(20)}).wait().result()
    assert near.gather()["vertex"].tolist() == list(range(20))
    with pytest.raises(UsageError, match=r"unknown column.*known are hops"):
        graph.submit("cc", where={"column": "hop", "is": "==", "value": 20}).wait().result()


def test_options_and_a_certificate(rome):
    assert dgraph.bfs(rome, 2, validate=True).report["outcome"]["validation"]["passed"]
    with pytest.warns(ConvergenceWarning, match="bfs did not converge"):
        cut = dgraph.bfs(rome, 2, options=dgraph.Options(max_rounds=3))
    assert cut.summary["reached"] < 3353


def test_residuals_of_a_job_are_those_of_a_local_run(rome, local):
    options = dgraph.Options(record="residual")
    job = dgraph.pagerank(rome, options=options)
    residuals = job.rounds_table()["residual"]
    assert residuals == pytest.approx(dgraph.pagerank(local, options=options).rounds_table()["residual"], rel=1e-6)
    assert residuals[-1] == job.summary["change"]
    with pytest.raises(dgraph.UsageError, match="bfs has no residual to record"):
        dgraph.bfs(rome, 1, options=options)


def test_jobs_are_listed_newest_first(client, rome):
    jobs = [rome.submit("bfs", source=source) for source in (1, 2, 3)]
    assert [job.wait().record["summary"]["source"] for job in jobs] == [1, 2, 3]
    listed = [job.id for job, _ in zip(client.jobs(), range(3), strict=False)]
    assert listed == [job.id for job in reversed(jobs)]
    assert client.job(jobs[0].id).result().top(1).keys() == {"vertex", "distance"}
    assert {job.state for job in client.jobs(state="failed")} <= {"failed"}


def test_threads_share_a_client(rome, local):
    wanted = {source: dgraph.bfs(local, source).summary for source in range(1, 9)}
    summaries = {}

    def work(source):
        summaries[source] = dgraph.bfs(rome, source).summary

    threads = [threading.Thread(target=work, args=(source,)) for source in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert summaries == wanted


def test_tcp_needs_a_token(live, tmp_path):
    with pytest.raises(UsageError, match="token"):
        dgraph.connect(live.tcp, token="wrong")


@pytest.mark.parametrize("address", ["/run/x.sock", "unix:", "tcp://x:1", "http://h:1/login?token=3", ""])
def test_addresses_of_another_form(address):
    with pytest.raises(UsageError, match="is not the address of a service"):
        dgraph.connect(address)


def test_nothing_answers(tmp_path):
    with pytest.raises(OutputError, match=r"does not answer.*No such file.*serve"):
        dgraph.connect(f"unix:{tmp_path}/none.sock")


def test_a_connection_that_the_service_closed_is_opened_again(tmp_path):
    path = str(tmp_path / "s")
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()

    def serve():
        for _ in range(2):
            connection, _ = server.accept()
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    link = Link(f"unix:{path}", None, 5.0)
    assert link.call("GET", "/") == {}
    time.sleep(0.05)
    assert link.call("GET", "/") == {}
    thread.join()
    link.close()
    server.close()


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (404, b'{"detail": "no such graph"}', UsageError, "no such graph"),
        (422, b'{"detail": "bad line 3", "type": "urn:dgraph:problem:DataError"}', DataError, "bad line 3"),
        (429, b'{"title": "Too Many Requests"}', OutputError, "Too Many"),
        (503, b"<html>", OutputError, "answered 503"),
        (500, b"", dgraph.InternalError, "answered 500"),
        (401, b'{"detail": "no token"}', UsageError, "pass token="),
    ],
)
def test_problem_documents(status, body, kind, words):
    error = error_of(status, body, "reason", "unix:/s")
    assert type(error) is kind
    assert words in str(error)


def test_kinds_of_errors_have_a_class_each():
    from dgraph.service.messages import KINDS

    assert all(issubclass(class_of(kind), dgraph.DgraphError) for kind in KINDS)
    assert type(error_of_job("7", "cancelled", None)) is Cancelled
    assert str(error_of_job("7", "failed", {"kind": "DataError", "message": "line 3"})) == "line 3"
