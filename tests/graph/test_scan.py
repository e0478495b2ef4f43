"""The line scanner: numbers equal Python's, and tables do not depend on the cuts of a file."""

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from loading import agreed, cleaned, figures, loaded, written
from simulated import on_ranks

import dgraph
from dgraph.comm.serial import SerialComm
from dgraph.errors import DataError
from dgraph.graph.formats import lines as text_lines
from dgraph.graph.formats import scan, text
from dgraph.graph.formats.line_layout import Layout
from dgraph.graph.formats.number_tokens import correctly_rounded
from dgraph.graph.formats.round_decimal import decimal_at
from dgraph.graph.formats.sniff import DataStart
from dgraph.report import facts


def scanned(token: bytes, kind=scan.NUMBER):
    """Return (integer or float, error) of one token in a weight column."""
    line = np.frombuffer(b"1 2 " + token + b"\n", np.uint8)
    src, dst, integers, reals = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)
    late = np.zeros((1, 4), np.int64)
    columns = np.array([scan.SOURCE, scan.TARGET, kind])
    classes = scan.byte_classes("#", "")
    out = scan.scan(line, classes, 0, columns, 0, scan.LARGEST, False, 0, src, dst, integers, reals, late)
    _, _, lates, integral, _, wrong = out[:6]
    if wrong:
        return None, wrong
    if integral:
        return int(integers[0]), scan.OK
    return float(correctly_rounded(line, late[:, 2:])[0] if lates else reals[0]), scan.OK


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([repr, "{:.17g}".format, "{:.15e}".format, "{:f}".format]),
)
@example(5e-324, repr)
@example(2.2250738585072011e-308, repr)
@example(9007199254740993.0, repr)
@example(1.7976931348623157e308, repr)
def test_floats_are_rounded_as_python_rounds_them(value, spell):
    token = spell(value)
    assert scanned(token.encode()) == (float(token) if set(token) & set(".eE") else int(token), scan.OK)


@given(st.from_regex(r"[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True))
@example("29514929935856119e-3")
@example("13255666035340349e20")
@example("8897819725737613e23")
@example("1e23")
@example("8.5e22")
@example("0.000000000000000000000000000001e30")
@example("0e999")
@example("123456789012345678901234567890e-30")
@example("2.4703282292062327e-324")
def test_decimal_strings_are_read_as_python_reads_them(token):
    whole = not set(token) & set(".eE") and abs(int(token)) < 1 << 63
    assert scanned(token.encode()) == (int(token) if whole else float(token), scan.OK)


DECIMALS = (
    "9007199254740993e0", "9007199254740993e2", "900719925474099.3e1", "5e-324", "2.2250738585072011e-308",
    "1.7976931348623157e308", "0.000012345678901234567", "0.0", "0e999", "1e22", "8.5e22", "123456789012345678e-30",
)  # fmt: skip
"""Numbers halfway between two doubles, at the ends of their range, and of many digits."""


def test_plain_decimals_are_rounded_as_python_rounds_them():
    rng, left = random.Random(1), 0
    drawn = [f"{rng.randrange(10**18)}e{rng.randrange(-300, 280)}" for _ in range(2000)]
    drawn += [repr(rng.random() * 10.0 ** rng.randrange(-300, 300)) for _ in range(2000)]
    drawn += [f"{rng.randrange(10**9)}.{rng.randrange(10**9)}" for _ in range(2000)]
    for token in (*DECIMALS, *drawn):
        valid, value, end = decimal_at(np.frombuffer(token.encode() + b"\n" * 40, np.uint8), 0, ord("."))
        left += not valid
        assert not valid or (value, end) == (float(token), len(token)), token
    assert left < 5, "these are for the scanner"


@pytest.mark.parametrize("ranks", [1, 3])
def test_lines_from_the_first_that_is_not_plain_are_counted(ranks, tmp_path, monkeypatch):
    weights = [1, 2.5, 1e-7, 0.1234567890123456, 1 << 40, 3 << 51] * 9
    plain = "".join(f"{u} {u + 1} {w}\n" for u, w in enumerate(weights))
    monkeypatch.setattr(text_lines, "CHUNK", len(plain) // 3)
    assert loaded(written(tmp_path, "a.txt", plain), ranks).facts.scanned_lines == 0
    graph = loaded(written(tmp_path, "b.txt", f"{plain}90 91 inf\n91 92  1\n"), ranks)
    assert (graph.facts.scanned_lines, graph.m) == (2, 56)


def test_a_report_counts_lines_that_are_not_plain(tmp_path):
    graph = dgraph.Graph.load(written(tmp_path, "a.csv", 'u,v\n1,2\n"2",3\n3,4\n'), comm=SerialComm())
    report = dgraph.bfs(graph, source=1).report
    assert report["graph"]["scanned_lines"] == 2
    assert "2 lines read by the slower reader" in dict(facts(report))["graph"]


@given(st.binary(min_size=1, max_size=8).filter(lambda raw: not set(raw) & set(b"\n\r\t ,#")))
@example(b"1_0")
@example(b"0x1p3")
@example(b"infinity")
@example(b"-Inf")
@example(b"infin")
@example(b"nan")
@example(b"1e")
@example(b"-.e1")
@example(b"+-1")
@example("٣".encode())
def test_what_is_no_number_is_refused(token):
    try:
        float(token.decode("ascii").replace("_", "?"))
        number = b"nan" not in token.lower()
    except ValueError:
        number = False
    assert (scanned(token)[1] == scan.OK) == number


@given(st.integers(0, 1 << 66), st.integers(0, 5))
@example((1 << 63) - 1, 0)
@example(1 << 63, 0)
@example(1 << 64, 0)
def test_ids_are_exact_to_63_bits(value, zeros):
    raw = f"7 {'0' * zeros}{value}\n".encode()
    room = [np.zeros(1, np.int64) for _ in range(3)]
    columns = np.array([scan.SOURCE, scan.TARGET])
    out = scan.scan(
        np.frombuffer(raw, np.uint8), scan.byte_classes("#", ""), 0, columns, 0, scan.LARGEST, False, 0, *room,
        np.zeros(1), np.zeros((0, 4), np.int64),
    )  # fmt: skip
    if value < 1 << 63:
        assert (out[5], int(room[1][0])) == (scan.OK, value)
    else:
        assert out[5] == scan.TOO_BIG


def test_weights_take_the_narrowest_type_that_holds_the_column(tmp_path):
    for lines, dtype in (
        ("0 1 5\n1 2 -7\n", np.int32),
        ("0 1 5\n1 2 2147483648\n", np.int64),
        ("0 1 5\n1 2 0.5\n", np.float64),
        ("0 1 9007199254740993\n1 2 99999999999999999999\n", np.float64),
    ):
        path = written(tmp_path, "w.wel", lines)
        for ranks in (1, 2, 3):
            graph = loaded(path, ranks)
            assert graph.weights == dtype
            assert [w for *_, w in graph.arcs] == [dtype(line.split()[2]) for line in lines.splitlines()]


MIXED = (
    "\ufeff# head\r\n\r\n10 2 0.125\n# in between\n 3\t4000000000 17 \r\n#\n\n"
    "5 6 1e-3\r\n7 7 12345678901234567890\n8 9 1"
)


def columns_of(path, layout, ranks):
    raw = path.read_bytes()

    def work(comm):
        table = text.read_table(str(path), layout, DataStart(3, 1, len(raw)), comm)
        return table.src.tolist(), table.dst.tolist(), table.weights.tolist()

    parts = agreed(on_ranks(ranks, work))
    return [[value for part in parts for value in part[k]] for k in range(3)]


LAYOUT = Layout((scan.SOURCE, scan.TARGET, scan.NUMBER), "U V W")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_place_where_a_file_can_be_cut(ranks, tmp_path, monkeypatch):
    path = written(tmp_path, "a.txt", MIXED)
    for chunk in range(1, len(MIXED) + 4):
        monkeypatch.setattr(text_lines, "CHUNK", chunk)
        assert columns_of(path, LAYOUT, ranks) == [
            [10, 3, 5, 7, 8], [2, 4000000000, 6, 7, 9], [0.125, 17.0, 1e-3, 12345678901234567890.0, 1.0],
        ]  # fmt: skip


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("bad", [0, 2, 4, 7, 9])
def test_the_first_bad_line_is_named_wherever_the_file_is_cut(ranks, bad, tmp_path, monkeypatch):
    listed = MIXED.split("\n")
    listed.insert(bad, "1 2")
    path = written(tmp_path, "a.txt", "\ufeff" + "\n".join([*listed, "one two", "1 2 1e999"]).replace("\ufeff", ""))
    for chunk in range(1, 120, 3):
        monkeypatch.setattr(text_lines, "CHUNK", chunk)
        with pytest.raises(DataError, match=rf"a\.txt:{bad + 1}: got '1 2'; column 3 of 3 is missing"):
            columns_of(path, LAYOUT, ranks)


def test_more_ranks_than_lines(tmp_path):
    path = written(tmp_path, "a.txt", "4 5\n5 6")
    assert figures(loaded(path, 8)) == cleaned([(4, 5, 1), (5, 6, 1)], True)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_column_that_is_not_read_may_hold_anything(ranks, tmp_path):
    tokens = ["1", "-7", "0.25", "1.", ".5", "-", "nan", "x.y", "1" * 30, "0." + "3" * 19, "0." + "3" * 30, "1e5", "٣"]
    edges = [(u, 7 * u % 500, 1) for u in range(500)]
    lines = [f"{u} {v} {tokens[u % len(tokens)]}\n" for u, v, _ in edges]
    path = written(tmp_path, "a.txt", "".join(lines))
    assert figures(loaded(path, ranks, weights="unit", keep_loops=True)) == cleaned(edges, True, keep_loops=True)
    for index, line in ((30, "4 5\n"), (60, "4 5 1 1\n"), (90, "4 5 0.5 x\n")):
        path = written(tmp_path, "b.txt", "".join([*lines[:index], line, *lines[index:]]))
        with pytest.raises(DataError, match=rf"b\.txt:{index + 1}: "):
            loaded(path, ranks, weights="unit")
