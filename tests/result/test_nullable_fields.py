"""Fields of a program that may have no value, and fields without a column, in tables, files and rankings."""

import emulated
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from emulated import needs_compiler
from flat_run import flat_run
from pyarrow import parquet

import dgraph
from dgraph import ADD, INF, MAX, MIN, OR, Field, Global, Program, where
from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError
from dgraph.program.row_reducers import MODE
from dgraph.service.ranks.result_rows import listed

EDGES = [0, 1, 4], [1, 2, 5]
"""A path 0, 1, 2, and an edge between vertices that no path from 0 reaches; vertex 3 is alone."""


class Spread(Program):
    """Columns of every kind, from ``source`` on."""

    source: int = 0
    hops = Field("int64", reduce=MIN)
    width = Field("float32", reduce=MAX)
    tag = Field("int32", nullable=-1)
    raw = Field("int32", reduce=MIN, nullable=False)
    small = Field("uint32", reduce=MIN)
    visits = Field("int64", reduce=ADD, hidden=True)
    nearest = Global("int64", reduce=MIN)

    def init(self, v, g):
        here = v.id == self.source
        ends = {name: where(here, 1, INF) for name in ("hops", "width", "raw", "small")}
        return {"tag": where(here, 7, -1), "active": here, **ends}

    def edge(self, u, e, v):
        return {"hops": u.hops + 1, "width": u.width * 0.5, "raw": u.raw + 1, "small": u.small + 1, "visits": 1}

    def apply(self, v, g):
        return {"active": v.hops == g.round + 2}


NULLS = {"hops": [4, 5], "width": [4, 5], "tag": [1, 2, 4, 5], "raw": [], "small": [4, 5]}
ROWS = {
    "vertex": [0, 1, 2, 4, 5],
    "hops": [1, 2, 3, None, None],
    "width": [1.0, 0.5, 0.25, None, None],
    "tag": [7, None, None, None, None],
    "raw": [1, 2, 3, 2**31 - 1, 2**31 - 1],
    "small": [1, 2, 3, None, None],
}


def solved(**more):
    comm = world()
    edges = EDGES if comm.rank == 0 else (None, None)
    return dgraph.run(Spread(), dgraph.Graph.from_edges(*edges, comm=comm, sparse_ids=True, **more))


def check(result):
    """Compare every table with ``ROWS``; collective."""
    table, frame, polars = result.to_arrow(), result.to_pandas(), result.to_polars()
    ranked = {name: result.top(9, name)[name].tolist() for name in NULLS}
    assert ranked == {name: sorted(filter(None, ROWS[name]), reverse=True) for name in NULLS}
    assert result.summary == {"nearest": None}
    if world().rank == 0:
        assert table.to_pydict() == ROWS
        assert [field.name for field in table.schema if field.nullable] == ["hops", "width", "tag", "small"]
        assert polars.to_dict(as_series=False) == ROWS
        assert {name: frame["vertex"][frame[name].isna()].tolist() for name in NULLS} == NULLS
        assert frame["small"].dtype == pd.UInt32Dtype()


@pytest.mark.mpi
def test_tables_show_no_sentinels():
    check(solved(device="cpu"))


@needs_compiler
@pytest.mark.mpi_skip
def test_tables_of_an_emulated_gpu():
    graph = dgraph.Graph.from_edges(*EDGES, comm=SerialComm(), sparse_ids=True)
    check(flat_run(Spread(), graph, backend=emulated.backend()))


@pytest.mark.mpi
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_files(suffix, tmp_path):
    path = world().bcast_json(str(tmp_path / f"rows{suffix}"))
    solved(device="cpu").save(path)
    world().barrier()
    if suffix == ".csv":
        with open(path) as file:
            assert file.read().splitlines()[3:5] == ["2,3,0.25,,3,3", "4,,,,2147483647,"]
    elif suffix == ".parquet":
        assert parquet.read_table(path).to_pydict() == ROWS
        assert pd.read_parquet(path)["small"].dtype == pd.UInt32Dtype()
    else:
        assert pa.ipc.open_file(path).read_all().to_pydict() == ROWS


@pytest.mark.mpi_skip
def test_a_notebook_json_and_networkx_show_none():
    result = solved(device="cpu")
    assert str(2**63 - 1) not in repr(result) + result._repr_html_()
    assert listed(result.gather(), result.nullable) == ROWS
    assert set(result.to_networkx().nodes[4]) == {"raw"}
    assert result.value(4, "hops") == 2**63 - 1, "a number there"


SPARED = [
    (Field("int64", reduce=MIN), 2**63 - 1),
    (Field("int32"), 2**31 - 1),
    (Field("int32", reduce=MAX), -(2**31)),
    (Field("int64", reduce=MODE), 2**63 - 1),
    (Field("float64", reduce=MAX), -np.inf),
    (Field("uint32", reduce=MIN), 2**32 - 1),
    (Field("uint32", reduce=MAX), None),
    (Field("uint32", reduce=MAX, nullable=True), 0),
    (Field("uint8"), None),
    (Field("uint8", nullable=True), 255),
    (Field("bool", reduce=OR), None),
    (Field("int64", reduce=ADD), None),
    (Field("int64", reduce=ADD, nullable=0), 0),
    (Field("float32", nullable=False), None),
    (Field("float32", nullable=-1), -1),
]


@pytest.mark.parametrize(("field", "null"), SPARED)
def test_the_value_that_stands_for_none(field, null):
    assert field.null == null


def test_another_dtype_has_another_value():
    assert Spread().retype(hops="float64").fields["hops"].null == np.inf
    with pytest.raises(UsageError, match="nullable = -1 is not valid for a field of uint32"):
        Spread().retype(tag="uint32")


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int32", 2**31),
        ("uint32", -1),
        ("bool", True),
        ("bool", 1),
        ("int64", 1.5),
        ("int64", "none"),
        ("float64", "x"),
    ],
)
def test_a_value_that_the_dtype_does_not_have(dtype, value):
    with pytest.raises(UsageError, match=r"nullable = .* is not valid for a field"):
        Field(dtype, nullable=value)


class Silent(Program):
    """Program whose answer is its summary."""

    mark = Field("bool", reduce=OR, hidden=True)
    rounds = Global("int64", init=3)

    def init(self, v, g):
        return {"mark": True, "active": True}

    def edge(self, u, e, v):
        return {"mark": u.mark}


@pytest.mark.mpi
def test_an_answer_without_columns(tmp_path):
    result = flat_run(Silent(), "path:3")
    assert (list(result.columns), result.summary) == (["vertex"], {"rounds": 3})
    assert "rounds 3" in repr(result)
    path = world().bcast_json(str(tmp_path / "out"))
    result.save(f"{path}.csv")
    with pytest.raises(UsageError, match="silent has no column beside vertex: all fields of the program are hidden"):
        result.save(f"{path}.txt")
    if world().rank == 0:
        with open(f"{path}.csv") as file:
            assert file.read() == "vertex\n0\n1\n2\n"
    world().barrier()
