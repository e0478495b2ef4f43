"""Bad input is refused with file and line, equally on every rank, and headers are checked before allocating."""

import gzip
import io
import struct
import zipfile

import numpy as np
import pytest
from children import ROOT
from loading import loaded, written

from dgraph.comm import SerialComm
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.graph.formats import line_reader, lines, scan, text
from dgraph.graph.formats.line_layout import Layout
from dgraph.graph.formats.packed import zstd_library
from dgraph.graph.formats.sniff import DataStart
from dgraph.graph.load import load

zstd = zstd_library()
DATA = ROOT / "tests" / "data"
GR = "p sp 3 2\na 1 2 5\n"
MTX = "%%MatrixMarket matrix coordinate real general\n"
REFUSED = [
    ("a.gr", "", r"a\.gr: the file is empty"),
    ("a.gr", "c only\nc comments\n", r"a\.gr:3: got ''; the first line that is not a comment says 'p sp"),
    ("a.gr", "c\na 1 2 3\n", r"a\.gr:2: got 'a 1 2 3'; the first line .* is this another format"),
    ("a.gr", "p sp three 1\na 1 2 3\n", r"a\.gr:1: got 'three' for the number of vertices"),
    ("a.gr", GR, r"a\.gr: 1 a lines, but the p line \(line 1\) says 2; was the file cut short"),
    ("a.gr", GR + "a 2 3 1\na 3 1 1\n", r"a\.gr: 3 a lines.* says 2; was something appended"),
    ("a.gr", GR + "b 2 3 1\n", r"a\.gr:3: got 'b 2 3 1'; it does not begin with 'a'"),
    ("a.gr", GR + "p sp 3 2\n", r"a\.gr:3: got 'p sp 3 2'; it does not begin with 'a'"),
    ("a.gr", GR + "comment\n", r"a\.gr:3: got 'comment'; it does not begin"),
    ("a.gr", GR + "a2 3 1\n", r"a\.gr:3: .*does not begin"),
    ("a.gr", GR + "a 2 3\n", r"a\.gr:3: .*column 3 of 3 is missing; a line is 'a SOURCE TARGET WEIGHT'"),
    ("a.gr", GR + "a 2 3 1 1\n", r"a\.gr:3: got 'a 2 3 1 1'; it goes on after column 3"),
    ("a.gr", GR + "a 0 3 1\n", r"a\.gr:3: .*id '0' is too low: ids here begin at 1"),
    ("a.gr", GR + "a 4 3 1\n", r"a\.gr:3: .*id '4' is above 3: the p line says 3 vertices"),
    ("a.gr", GR + "a 2 -3 1\n", r"a\.gr:3: .*id '-3' is negative"),
    ("a.gr", GR + "a 2 1.5 1\n", r"a\.gr:3: .*'1\.5' in column 2 is not a whole number"),
    ("a.gr", GR + "a 2 3 nan\n", r"a\.gr:3: .*'nan' in column 3 is not a number"),
    ("a.gr", GR + "a 2 3 -inf2\n", r"a\.gr:3: .*'-inf2' in column 3 is not a number"),
    ("a.gr", GR + "a 2 3 1e999\n", r"a\.gr:3: got weight '1e999'; it does not fit a double"),
    ("a.gr", GR + "a 2 3 -\n", r"a\.gr:3: .*'-' in column 3"),
    ("a.gr", GR + "a 2 99999999999999999999 1\n", r"a\.gr:3: .*id '99999999999999999999' is above 2\^63 - 1"),
    ("a.gr", "p sp 999999999999 1\na 1 2 3\n", r"a\.gr: ids go up to 999999999999 vertices, .*--sparse-ids"),
    ("a.gr", "p sp 0 0\n", r"a\.gr: no vertex"),
    ("a.txt", b"\x01" + bytes(63), r"a\.txt: the file is a Galois binary graph"),
    ("a.gr", gzip.compress(GR.encode()), r"a\.gr: 1 a lines, but the p line"),
    ("a.gr.gz", gzip.compress(GR.encode())[:-9], r"a\.gr\.gz: ends inside what gzip has packed; was it cut short"),
    ("a.gr", gzip.compress(b"1" * 99)[:20] + b"\x01" * 60, r"a\.gr: gzip cannot unpack it"),
    ("a.gr.zst", zstd.compress(GR.encode())[:-9], r"a\.gr\.zst: ends inside what zstd has packed; was it cut short"),
    ("a.txt.zst", zstd.compress(b"1 2\n") + b"junk", r"a\.txt\.zst: zstd cannot unpack it"),
    ("a.txt.gz", gzip.compress(b"1 2\n3\n"), r"a\.txt\.gz:2: got '3'; column 2 of 2 is missing"),
    ("a.txt", f"1 2\n{2**63 - 1} 1\n", r"vertex 9223372036854775807: this id stands for no vertex"),
    ("a.col", "p edge 3 2\ne 1 2\n", r"a\.col: 1 e lines, but the p line"),
    ("a.col", "p edge 3 2\ne 1 2\nn 1 2\n", r"a\.col:3: .*does not begin with 'e'"),
    ("a.mtx", "4 4 3\n1 2 1\n", r"a\.mtx:1: got '4 4 3'; a Matrix Market file begins with"),
    ("a.mtx", MTX.replace("coordinate", "array") + "1 1\n1\n", r"a\.mtx:1: got 'array'.*a dense array is not a sparse"),
    ("a.mtx", MTX.replace("real", "complex") + "1 1 1\n1 1 1 0\n", r"a\.mtx:1: got 'complex'; supported are patt"),
    ("a.mtx", MTX.replace("general", "skew-symmetric") + "2 2 1\n2 1 1\n", r"a\.mtx:1: got 'skew-symmetric'"),
    ("a.mtx", MTX.replace("general", "hermitian") + "2 2 1\n2 1 1\n", r"a\.mtx:1: got 'hermitian'"),
    ("a.mtx", MTX, r"a\.mtx:2: got ''; after the comments a line says 'ROWS COLUMNS ENTRIES'; was the file cut"),
    ("a.mtx", MTX + "2 3 1\n1 3 1\n", r"a\.mtx:2: got 2 rows and 3 columns; the matrix of a graph is square"),
    ("a.mtx", MTX + "2 2 -1\n", r"a\.mtx:2: got '-1' for the number of entries"),
    ("a.mtx", MTX + "2 2 2\n1 2 1\n", r"a\.mtx: 1 entries, but the size line \(line 2\) says 2"),
    ("a.mtx", MTX + "2 2 99999999999999\n1 2 1\n", r"a\.mtx: 1 entries, but the size line"),
    ("a.mtx", MTX + "2 2 1\n1 2\n", r"a\.mtx:3: .*column 3 of 3 is missing; a line is 'ROW COLUMN VALUE'"),
    ("a.mtx", MTX.replace("real", "pattern") + "2 2 1\n1 2 1\n", r"a\.mtx:3: .*goes on after column 2"),
    ("a.mtx", MTX.replace("real", "integer") + "2 2 1\n1 2 1.5\n", r"'1\.5' in column 3 is not a 64-bit integer"),
    ("a.mtx", MTX + "2 2 1\n0 2 1\n", r"a\.mtx:3: .*id '0' is too low"),
    ("a.txt", "# nothing\n", r"a\.txt: no edge"),
    ("a.txt", "1 2\n3\n", r"a\.txt:2: got '3'; column 2 of 2 is missing"),
    ("a.txt", "1 2\n3 4 5\n", r"a\.txt:2: got '3 4 5'; it goes on after column 2"),
    ("a.txt", "1 2 5\n3 4\n", r"a\.txt:2: got '3 4'; column 3 of 3 is missing"),
    ("a.txt", "1 2 3 4\n", r"a\.txt:1: got '1 2 3 4'; it goes on after column 3"),
    ("a.txt", "a b\nc d\n", r"a\.txt:2: got 'c d'; 'c' in column 1 is .*; names of vertices need --ids string"),
    ("a.txt", "a 1\n1 2\n", r"a\.txt:1: got 'a 1'; .*; if it names columns or counts, say --header"),
    ("a.txt", "4 2\n0 1 5\n1 2 7\n2 3 9\n", r"a\.txt:1: got '4 2'; column 3 of 3 is missing; .*say --header"),
    ("a.txt", "3 3\n0 1 5\n1 2 7\n2 3 9\n", r"a\.txt:1: got '3 3'; column 3 of 3 is missing; .*say --header"),
    ("a.csv", "target,source\n1,2\n", r"a\.csv:1: .*source in column 2 and the target in column 1.*--columns 2,1"),
    ("a.csv", "id,source,target\n1,2,3\n", r"a\.csv:1: .*source in column 2 and the target in column 3"),
    ("a.txt", "from to\n", r"a\.txt: no edge; .*line 1 was taken as a header: --no-header"),
    ("a.txt", "1 2\x00\n", r"a\.txt:1: .*is not a whole number"),
    ("a.txt", "1 2\n9223372036854775808 1\n", r"a\.txt:2: .*id '9223372036854775808' is above 2\^63 - 1"),
    ("a.txt", b"\xff\xfe1\x00", r"a\.txt: the file is UTF-16 text; save it as UTF-8"),
    ("a.csv", "1,,2\n", r"a\.csv:1: got '1,,2'; column 2 is empty"),
    ("a.csv", "1,2,\n", r"a\.csv:1: got '1,2,'; it goes on after column 2"),
    ("a.csv", "source,target\n1,2\nx,y\n", r"a\.csv:3: got 'x,y'; 'x' in column 1 is not a whole number"),
    ("a.csv", "u,v,w\n1,2,3,4\n", r"a\.csv:1: got 'u,v,w', a header of 3 columns, and most lines have 4; .*--columns"),
    ("a.cedge", "0 1 2 .5\nx 1 2 .5\n", r"a\.cedge:2: .*'x' in column 1 is not a whole number"),
    ("a.cedge", "0 1 2\n", r"a\.cedge:1: .*column 4 of 4 is missing"),
    ("a.el", "0 1 5\n", r"a\.el:1: .*goes on after column 2"),
    ("a.el", "0 1\n5 1000000000000\n", r"a\.el: ids go up to 1000000000001 vertices.*--sparse-ids"),
    ("a.wel", "0 1\n", r"a\.wel:1: .*column 3 of 3 is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), REFUSED)
@pytest.mark.parametrize("ranks", [1, 3])
def test_bad_data_is_refused_by_file_and_line(name, content, message, ranks, tmp_path):
    path = written(tmp_path, name, content)
    with pytest.raises(DataError, match=message):
        loaded(path, ranks)


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(line_reader, "LONGEST", 50)
    monkeypatch.setattr(lines, "LONGEST", 50)
    monkeypatch.setattr(lines, "CHUNK", 16)
    monkeypatch.setattr(lines, "TAIL", 8)
    path = written(tmp_path, "a.txt", "1 2\n" + "1" * 200 + " 2\n3 4\n")
    for ranks in (1, 2, 3):
        with pytest.raises(DataError, match=r"a\.txt:2: got a line of more than"):
            loaded(path, ranks)


@pytest.mark.parametrize("spec", ["no.such.gr", "no/such/file.mtx", "nothing.npz", "nothing.e", "nothing.properties"])
def test_a_missing_file_is_a_usage_error(spec, tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        loaded(tmp_path / spec, 2)


def test_names_that_are_neither_file_nor_generator(tmp_path):
    with pytest.raises(UsageError, match=r"suffix of a file determines its format.*--format txt.* gr .* mtx "):
        loaded(written(tmp_path, "a.xyz", "1 2\n"), 2)
    with pytest.raises(UsageError, match="not a generator NAME:SIZE"):
        loaded("nothing", 2)
    with pytest.raises(UsageError, match=r"rmat is a generator, and no size was given; write rmat:SCALE\["):
        loaded("rmat", 2)
    with pytest.raises(UsageError, match="unknown generator 'rmatt': did you mean 'rmat'"):
        loaded("rmatt:10", 2)
    (tmp_path / "folder.gr").mkdir()
    with pytest.raises(UsageError, match="not a regular file"):
        loaded(tmp_path / "folder.gr", 2)
    with pytest.raises(UsageError, match="weights 'heavy'"):
        loaded(DATA / "karate.mtx", 2, weights="heavy")


PAIR = {"g.v": "1\n2\n", "g.e": "1 2\n"}
LDBC = [
    ({"g.v": "1\n2\n", "g.e": "# c\n1 2\n1 3\n"}, DataError, r"g\.e:3: an edge ends at 3, which the list of vertices"),
    ({"g.v": "1\n4\n100\n101\n", "g.e": "1 4 3\n3 100 9\n"}, DataError, r"g\.e:2: an edge ends at 3, which"),
    ({"g.v": "1\n2\n3\n", "g.e": "1 2\n3 9\n2 7\n8 1\n"}, DataError, r"g\.e:4: an edge ends at 8, which"),
    ({"g.v": "1\n2\n3\n", "g.e": "1 2\n3 9\n2 7\n"}, DataError, r"g\.e:3: an edge ends at 7, which"),
    ({"g.v": "1\n2\n1\n", "g.e": "1 2\n"}, DataError, r"g\.v:3: vertex 1 is listed twice"),
    ({"g.v": "# c\n9 1\n\n10\n 7\n010\n09\n9\n", "g.e": "9 7\n"}, DataError, r"g\.v:7: vertex 9 is listed twice"),
    ({"g.v": "1\n-2\n", "g.e": "1 2\n"}, DataError, r"g\.v:2: got '-2'; id '-2' is negative"),
    ({"g.v": "", "g.e": "1 2\n"}, DataError, r"g\.v: the file is empty"),
    ({"g.v": "1\n2\n"}, UsageError, r"g\.e: no such file"),
]
PROPERTIES = [
    ("graph.g.directed = maybe\n", r"g\.properties:1: .*true or false"),
    ("\ngraph.g.bfs.source-vertex = one\n", r"g\.properties:2: .*it is a whole number"),
    ("directed\n", r"g\.properties:1: got 'directed'; a line is 'KEY = VALUE'"),
    ("graph.g.meta.edges = 2\n", r"g\.e: 1 edges, but meta\.edges \(.*g\.properties:1\) says 2"),
    ("graph.g.meta.edges = 0_1\n", r"g\.properties:1: .*it is a whole number"),
    ("graph.g.pr.damping-factor = nan\n", r"g\.properties:1: .*it is a finite number"),
    ("graph.g.pr.damping-factor = \x0b0.85\n", r"g\.properties:1: .*it is a finite number"),
    ("graph.g.directed = true\x1c\n", r"g\.properties:1: .*true or false"),
    ("graph.g.meta.vertices = 3\n", r"g\.v: 2 vertices, but meta\.vertices \(.*g\.properties:1\) says 3"),
    ("graph.g.edge-properties.names = a,b\n", r"g\.properties:1: .*one property at most"),
    ("graph.g.edge-properties.names = w\n", r"g\.e:1: .*column 3 of 3 is missing"),
]
NO_FILES = ["g.v/", "g\0.v", "g" * 300]
LDBC += [
    ({**PAIR, "g.properties": f"graph.g.vertex-file = {name}"}, UsageError, "no such file|not a file name")
    for name in NO_FILES
]
LDBC += [({**PAIR, "g.properties": content}, DataError, message) for content, message in PROPERTIES]
FILES = [
    (
        "graph.g.vertex-file = g.v\ngraph.g.edge-file = g.v\n",
        r"g\.properties:2: edge-file names g\.v, the file of",
    ),
    ("# c\ngraph.g.edge-file = g.v\n", r"g\.properties:2: edge-file names g\.v"),
    (
        "graph.g.edge-file = g.e\n\ngraph.g.vertex-file = g.e\n",
        r"g\.properties:3: vertex-file names g\.e, the",
    ),
    ("graph.g.vertex-file = other.e\n", r"g\.properties:1: vertex-file names other\.e"),
    ("graph.g.vertex-file = list\ngraph.g.edge-file = list\n", r"g\.properties:[12]: "),
]
LDBC += [
    ({"g.v": vertices, "g.e": "1 2\n", "g.properties": content}, DataError, message)
    for content, message in FILES
    for vertices in ("1\n2\n", "1 1\n2 2\n")
]


@pytest.mark.parametrize(("files", "error", "message"), LDBC)
@pytest.mark.parametrize("ranks", [1, 3])
def test_ldbc_files_that_contradict_themselves(files, error, message, ranks, tmp_path):
    for name, content in files.items():
        written(tmp_path, name, content)
    with pytest.raises(error, match=message):
        loaded(tmp_path / "g.v", ranks)


def npz(**arrays) -> bytes:
    out = io.BytesIO()
    columns = {
        "format": np.array(b"csr"),
        "shape": np.array([3, 3]),
        "indptr": np.array([0, 1, 2, 2]),
        "indices": np.array([1, 2]),
        "data": np.array([0.5, 1.5]),
    }
    np.savez(out, **(columns | arrays))
    return out.getvalue()


def changed_npz(names: tuple[str, ...], old: bytes, new: bytes) -> bytes:
    """Return an archive with bytes replaced in the members ``names``, and valid checksums."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(npz())) as archive, zipfile.ZipFile(out, "w") as copy:
        for name in archive.namelist():
            raw = archive.read(name)
            raw = raw.replace(old, new) if name.removesuffix(".npy") in names else raw
            copy.writestr(name, raw)
    return out.getvalue()


NPZ = [
    (b"1 2\n", "not a sparse matrix of scipy.sparse.save_npz"),
    (npz()[:-30], "not a sparse matrix of scipy.sparse.save_npz"),
    (npz(format=np.array(b"dia")), "got a matrix in format 'dia'"),
    (npz(shape=np.array([3, 4])), r"got shape \(3, 4\); the matrix of a graph is square"),
    (npz(indices=np.array([1, 3])), r"a\.npz: indices\[1\] is 3; it must be within 0 \.\. 2"),
    (npz(indices=np.array([1, -1])), r"a\.npz: indices\[1\] is -1"),
    (npz(indices=np.array([1.0, 2.0])), "indices holds float64, not integers"),
    (npz(indptr=np.array([0, 2, 1, 2])), "indptr does not ascend from 0 to 2"),
    (npz(indptr=np.array([0, 1, 1, 1])), "indptr ends at 1, not at 2"),
    (npz(indptr=np.array([0, 2])), "2 offsets for 3 rows"),
    (npz(data=np.array([0.5])), "1 values for 2 entries"),
    (npz(data=np.array([0.5, np.nan])), r"a\.npz: data\[1\] is nan"),
    (npz(data=np.array([1j, 1j])), "got values of complex128"),
    (npz(shape=np.array([10**12, 10**12])), r"\d offsets for 1000000000000 rows"),
    (changed_npz(("indices", "data"), b"(2,), }" + b" " * 12, b"(1000000000000,), }"), "does not match its header"),
    (changed_npz(("data",), b"(2,)", b"(1,)"), "data has a length that does not match its header"),
    (changed_npz(("data",), b"{'descr'", b"{{{escr'"), "not a sparse matrix"),
    (changed_npz(("data",), b"}    ", b"}\n\t#\0"), "not a sparse matrix"),
    (npz()[30:], "not a sparse matrix"),
    (npz(format=np.array([b"csr", b"csr"])), "it names 2 formats"),
    (npz(format=np.array([], "S3")), "it names 0 formats"),
    (npz(shape=np.array([3.5, 3.5])), "shape holds float64, not integers"),
    (npz(shape=np.array([3, 3, 7])), r"got shape \(3, 3, 7\)"),
    (npz(shape=np.array([-1, -1])), r"got shape \(-1, -1\)"),
    (npz(indptr=np.array([0, 1.5, 2, 2])), "indptr holds float64, not integers"),
    (npz(data=np.array([[0.5, 1.5]])), "data is not a plain 1-D array"),
]


@pytest.mark.parametrize(("content", "message"), NPZ)
@pytest.mark.parametrize("ranks", [1, 2])
def test_bad_npz(content, message, ranks, tmp_path):
    path = written(tmp_path, "a.npz", content)
    with pytest.raises(DataError, match=message):
        loaded(path, ranks)


def test_an_unreadable_file_is_an_output_error(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("denied")

    path = written(tmp_path, "a.gr", GR)
    with monkeypatch.context() as patch:
        patch.setattr("os.stat", refuse)
        with pytest.raises(OutputError, match="not readable by this user"):
            load(str(path), SerialComm())


def test_a_file_that_ranks_see_differently_is_refused(tmp_path):
    path = written(tmp_path, "a.txt", "1 2\n2 3\n")
    with pytest.raises(DataError, match="8 bytes on rank 0, 9 on rank 0; give all ranks the same file"):
        text.read_table(str(path), Layout((scan.SOURCE, scan.TARGET), "U V"), DataStart(0, 1, 9), SerialComm())


LENIENT = [
    (
        "a.gr",
        "p sp 3 6\na 1 2 5\nb 1 2 3\na 1 9 1\na 2 3 1e999\na 2 3 1.5\na 3 1 2\n",
        [(1, 2, 5.0), (2, 3, 1.5), (3, 1, 2.0)],
        3,
    ),
    ("a.txt", "1 2\n# c\n3\nx y\n4 5 6\n2 1\n5 5\n1 5\n", [(1, 2, 1), (1, 5, 1), (2, 1, 1)], 3),
    ("a.txt", "7 9\n0 1 5\n1 2 7\n2 3 9\n", [(0, 1, 5), (1, 2, 7), (2, 3, 9)], 1),
    ("a.csv", "u,v\n1,2\n1,,2\n-1,2\n3,4", [(1, 2, 1), (3, 4, 1)], 2),
    ("a.e", "1 2 0.5\n1 2\n", [(1, 2, 0.5)], 1),
]


MOST = [
    ("a.txt", "0 1\n1 2 5\n1\n2 x\n"),
    ("a.txt", "3 4 5 6\n7 8 9 6\n"),
    ("a.gr", "p sp 3 3\na 1 2 5\nb 1 2 3\na 1 9 1\n"),
    ("a.el", "0 1 5\n1 2 5\n0 2\n"),
    ("a.e", "1 2\n1\n2\n"),
]


@pytest.mark.parametrize("packing", ["plain", "gzip"])
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(("name", "content"), MOST)
def test_lenient_reading_refuses_a_file_of_which_most_lines_would_be_dropped(name, content, ranks, packing, tmp_path):
    path = written(tmp_path, name, gzip.compress(content.encode()) if packing == "gzip" else content)
    with pytest.raises(DataError, match=r"\d of \d lines would be dropped; .*Without lenient=True"):
        loaded(path, ranks, lenient=True)


def test_lines_passed_over_count_for_what_ldbc_properties_say(tmp_path):
    written(tmp_path, "g.v", "1\n2\nx\n")
    written(tmp_path, "g.properties", "graph.g.meta.vertices = 3\ngraph.g.meta.edges = 2\n")
    graph = loaded(written(tmp_path, "g.e", "1 2\n2\n"), 2, lenient=True)
    assert (graph.arcs, graph.facts.lines_dropped) == ([(1, 2, 1)], 2)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_damaged_arrow_file_is_refused_before_it_is_read(ranks, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    table, out = pyarrow.table({"source": ["aaaa", "bbb"], "target": ["bbb", "aaaa"]}), io.BytesIO()
    with pyarrow.ipc.new_file(out, table.schema) as file:
        file.write_table(table)
    content = out.getvalue().replace(struct.pack("<3i", 0, 4, 7), struct.pack("<3i", 0, 1 << 30, 7))
    assert content != out.getvalue()
    with pytest.raises(DataError, match="pyarrow cannot read this table"):
        loaded(written(tmp_path, "a.arrow", content), ranks)


@pytest.mark.parametrize("packing", ["plain", "gzip"])
@pytest.mark.parametrize(("name", "content", "edges", "dropped"), LENIENT)
def test_lenient_reading_passes_over_bad_lines_and_counts_them(name, content, edges, dropped, packing, tmp_path):
    content = gzip.compress(content.encode()) if packing == "gzip" else content
    path = written(tmp_path, name, content)
    for ranks in (1, 3):
        with pytest.raises(DataError):
            loaded(path, ranks)
        graph = loaded(path, ranks, lenient=True)
        assert (graph.arcs, graph.facts.lines_dropped) == (edges, dropped)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": "::"}, "separator '::': give one character"),
        ({"separator": "1"}, "separator '1'"),
        ({"comment": "."}, "comment '.'"),
        ({"columns": "1"}, "columns '1': write SOURCE,TARGET"),
        ({"columns": "2,2"}, "columns '2,2'"),
        ({"columns": "0,1"}, "columns '0,1'"),
    ],
)
def test_forms_of_an_edge_list_that_cannot_be(options, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        loaded(written(tmp_path, "a.txt", "1 2\n"), 2, **options)
