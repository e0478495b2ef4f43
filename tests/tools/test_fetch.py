"""Downloads from a local server: complete, interrupted, changed meanwhile, corrupted."""

import hashlib
import io
import json
import tarfile
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dgraph.cli import main
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.tools.fetch import DATASETS, Dataset, download, fetch

pytest.importorskip("pooch", reason="pip install 'dgraph-analytics[fetch]'")

CONTENT = bytes(range(256)) * 4096
SHA = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


class Server(ThreadingHTTPServer):
    """Server of ``files`` that interrupts each transfer after the next number of bytes in ``cuts``."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.cuts, self.asked, self.tag, self.ranges = {}, [], [], '"one"', True

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.asked.append(asked)
        content = server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        start = 0
        if asked and server.ranges and self.headers.get("If-Range") == server.tag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
        if start and start >= len(content):
            self.send_error(416)
            return
        rest = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.send_header("ETag", server.tag)
        self.end_headers()
        cut = server.cuts.pop(0) if server.cuts else None
        self.wfile.write(rest[:cut])
        if cut is not None:
            self.wfile.flush()
            self.connection.close()

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(download, "PAUSE", 0.01)
    http = Server()
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield http
    http.shutdown()
    thread.join()
    http.server_close()


def dataset(server, **more):
    server.files.setdefault("/graph.txt", CONTENT)
    example = Dataset("a graph", f"{server.base}/graph.txt", "graph.txt", "none", "somebody", "a page", SHA)
    return replace(example, **more)


def test_a_file_comes_whole_and_only_once(server, tmp_path):
    told = []
    path = fetch(dataset(server), tmp_path / "data", told.append)
    assert path.read_bytes() == CONTENT
    assert f"graph.txt: {SHA}" in told
    assert fetch(dataset(server), tmp_path / "data", told.append) == path
    assert server.asked == [None]
    assert [file.name for file in path.parent.iterdir()] == ["graph.txt"]


def test_what_breaks_off_goes_on_where_it_broke_off(server, tmp_path):
    server.cuts = [100_000, 50_000]
    told = []
    assert fetch(dataset(server), tmp_path, told.append).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=100000-", "bytes=150000-"]
    assert sum("broke off after" in text for text in told) == 2


def test_it_goes_on_in_another_process_too(server, tmp_path):
    server.cuts = [100_000] + [0] * 4
    with pytest.raises(OutputError, match=r"broke off 5 times.*try again, it goes on there"):
        fetch(dataset(server), tmp_path)
    assert (tmp_path / "graph.txt.part").stat().st_size == 100_000
    assert not (tmp_path / "graph.txt").exists()
    server.asked.clear()
    assert fetch(dataset(server), tmp_path).read_bytes() == CONTENT
    assert server.asked == ["bytes=100000-"]


def test_a_file_that_changed_meanwhile_is_not_glued_to_its_rest(server, tmp_path):
    server.cuts = [100_000] + [0] * 4
    with pytest.raises(OutputError):
        fetch(dataset(server, checksum=None), tmp_path)
    other = CONTENT[::-1]
    server.files["/graph.txt"], server.tag = other, '"two"'
    assert fetch(dataset(server, checksum=None), tmp_path).read_bytes() == other


def test_a_server_without_ranges_sends_all_of_it_again(server, tmp_path):
    server.ranges, server.cuts = False, [100_000]
    assert fetch(dataset(server), tmp_path).read_bytes() == CONTENT


def test_another_checksum_is_refused_and_nothing_kept(server, tmp_path):
    server.files["/graph.txt"] = CONTENT[:-1] + b"?"
    with pytest.raises(DataError, match="changed on its server"):
        fetch(dataset(server), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_told_at_once(server, tmp_path):
    wanted = dataset(server, url=f"{server.base}/none.txt")
    with pytest.raises(OutputError, match="the server answers 404"):
        fetch(wanted, tmp_path)
    assert server.asked == [None]
    server.shutdown()
    server.server_close()
    with pytest.raises(OutputError, match="broke off 5 times"):
        fetch(wanted, tmp_path)
    threading.Thread(target=server.serve_forever, daemon=True)


def archive(**members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(f"graph/{name}.mtx")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_of_an_archive_the_matrix_is_taken_out(server, tmp_path):
    server.files["/graph.tar.gz"] = archive(graph=b"%%MatrixMarket", coordinates=b"no")
    wanted = dataset(
        server, url=f"{server.base}/graph.tar.gz", file="graph.mtx", member="graph/graph.mtx", checksum=None
    )
    assert fetch(wanted, tmp_path).read_bytes() == b"%%MatrixMarket"
    assert [file.name for file in tmp_path.iterdir()] == ["graph.mtx"]
    with pytest.raises(DataError, match="has no graph/other"):
        fetch(replace(wanted, member="graph/other.mtx", file="other.mtx"), tmp_path)


def test_without_pooch_the_cure_is_told(server, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(UsageError, match=r"pip install 'dgraph-analytics\[fetch\]'"):
        fetch(dataset(server), tmp_path)


def test_the_command(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(DATASETS, "small", dataset(server))
    assert main(["fetch", "small", "--to", str(tmp_path), "-q"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == (f"{tmp_path / 'graph.txt'}\n", "")
    assert main(["fetch", "small", "--to", str(tmp_path)]) == 0
    assert "cite: somebody" in capsys.readouterr().err
    assert main(["fetch"]) == 0
    assert "23,947,347 vertices" in capsys.readouterr().out
    assert main(["fetch", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["orkut"]["file"] == "com-orkut.ungraph.txt.gz"
    assert main(["fetch", "road-us"]) == 2
    assert "did you mean 'road-usa'" in capsys.readouterr().err
    assert main(["fetch", "small", "--json"]) == 2


def test_every_recipe_is_complete_and_its_format_known():
    from dgraph.graph.formats import FORMATS
    from dgraph.graph.load import describe  # noqa: F401  # importing it registers the formats

    for name, recipe in DATASETS.items():
        assert recipe.url.startswith(("https://", "http://")), name
        assert recipe.licence, name
        assert recipe.citation, name
        plain = recipe.file.removesuffix(".gz")
        assert f".{plain.rpartition('.')[2]}" in FORMATS, name
        assert (recipe.member is None) == (not recipe.url.endswith(".tar.gz")), name
