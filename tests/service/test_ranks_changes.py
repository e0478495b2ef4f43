"""Changes of edges through the ranks: versions live beside each other, and reopening gives the same graphs."""

import shutil

import numpy as np
import pyarrow as pa
import pytest
from ranks_served import Served

import dgraph
from dgraph.comm import SerialComm
from dgraph.errors import DataError
from dgraph.service.ranks import graph_store
from dgraph.service.ranks.column_files import keep_column
from dgraph.service.supervisor.supervisor import RankError

pytestmark = [
    pytest.mark.mpi_skip,
    pytest.mark.starts_children,
    pytest.mark.interpreted,
    pytest.mark.skipif(not hasattr(dgraph.Graph, "with_edges"), reason="graphs cannot be changed yet"),
]


@pytest.fixture(scope="module", params=[1, 2])
def served(request, tmp_path_factory):
    server = Served(tmp_path_factory.mktemp("state"), request.param)
    yield server
    server.stop()


def write(path, stream, **columns):
    table = pa.table(columns)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(str(path), table.schema) as out:
        out.write_table(table)


def change(served, name, base, new, path):
    store = str(served.state / "graphs" / name / str(new))
    return served.call("change", graph=name, version=base, new_version=new, path=str(path), store=store)


def test_two_changes_survive_a_reopening_without_their_base(served):
    batch = served.state / "batch.arrow"
    served.load("path", "path:6")
    served.run("path", "bfs", mode="mutate", column="hops", parameters={"source": 0})
    write(batch, True, source=[0, 4], target=[5, 5], remove=[False, True])
    second = change(served, "path", 1, 2, batch)
    write(batch, False, source=[5], target=[7])
    third = change(served, "path", 2, 3, batch)
    batch.unlink()
    assert [second["facts"]["n"], third["facts"]["n"]] == [6, 8]
    wanted = {1: [0, 1, 2, 3, 4, 5], 2: [0, 1, 2, 3, 4, 1], 3: [0, 1, 2, 3, 4, 1, None, 2]}
    for _ in range(2):
        for version, distances in wanted.items():
            served.run("path", "bfs", job="d", version=version, parameters={"source": 0}, keep=True)
            distances_now = served.call("lookup", job="d", vertices=list(range(len(distances))))["columns"]["distance"]
            assert distances_now == distances, version
        served.call("drop", graph="path")
        for version in wanted:
            assert served.reopen("path", version)["columns"] == ["hops"]
    near = {"column": "hops", "is": "<=", "value": 2}  # of the first version; new vertices have no value
    assert served.run("path", "cc", version=3, where=near)["rows"] == 3

    shutil.rmtree(served.state / "graphs" / "path" / "1")
    shutil.rmtree(served.state / "graphs" / "path" / "2")
    served.call("drop", graph="path")
    assert served.reopen("path", 3)["facts"]["fingerprint"] == third["facts"]["fingerprint"]


def test_columns_stay_when_many_changes_are_written_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(graph_store, "MOST_CHANGES", 0)
    comm, batch, first, second = SerialComm(), tmp_path / "batch.arrow", tmp_path / "1", tmp_path / "2"
    write(batch, False, source=["anna", "ben"], target=["ben", "carl"])
    base = graph_store.load(str(batch), {"ids": "string"}, "cpu", comm)
    graph_store.keep(base, {"source": str(batch), "options": {"ids": "string"}}, first)
    keep_column("side", dgraph.cc(base), first)
    named = graph_store.open_stored(first, "cpu", comm)
    assert named.columns["side"].tolist() == ["anna"] * 3

    plain = graph_store.load("path:3", {}, "cpu", comm)
    graph_store.keep(plain, {"source": "path:3", "options": {}}, second)
    assert sorted(path.name for path in second.iterdir()) == ["graph.json"]  # it is drawn again
    keep_column("hops", dgraph.bfs(plain, 2), second)
    write(batch, False, source=[0], target=[4])
    changed = graph_store.changed(graph_store.open_stored(second, "cpu", comm), batch)
    whole = graph_store.keep_change(changed, second, batch, tmp_path / "3")
    for graph in (whole, graph_store.open_stored(tmp_path / "3", "cpu", comm)):
        np.testing.assert_array_equal(graph.columns["hops"], [2, 1, 0, np.nan, np.nan])
    (tmp_path / "3" / "column-hops.npz").write_bytes(b"x")
    with pytest.raises(DataError, match=r"column-hops\.npz is not a column"):
        graph_store.open_stored(tmp_path / "3", "cpu", comm)


@pytest.mark.parametrize("ids", ["integer", "string"])
def test_attributes_stay_when_a_graph_is_opened_again(tmp_path, ids):
    (tmp_path / "calls.csv").write_text("source,target,fee,kind\n1,2,5,a\n2,3,7,b\n")
    comm, options = SerialComm(), {"keep": "fee:sum,kind", "ids": ids}
    source = {"source": str(tmp_path / "calls.csv"), "options": options}
    graph_store.keep(graph_store.load(source["source"], options, "cpu", comm), source, tmp_path / "1")
    again = graph_store.open_stored(tmp_path / "1", "cpu", comm)
    assert again.to_pandas()[["fee", "kind"]].values.tolist() == [[5, "a"], [7, "b"]]


def test_a_run_starts_from_the_answer_of_an_older_version(served):
    batch, fields = served.state / "batch.arrow", {"parameters": {"source": 0}, "keep": True}
    served.load("grown", "path:6")
    served.run("grown", "bfs", job="old", **fields)
    write(batch, True, source=[0], target=[4])
    change(served, "grown", 1, 2, batch)
    there = served.run("grown", "bfs", job="new", version=2, previous="old", top=6, **fields)
    assert there["summary"]["started"] == "previous answer"
    assert sorted(zip(*there["top"].values(), strict=True)) == [(0, 0), (1, 1), (2, 2), (3, 2), (4, 1), (5, 2)]
    with pytest.raises(RankError, match="source=0"):
        served.run("grown", "bfs", job="new", version=2, previous="old", parameters={"source": 1})


@pytest.mark.parametrize(
    ("algorithm", "parameters", "again"),
    [
        ("scc", {}, "edges"),
        ("sssp", {"source": 0, "variant": "bellman-ford"}, "edges"),
        ("leiden", {}, "edges"),
        ("cc", {}, "load"),
        ("cc", {}, "released"),
    ],
)
def test_a_run_that_cannot_start_from_an_older_answer_starts_from_scratch(served, algorithm, parameters, again):
    """Algorithms and parameters that do not continue, another graph as the new version, an answer that is gone."""
    batch, name = served.state / "batch.arrow", f"{algorithm}-{again}"
    served.load(name, "path:6")
    served.run(name, algorithm, job="old", parameters=parameters, keep=True)
    write(batch, True, source=[0], target=[4])
    if again == "load":
        served.load(name, "path:6", version=2)
    else:
        change(served, name, 1, 2, batch)
    if again == "released":
        served.call("release", job="old")
    there = served.run(name, algorithm, job="new", version=2, previous="old", parameters=parameters)
    assert "started" not in there["summary"]


def test_wrong_changes_are_refused(served):
    batch = served.state / "wrong.arrow"
    served.load("wrong", "path:4")
    write(batch, True, source=[0], destination=[1])
    with pytest.raises(RankError, match="no column target"):
        change(served, "wrong", 1, 2, batch)
    write(batch, True, source=[0, None], target=[1, 2])
    with pytest.raises(RankError, match="missing values"):
        change(served, "wrong", 1, 2, batch)
    write(batch, True, source=[3], target=[1], remove=[True])
    with pytest.raises(RankError, match="3"):
        change(served, "wrong", 1, 2, batch)
    batch.write_bytes(b"nonsense")
    with pytest.raises(RankError, match="not an Arrow"):
        change(served, "wrong", 1, 2, batch)
    assert served.run("wrong", "cc")["summary"]["components"] == 1
