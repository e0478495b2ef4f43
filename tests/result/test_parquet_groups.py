"""Parquet files whose row groups threads encode: tables come back, group by group, and by other readers."""

import hashlib
import io

import numpy as np
import pytest

from dgraph.graph.formats.parquet_footer import shifted
from dgraph.result.files import parquet_groups
from dgraph.result.files.parquet_groups import ParquetGroups

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.quick

IDS = ("source", "target")
GRAPH = {
    "column_encoding": dict.fromkeys(IDS, "DELTA_BINARY_PACKED"),
    "use_dictionary": ["weight", "name"],
    "compression": {"source": "NONE", "target": "NONE", "weight": "SNAPPY", "name": "SNAPPY"},
}
OPTIONS = {"graph": GRAPH, "default": {}, "small pages": {"data_page_size": 64}}


def a_table(rows: int) -> pa.Table:
    rng = np.random.default_rng(rows)
    names = pa.array([None if code == 3 else f"name {code}" for code in rng.integers(0, 50, rows).tolist()])
    ids = {name: rng.integers(0, 1 << 40, rows) for name in IDS}
    return pa.table({**ids, "weight": rng.integers(1, 256, rows).astype(np.int32), "name": names})


def written(path, table: pa.Table, threads: int, pieces: int, **options) -> None:
    with open(path, "wb") as file:
        writer = ParquetGroups(file.fileno(), table.schema, threads, **options)
        for first in range(0, max(table.num_rows, 1), pieces):
            writer.add(table.slice(first, pieces))
        writer.end()


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("rows", [0, 1, 4096, 20_000])
def test_tables_come_back(tmp_path, monkeypatch, options, rows):
    monkeypatch.setattr(parquet_groups, "ROWS", 1000)
    table, sums, path = a_table(rows), set(), tmp_path / "table.parquet"
    for threads in (1, 2, 5):
        written(path, table, threads, 300, **OPTIONS[options])
        sums.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(sums) == 1
    with parquet.ParquetWriter(tmp_path / "alone.parquet", table.schema, **OPTIONS[options]) as alone:
        for first in range(0, rows, 1200):
            alone.write_table(pa.concat_tables(table.slice(first + skip, 300) for skip in range(0, 1200, 300)))
    assert path.read_bytes() == (tmp_path / "alone.parquet").read_bytes()
    file = parquet.ParquetFile(path)
    assert file.metadata.num_rows == rows
    assert file.num_row_groups == -(-rows // 1200)
    assert file.read().equals(table)
    for group in range(file.num_row_groups):
        columns = ["target", "name"]
        assert file.read_row_group(group, columns=columns).equals(table.slice(1200 * group, 1200).select(columns))


@pytest.mark.parametrize("library", ["polars", "duckdb"])
def test_other_readers_read_them(tmp_path, monkeypatch, library):
    module = pytest.importorskip(library)
    monkeypatch.setattr(parquet_groups, "ROWS", 1000)
    table, path = a_table(5000), tmp_path / "table.parquet"
    written(path, table, 2, 500, **GRAPH)
    if library == "polars":
        columns = module.read_parquet(path).to_dict(as_series=False)
    else:
        query = module.execute("select * from read_parquet(?)", [str(path)])
        columns = dict(zip(table.column_names, map(list, zip(*query.fetchall(), strict=True)), strict=True))
    assert columns == table.to_pydict()


@pytest.mark.parametrize("distance", [0, 1, 127, 1 << 20, 1 << 40])
def test_every_offset_of_a_footer_moves(distance):
    file = io.BytesIO()
    parquet.write_table(a_table(3000), file, row_group_size=1000)
    content = file.getvalue()
    footer = content[-8 - int.from_bytes(content[-8:-4], "little") : -8]
    moved = shifted(footer, distance)
    assert (moved == footer) == (distance == 0)
    ends = (
        parquet.read_metadata(file),
        parquet.read_metadata(io.BytesIO(b"PAR1" + moved + len(moved).to_bytes(4, "little") + b"PAR1")),
    )
    for group in range(3):
        for number in range(4):
            old, new = (metadata.row_group(group).column(number).to_dict() for metadata in ends)
            for key in ("data_page_offset", "dictionary_page_offset", "file_offset"):
                assert new[key] == (old[key] + distance if old[key] else old[key])
            assert new["statistics"] == old["statistics"]
