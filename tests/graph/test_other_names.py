"""Files whose names do not say their format: ``format=``, pipes, formats of other programs, and URLs."""

import glob
import gzip
import os
import subprocess
import sys
import tempfile
import threading

import pytest
from loading import figures, loaded, written

import dgraph
from dgraph.errors import DataError, UsageError
from dgraph.graph.file_formats import FILE_FORMATS
from dgraph.graph.formats import FORMATS, NAMING
from dgraph.graph.formats.ldbc import read_ldbc

EDGES = "% asym unweighted\n1 2\n2 3\n"


def test_every_format_of_single_files_has_a_name():
    assert sorted(FILE_FORMATS) == sorted(suffix[1:] for suffix, reader in FORMATS.items() if reader is not read_ldbc)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("name", ["out.demo", "edges", "a.dat", "a.csv.1", "a.mtx"])
@pytest.mark.parametrize("packing", ["plain", "gzip"])
def test_format_names_the_format(packing, name, ranks, tmp_path):
    content = gzip.compress(EDGES.encode()) if packing == "gzip" else EDGES
    path = written(tmp_path, name, content)
    graph = loaded(path, ranks, format="txt")
    assert [arc[:2] for arc in graph.arcs] == [(1, 2), (2, 3)]
    assert graph.facts.name == name


def test_format_applies_to_other_readers(tmp_path):
    matrix = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n"
    assert loaded(written(tmp_path, "matrix", matrix), 2, format="mtx").n == 3
    assert loaded(written(tmp_path, "names", "Anna Smith\tBen\n"), 2, format="tsv", ids="string").m == 1
    with pytest.raises(UsageError, match="names of vertices are read only"):
        loaded(tmp_path / "names", format="mtx", ids="string")
    with pytest.raises(UsageError, match="unknown format of files 'cvs': did you mean 'csv'"):
        loaded(tmp_path / "names", format="cvs")


def pipe(folder, name, content):
    """Return a named pipe that yields ``content`` once."""
    path = folder / name
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=[content], daemon=True).start()
    return path


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("name", ["pipe.txt", "pipe"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_pipes_are_read_and_their_copies_removed(pack, name, ranks, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))
    (tmp_path / "copies").mkdir()
    options = {} if "." in name else {"format": "txt"}
    graph = loaded(pipe(tmp_path, name, pack(EDGES.encode())), ranks, **options)
    assert figures(graph) == figures(loaded(written(tmp_path, "a.txt", EDGES)))
    assert graph.facts.name == name
    with pytest.raises(DataError, match=rf"{tmp_path}/bad{name}:2: got 'x y'"):
        loaded(pipe(tmp_path, f"bad{name}", pack(b"1 2\nx y\n")), ranks, **options)
    assert not glob.glob(str(tmp_path / "copies" / "*"))


@pytest.mark.parametrize("words", [[], ["--format", "json"]])
def test_standard_input(words):
    command = [sys.executable, "-m", "dgraph", "cc", "/dev/stdin", "--format", "csv", "-q", *words]
    done = subprocess.run(command, input=b"1,2\n2,3\n", capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (b'"n": 3' in done.stdout or b'"n":3' in done.stdout) == bool(words)


def test_no_such_open_file():
    with pytest.raises(UsageError, match="/dev/fd/91: rank 0 has no such open file"):
        loaded("/dev/fd/91", 2, format="txt")


FOREIGN = [
    ("a.graphml", "read_graphml"), ("a.gml", "read_gml"), ("a.net", "read_pajek"), ("a.gexf", "read_gexf"),
    ("a.dot", "read_dot"), ("a.json", "node_link_graph"), ("a.xlsx", "save it as .csv"), ("a.XLS", "read_excel"),
    ("a.ods", "read_excel"), ("a.sqlite", "read_sql"), ("a.duckdb", "duckdb"), ("a.h5", "read_hdf"),
    ("a.csv.bz2", "unpack it"), ("a.zip", "unpack it"), ("a.mat", "loadmat"), ("a.pkl", "pickles"),
    ("a.odd", "--format txt"), ("out.web", "--format txt"), ("noname", "--format txt"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words"), FOREIGN)
def test_other_formats_are_refused_with_what_to_do(name, words, tmp_path):
    with pytest.raises(UsageError, match=words):
        loaded(written(tmp_path, name, "x"), 2)


URLS = [
    ("https://a.org/b.csv", "curl -LO"), ("http://a.org/b.txt.gz", "curl -LO"), ("ftp://a.org/b", "curl -LO"),
    ("s3://bucket/b.parquet", "copy it to a file"), ("file:///tmp/b.csv", "give the path alone: /tmp/b.csv"),
]  # fmt: skip


@pytest.mark.parametrize(("url", "words"), URLS)
def test_urls_are_refused_with_what_to_do(url, words):
    for options in ({}, {"ids": "string"}, {"format": "csv"}):
        with pytest.raises(UsageError, match=f"is a URL; .*{words}"):
            dgraph.Graph.load(url, **options)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("code", ["utf-32", "utf-32-le", "utf-32-be", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("options", [{}, {"ids": "string"}])
def test_wide_text_is_refused_by_its_name(options, code, ranks, tmp_path):
    path = written(tmp_path, "a.csv", "1,2\n2,3\n".encode(code))
    with pytest.raises(DataError, match=f"UTF-{code[4:6]} text; save it as UTF-8"):
        loaded(path, ranks, **options)


def test_readers_of_names_have_names():
    assert {suffix for suffix, reader in FORMATS.items() if reader in NAMING} >= {".csv", ".txt", ".parquet"}
