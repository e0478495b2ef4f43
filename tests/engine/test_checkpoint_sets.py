"""Sets of checkpoints: two are kept, a broken one gives way, and those of another run or format are refused."""

import json
import os

import numpy as np
import pytest
from flat_run import flat_run
from simulated import on_ranks
from stopped_runs import graph, stopped

import dgraph
from dgraph.comm import SerialComm, communicator, world
from dgraph.engine.checkpoint import checkpoint_file
from dgraph.errors import DataError, OutputError, UsageError


@pytest.mark.mpi
def test_two_sets_are_kept_and_a_broken_one_gives_way(shared, monkeypatch):
    comm, loaded, folder = world(), graph("path:60"), shared / "ck"
    assert stopped(monkeypatch, folder, 9, "bfs", loaded, source=0)
    comm.barrier()
    names = sorted(os.listdir(folder))
    assert len(names) == 2
    newest = folder / names[-1] / f"part-{comm.size - 1}"
    content = bytearray(newest.read_bytes())
    comm.barrier()
    if comm.rank == 0:
        content[len(content) // 2] ^= 4
        newest.write_bytes(content)
    comm.barrier()
    result = flat_run("bfs", loaded, source=0, checkpoint=folder, resume="must")
    assert any(str(newest) in warning for warning in result.report["warnings"])
    assert result.columns["distance"].tolist() == result.columns["vertex"].tolist()
    (taken,) = [choice for choice in result.report["choices"] if choice["what"] == "resumed"]
    assert taken["taken"].startswith("after round 8 of Levels")


@pytest.mark.mpi
def test_when_no_set_is_whole_the_run_is_refused_by_name(shared, monkeypatch):
    comm, loaded, folder = world(), graph("path:60"), shared / "ck"
    stopped(monkeypatch, folder, 9, "bfs", loaded, source=0)
    if comm.rank == 0:
        for part in folder.glob("set-*/part-0"):
            os.truncate(part, 100)
    comm.barrier()
    with pytest.raises(DataError, match=r"part-0: size or checksum differs.*start anew"):
        flat_run("bfs", loaded, source=0, checkpoint=folder, resume="auto")


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("what", "said"),
    [("source", "its parameters is"), ("graph", "its graph is"), ("algorithm", "its algorithm is bfs")],
)
def test_another_run_is_refused(what, said, shared, monkeypatch):
    folder = shared / "ck"
    stopped(monkeypatch, folder, 3, "bfs", graph("path:60"), source=0)
    name, spec, source = "bfs", "path:60", 0
    if what == "source":
        source = 1
    elif what == "graph":
        spec = "path:61"
    else:
        name = "sssp"
    with pytest.raises(UsageError, match=said):
        flat_run(name, graph(spec), source=source, checkpoint=folder, resume="auto")


@pytest.mark.mpi
def test_a_run_with_weights_does_not_go_on_without(shared, monkeypatch):
    folder, parameters = shared / "ck", {"tol": 0, "max_iter": 12}
    assert stopped(monkeypatch, folder, 3, "pagerank", graph("rmat:9"), **parameters)
    with pytest.raises(UsageError, match="its graph is"):
        flat_run("pagerank", "rmat:9", checkpoint=folder, resume="auto", **parameters)


@pytest.mark.mpi
def test_a_folder_in_use_is_not_taken_by_accident(shared, monkeypatch):
    folder = shared / "ck"
    with pytest.raises(UsageError, match="no checkpoint in"):
        flat_run("bfs", graph("path:60"), source=0, checkpoint=folder, resume="must")
    stopped(monkeypatch, folder, 3, "bfs", graph("path:60"), source=0)
    with pytest.raises(UsageError, match="holds a checkpoint already"):
        dgraph.run("bfs", graph("path:60"), source=0, checkpoint=folder)


@pytest.mark.mpi
@pytest.mark.parametrize("resume", [None, "auto", "must"])
def test_a_checkpoint_of_another_format_version_is_refused(resume, shared, monkeypatch):
    """Check that every rank refuses, even if another set is readable."""
    comm, loaded, folder = world(), graph("path:60"), shared / "ck"
    assert stopped(monkeypatch, folder, 9, "bfs", loaded, source=0)
    comm.barrier()
    older, newer = sorted(folder.glob("set-*/manifest.json"))
    wanted = json.loads(newer.read_text())["version"]
    comm.barrier()
    if comm.rank == 0:
        older.write_text(json.dumps(json.loads(older.read_text()) | {"version": wanted - 1}))
    comm.barrier()
    with pytest.raises(DataError) as refused:
        flat_run("bfs", loaded, source=0, checkpoint=folder, resume=resume)
    assert str(refused.value) == (
        f"{older} is a checkpoint of format version {wanted - 1}, and this dgraph reads version {wanted} alone: go on "
        "with the dgraph that wrote it, or start anew with an empty folder of checkpoints"
    )


@pytest.mark.mpi
def test_a_full_disk_costs_the_checkpoint_not_the_run(shared, monkeypatch):
    """Check that a set is removed on all ranks if one rank's disk is full, and that the run continues."""
    comm, folder = world(), shared / "ck"
    whole = dgraph.run("bfs", graph("path:60"), source=0)

    class Full(checkpoint_file._ChecksummedFile):
        def write(self, data):
            if comm.rank == comm.size - 1 and self.size:
                raise OSError(28, "No space left on device")
            return super().write(data)

    monkeypatch.setattr(checkpoint_file, "_ChecksummedFile", Full)
    result = flat_run("bfs", graph("path:60"), source=0, checkpoint=folder, checkpoint_every=20)
    assert result.columns["distance"].tolist() == whole.columns["distance"].tolist()
    assert sum("No space left on device" in warning for warning in result.report["warnings"]) == 3
    assert list(folder.iterdir()) == []


def test_a_manifest_that_cannot_be_understood_is_told(tmp_path):
    place = tmp_path / "set-000001"
    place.mkdir()
    (place / "manifest.json").write_text("{")
    with pytest.raises(DataError, match="is not a manifest"):
        checkpoint_file.manifests(tmp_path, SerialComm())
    with pytest.raises(OutputError, match="part-0 cannot be read"):
        checkpoint_file.read(place, {"parts": [{}], "arrays": []}, communicator(SerialComm()))


@pytest.mark.mpi_skip
@pytest.mark.parametrize("name", ["hits", "triangles", "ktruss", "lcc"])
def test_what_writes_no_checkpoints_says_so(name, tmp_path):
    result = dgraph.run(name, dgraph.Graph.load("rmat:6", comm=SerialComm()), checkpoint=tmp_path / "ck")
    assert f"{name} writes no checkpoints: a run that is stopped starts again" in result.report["warnings"]
    assert not (tmp_path / "ck").exists()


@pytest.mark.mpi_skip
@pytest.mark.parametrize("writers", [1, 2, 3, 5])
@pytest.mark.parametrize("readers", [1, 2, 3, 4])
def test_each_rank_reads_its_share_of_the_rows(writers, readers, tmp_path):
    """Every row comes once, whatever the numbers of ranks, and a rank holds a P-th of them, up to a row a part."""
    gids = np.array_split(np.arange(1000), writers)

    def work(comm):
        arrays = {"gids": gids[comm.rank], "active": gids[comm.rank] % 3 == 0}
        return checkpoint_file.write(tmp_path, arrays, {}, comm)

    assert on_ranks(writers, work) == [None] * writers
    shares = on_ranks(readers, lambda c: checkpoint_file.read(*checkpoint_file.manifests(tmp_path, c)[0], c))
    assert max(share["gids"].size for share in shares) <= 1000 / readers + writers
    rows = np.concatenate([share["gids"] for share in shares])
    assert sorted(rows) == list(range(1000))
    assert np.array_equal(np.concatenate([share["active"] for share in shares]), rows % 3 == 0)
