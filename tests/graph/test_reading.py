"""Long reads report the bytes read to a watcher: they ascend to the rank's share, in every kind of reader."""

import gzip

import numpy as np
import pytest
from loading import agreed, written
from models import gapbs, packed
from simulated import on_ranks

import dgraph
from dgraph._support import affinity
from dgraph.comm.serial import SerialComm
from dgraph.engine.rounds.progress import read_text
from dgraph.graph import reading
from dgraph.graph.formats import lines
from dgraph.graph.load import load
from dgraph.graph.load_options import LoadOptions
from dgraph.result.files.graph_writers import save_graph

EDGES = [(u, (7 * u) % 500, 1) for u in range(500)]
TEXT = "".join(f"{u} {v} {w}\n" for u, v, w in EDGES).encode()


def parquet(path):
    src, dst = np.array(EDGES, np.int64).T[:2]
    save_graph(str(path), dgraph.Graph.from_edges(src, dst, comm=SerialComm()).block, SerialComm())


def file_of(name, folder):
    """Return a file of a kind, and the fewest bytes that its ranks read together."""
    if name == "a.parquet":
        parquet(folder / name)
        return folder / name, (folder / name).stat().st_size - 3
    contents = {
        "a.wel": TEXT,
        "b.wel": gzip.compress(TEXT),
        "a.wsg": gapbs(500, EDGES, True, True),
        "a.g500": packed(EDGES),
    }
    return written(folder, name, contents[name]), len(contents[name]) - (200 if name == "a.wsg" else 0)


@pytest.mark.parametrize("name", ["a.wel", "b.wel", "a.parquet", "a.wsg", "a.g500"])
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_bytes_read_ascend_to_the_share(name, ranks, threads, tmp_path, monkeypatch):
    monkeypatch.setattr(affinity, "share", lambda *_: threads)
    monkeypatch.setattr(lines, "CHUNK", 300)
    for span in ("AFTER", "EVERY"):
        monkeypatch.setattr(reading, span, -1.0)
    path, least = file_of(name, tmp_path)

    def work(comm):
        calls = []
        with reading.watched_by(lambda *figures: calls.append(figures)):
            load(str(path), comm, LoadOptions())
        return calls

    shares = [calls for calls in agreed(on_ranks(ranks, work)) if calls]
    assert len(shares) == (1 if name == "b.wel" else ranks)
    sizes = 0
    for calls in shares:
        for size in {size for _, size, _ in calls}:
            of_one = [done for done, total, _ in calls if total == size]
            assert size - 20 <= max(of_one) == of_one[-1] <= size  # lines belong to the rank of their first byte
        sizes += sum({size for _, size, _ in calls})
    assert sizes >= least * (name != "a.wsg")


def test_a_short_read_is_not_watched(tmp_path):
    calls = []
    with reading.watched_by(lambda *figures: calls.append(figures)):
        load(str(written(tmp_path, "a.wel", TEXT)), SerialComm(), LoadOptions())
    assert calls == []


def test_a_function_gets_the_reads_of_a_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reading, "AFTER", -1.0)
    calls, path = [], str(written(tmp_path, "a.wel", TEXT))
    dgraph.bfs(path, source=1, progress=calls.append)
    (read,) = [call for call in calls if "read" in call]
    assert read["read"] == read["size"] == len(TEXT)
    dgraph.bfs(path, source=1, progress=True)
    assert "read 0 of 0 MB" in capsys.readouterr().err


def test_a_read_has_its_speed_and_the_time_that_is_left():
    assert read_text(250_000_000, 1_250_000_000, 2.5) == "read 250 of 1,250 MB, 100 MB/s, 10 s left"
