"""Values that a graph cannot hold as they are written are refused by line, or said to be changed."""

from decimal import Decimal

import pandas
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


@pytest.mark.parametrize("listed", ["u\n5\n", "source\n5\n6\n", "u v w\n1 2\n"])
def test_lines_without_a_column_of_the_ends_are_refused(listed, tmp_path):
    """A header of one name let lines of one number be read as sources without targets."""
    path = tmp_path / "a.txt"
    path.write_text(listed)
    columns = {} if listed[1] != " " else {"columns": "1,5,2"}
    with pytest.raises(
        DataError, match=r"a\.txt:2: .*column 2 of 2 is missing|a\.txt:1: .*columns 1 and 5 were to be read"
    ):
        Graph.load(path, **columns)


@pytest.mark.parametrize("packing", ["", ".gz"])
@pytest.mark.parametrize("word", ["007", "0x10", "-00", "01.5", "+09", "+4915112345678"])
def test_kept_numbers_that_are_codes_stay_text(word, packing, tmp_path):
    """Also where most values are plain numbers; a fraction, a time and 0 are no codes."""
    path = tmp_path / f"a.csv{packing}"
    listed = f"source,target,x,y,day\n1,2,10,0.5,0999-01-02\n2,3,{word},0,0999-01-03\n3,4,-1,-0e1,0999-01-04\n".encode()
    path.write_bytes(packed_as(packing, listed) if packing else listed)
    graph = Graph.load(path, keep="x,y,day")
    columns = graph.block.attributes
    assert [columns["x"].words[code].decode() for code in columns["x"].values] == ["10", word, "-1"]
    assert columns["y"].values.tolist() == [0.5, 0, 0]
    assert columns["day"].values.dtype.kind == "M"
    said = [note for note in graph.facts.notes if "kept as text" in note]
    assert said == ["x is kept as text: it holds numbers that begin like 007, 0x10 or +5"]


@pytest.mark.parametrize(
    ("listed", "padded"), [("7 1\n007 2\n", True), ("u v\n1 00\n", True), ("0 1\n100 2 05\n", False)]
)
def test_zeros_before_an_id_are_said_to_be_lost(listed, padded, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(listed if listed.count(" ") < 3 else "0 1 1\n100 2 05\n")
    notes = Graph.load(path).facts.notes
    assert any(note.startswith("ids are integers, 0") for note in notes) == padded
    assert Graph.load(path, ids="string").n == (4 if padded and "u" not in listed else Graph.load(path, ids="string").n)


def test_kept_decimals_of_python_are_said_to_change():
    frame = pandas.DataFrame({"source": [0, 1], "target": [1, 2], "x": [1, Decimal("1.10")], "y": ["1", None]})
    notes = Graph.from_pandas(frame, keep="x,y").facts.notes
    assert [note for note in notes if "decimals" in note] == [
        "x holds decimals: kept as float64, which holds 15 digits"
    ]


def test_kept_booleans_are_words(tmp_path):
    """Numbers beside them, or on another rank, are text."""
    path = tmp_path / "a.csv"
    path.write_text("source,target,x,y\n1,2,1,true\n2,3,true,False\n")
    columns = Graph.load(path, keep="x,y").block.attributes
    assert [columns["x"].words[code] for code in columns["x"].values] == [b"1", b"true"]
    assert columns["y"].values.tolist() == [True, False]


@pytest.mark.parametrize(
    ("kind", "options", "warned"), [("Undirected", {}, 1), ("Directed", {}, 0), ("undirected", {"directed": True}, 0)]
)
@pytest.mark.parametrize("ids", ["integer", "string"])
def test_a_column_that_says_undirected_is_pointed_out(kind, options, warned, ids, tmp_path):
    """Gephi's tables of edges have a column Type."""
    path = tmp_path / "a.csv"
    path.write_text(f"Source,Target,Type,Id,Label,Weight\n1,2,{kind},0,,1.5\n2,3,{kind},1,,2\n")
    warnings = Graph.load(path, ids=ids, **options).facts.warnings
    assert sum("--undirected" in warning for warning in warnings) == warned
