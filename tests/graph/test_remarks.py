"""Values that a graph cannot hold as they are written are refused by line, or said to be changed."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from fuzz_inputs import packed_as

from dgraph import Graph
from dgraph.errors import DataError

VANISHED = "some weights are too small for a double, below 4.9e-324: read as 0"
LISTED = "1 2 {}\n2 3 5e-324\n3 4 0e5\n4 5 0.0e-999\n5 6 -0\n"


@pytest.mark.parametrize("packing", ["", ".gz"])
@pytest.mark.parametrize("options", [{}, {"ids": "string"}], ids=["integers", "names"])
@pytest.mark.parametrize(("word", "vanishes"), [("1e-400", True), ("-2e-324", True), ("3e-324", False)])
def test_a_weight_that_becomes_zero_is_said(word, vanishes, options, packing, tmp_path):
    path = tmp_path / f"a.txt{packing}"
    text = LISTED.format(word).encode()
    path.write_bytes(packed_as(packing, text) if packing else text)
    graph = Graph.load(path, **options)
    assert (VANISHED in graph.facts.notes) == vanishes
    assert (graph.block.weights[0] == 0) == vanishes


def test_a_kept_number_that_would_become_zero_stays_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("source,target,x,y\n1,2,1e-400,0e5\n2,3,1,0.0\n")
    columns = Graph.load(path, keep="x,y").block.attributes
    assert [columns["x"].words[code] for code in columns["x"].values] == [b"1e-400", b"1"]
    assert columns["y"].values.tolist() == [0, 0]


@pytest.mark.parametrize("line", ["\ufeffa,c", 'a,"\ufeffc"', '\ufeff"a",c'])
def test_a_byte_order_mark_inside_a_file_makes_no_other_name(line, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(f"\ufeffa,b\nb\ufeff,b\n{line}\n".encode())
    with pytest.raises(DataError, match=r"a\.csv:3: .*a name begins with a byte order mark"):
        Graph.load(path, ids="string", header=False)
    assert Graph.load(path, ids="string", header=False, lenient=True).m == 2


def test_kept_decimals_and_times_of_a_zone_are_said_to_change(tmp_path):
    prices = pa.array([Decimal("1.10"), Decimal("12345678901234567.89")], pa.decimal128(20, 2))
    table = pa.table({
        "source": [0, 1], "target": [1, 2], "price": prices, "coded": prices.dictionary_encode(),
        "there": pa.array([0, 1], pa.timestamp("s", "Europe/Berlin")),
        "utc": pa.array([0, 1], pa.timestamp("s", "UTC")), "whole": [1, 2],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    pf.write_feather(table, tmp_path / "a.arrow")
    keep = "price,coded,there,utc,whole"
    graphs = [Graph.load(tmp_path / name, keep=keep) for name in ("a.parquet", "a.arrow")]
    graphs.append(Graph.from_arrow(table, keep=keep))
    for graph in graphs:
        assert [note for note in graph.facts.notes if " holds " in note] == [
            "price holds decimals: kept as float64, which holds 15 digits",
            "coded holds decimals: kept as float64, which holds 15 digits",
            "there holds times of Europe/Berlin: kept in UTC",
        ]
    frame = table.select(["source", "target", "there"]).to_pandas()
    assert "there holds times of Europe/Berlin: kept in UTC" in Graph.from_pandas(frame, keep="there").facts.notes


def test_a_file_of_pzstd_begins_with_a_frame_to_skip(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\x50\x2a\x4d\x18\x04\0\0\0size" + packed_as(".zst", b"1 2\n2 3\n"))
    assert Graph.load(path).m == 2
