"""CSV as pandas, DuckDB and Excel write it, columns by name or number, against pandas' reader."""

import csv
import io

import numpy as np
import pandas
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import agreed, loaded, share, written
from pyarrow import csv as arrow_csv
from simulated import on_ranks

from dgraph.errors import DataError, UsageError
from dgraph.graph.load import load
from dgraph.graph.load_options import LoadOptions

polars = pytest.importorskip("polars")

duckdb = pytest.importorskip("duckdb")

ROWS = [("a, b", 'the "best"', 1.5), ("c", "a, b", 2), ('"', "a blank", 3), ("#x", "Zoë;", 4)]
FRAME = pandas.DataFrame([("note, with", *row) for row in ROWS], columns=["a note", "who", "whom, else", "minutes"])


def arcs(path, ranks=1, **options):
    def work(comm):
        block = load(str(path), comm, LoadOptions(**options))
        _, _, src, dst = share(block, comm)
        if block.ids.names is not None:
            src, dst = (block.ids.names.of(np.array(numbers, np.int64), comm).tolist() for numbers in (src, dst))
        return list(zip(src, dst, [1] * len(src) if block.weights is None else block.weights.tolist(), strict=True))

    return sorted(arc for part in agreed(on_ranks(ranks, work)) for arc in part)


def excel(frame, path):
    text = frame.to_csv(index=False, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())


WRITERS = {
    "pandas": lambda frame, path: frame.to_csv(path, index=False),
    "all quoted": lambda frame, path: frame.to_csv(path, index=False, quoting=csv.QUOTE_ALL),
    "with index": lambda frame, path: frame.to_csv(path),
    "excel": excel,
    "duckdb": lambda frame, path: duckdb.sql("select * from frame").write_csv(str(path)),
    "polars": lambda frame, path: polars.from_pandas(frame).write_csv(path),
    "arrow": lambda frame, path: arrow_csv.write_csv(pyarrow.Table.from_pandas(frame), path),
}


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("writer", WRITERS)
def test_names_as_programs_write_them(writer, ranks, tmp_path, monkeypatch):
    monkeypatch.setattr("dgraph.graph.formats.lines.CHUNK", 40)
    WRITERS[writer](FRAME, tmp_path / "a.csv")
    columns = 'who,"whom, else",minutes'
    assert arcs(tmp_path / "a.csv", ranks, ids="string", columns=columns) == sorted(ROWS)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("writer", WRITERS)
def test_integers_as_programs_write_them(writer, ranks, tmp_path, monkeypatch):
    monkeypatch.setattr("dgraph.graph.formats.lines.CHUNK", 40)
    frame = pandas.DataFrame(
        {"note": ["x, 7 #", "", "12", 'say "hi"'], "u": [1, 2, 3, 2**62], "v": [2, 3, 1, 4], "w": 2}
    )
    WRITERS[writer](frame, tmp_path / "a.csv")
    wanted = sorted(frame[["u", "v", "w"]].itertuples(index=False, name=None))
    assert arcs(tmp_path / "a.csv", ranks, columns="u,v,w") == wanted
    places = "3,4,5" if writer == "with index" else "2,3,4"
    assert arcs(tmp_path / "a.csv", ranks, columns=places) == wanted


FIELD = st.text(st.sampled_from('ab",; \t#%é'), min_size=1, max_size=6).filter(lambda text: text.strip(" \t"))


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=8), tabs=st.booleans(), ranks=st.integers(1, 3))
def test_any_quoted_names(rows, tabs, ranks, tmp_path_factory):
    path = tmp_path_factory.mktemp("csv") / ("a.tsv" if tabs else "a.csv")
    table = io.StringIO()
    writer = csv.writer(table, delimiter="\t" if tabs else ",", quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([("source", "target"), *rows])
    path.write_text(table.getvalue())
    assert arcs(path, ranks, ids="string", header=True, keep_loops=True, keep_parallel=True) == sorted(
        (u, v, 1) for u, v in rows
    )


BAD = [
    ('1,2\n3,"4\n5",6\n', {}, "a.csv:2: .*not closed on its line"),
    ('1,2\n3,4,"hello\n5,6,world"\n', {"columns": "1,2"}, "a.csv:2: .*not closed on its line"),
    ('1,2\n"3"x,4\n', {}, "a.csv:2: .*goes on after"),
    ('1,2\n"",4\n', {}, "a.csv:2: .*not a whole number"),
    ('1,2\n"3 4",4\n', {}, "a.csv:2: got '\"3 4\",4'"),
    ('1,2,3\n3,4,"3,5"\n', {}, "a.csv:2: .*column 3"),
]


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(("text", "options", "message"), BAD)
def test_what_is_not_csv_is_refused(text, options, message, ranks, tmp_path):
    path = written(tmp_path, "a.csv", text)
    with pytest.raises(DataError, match=message):
        loaded(path, ranks, **options)


def test_lenient_drops_unclosed_lines(tmp_path):
    path = written(tmp_path, "a.csv", '1,2\n3,4\n"5,6\n7,8\n')
    graph = loaded(path, 2, lenient=True)
    assert [arc[:2] for arc in graph.arcs] == [(1, 2), (3, 4), (7, 8)]
    assert graph.facts.lines_dropped == 1


def test_comments_and_marks_within_words_are_plain(tmp_path):
    path = written(tmp_path, "a.csv", '# a "comment\nx"y,z\n"x""y",w\n')
    assert arcs(path, ids="string") == [('x"y', "w", 1), ('x"y', "z", 1)]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_columns_by_name(suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    frame = pandas.DataFrame({"source": [9, 9], "who": [1, 2], "target": [8, 8], "whom": [2, 3], "minutes": [5, 6]})
    {"csv": lambda: frame.to_csv(path, index=False), "parquet": lambda: frame.to_parquet(path, index=False),
     "arrow": lambda: frame.to_feather(path)}[suffix]()  # fmt: skip
    assert arcs(path, 2, columns="who,whom,minutes") == [(1, 2, 5), (2, 3, 6)]
    if suffix != "csv":  # there the header's source and target contradict numbers
        assert arcs(path, 2, columns="2,4") == [(1, 2, 1), (2, 3, 1)]
    with pytest.raises(UsageError, match=r"unknown column of .* 'wo': did you mean 'who'"):
        arcs(path, columns="wo,whom")
    with pytest.raises(UsageError, match="each once"):
        arcs(path, columns="who,who")


def test_names_need_a_header(tmp_path):
    path = written(tmp_path, "a.csv", "1,2\n")
    with pytest.raises(UsageError, match="header=False"):
        arcs(path, columns="who,whom", header=False)
    with pytest.raises(UsageError, match="known are 1, 2"):
        arcs(path, columns="who,whom")
