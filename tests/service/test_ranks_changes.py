"""Changes of edges through the ranks: versions live beside each other, and reopening gives the same graphs."""

import shutil

import pyarrow as pa
import pytest
from ranks_served import Served

import dgraph
from dgraph.service.supervisor.supervisor import RankError

pytestmark = [
    pytest.mark.mpi_skip,
    pytest.mark.starts_children,
    pytest.mark.skipif(not hasattr(dgraph.Graph, "with_edges"), reason="graphs cannot be changed yet"),
]


@pytest.fixture(scope="module", params=[1, 2])
def served(request, tmp_path_factory):
    made = Served(tmp_path_factory.mktemp("state"), request.param)
    yield made
    made.stop()


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
            found = served.call("lookup", job="d", vertices=list(range(len(distances))))["columns"]["distance"]
            assert found == distances, version
        served.call("drop", graph="path")
        for version in wanted:
            served.reopen("path", version)

    shutil.rmtree(served.state / "graphs" / "path" / "1")
    shutil.rmtree(served.state / "graphs" / "path" / "2")
    served.call("drop", graph="path")
    assert served.reopen("path", 3)["facts"]["fingerprint"] == third["facts"]["fingerprint"]


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
