"""Stores on disk: their contents, refused changes, and atomic creation."""

import errno
import json
import os
import shutil
import sys
from dataclasses import replace
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from built import check
from children import Children
from flat_run import flat_run
from report_schema import violations
from simulated import battery, on_ranks, succeed

from dgraph.comm import SerialComm
from dgraph.errors import DataError, OutputError, UsageError
from dgraph.graph.stored.files import read_part
from dgraph.graph.stored_graph import Graph
from partitioning.__main__ import main
from partitioning.store import ArrayFile, Store, StoreDraft, StoreError, is_store

GIVEN = battery()["directed"]
PARTS = 2


@pytest.fixture
def store(tmp_path):
    save(tmp_path / "store")
    return tmp_path / "store"


def save(path, parts=PARTS, ranks=1, sparse=False, **more):
    def work(comm):
        if not sparse:
            return Graph(GIVEN.block(comm), comm).save_store(path, policy="cvc", parts=parts, **more)
        mine = slice(comm.rank, None, comm.size)
        graph = Graph.from_edges(
            GIVEN.src[mine] * 7, GIVEN.dst[mine] * 7, GIVEN.weights[mine], sparse_ids=True, comm=comm
        )
        return graph.save_store(path, policy="hash", parts=parts, **more)

    return on_ranks(ranks, work)


def read_all(path, ranks=PARTS, **options):
    """Open a store and read all arrays on every rank; return each rank's result or error."""

    def work(comm):
        graph = Graph.open(path, comm=comm, **options)
        local = graph.opened("auto").local
        graph.ids.to_original(local.gids, comm)
        assert graph.block.arcs == graph.arcs
        return local

    return on_ranks(ranks, work)


def refusal(path, ranks=PARTS):
    """Return the error message, which must be equal on all ranks."""
    errors = read_all(path, ranks)
    assert all(isinstance(error, DataError) for error in errors), errors
    assert len({str(error) for error in errors}) == 1
    return str(errors[0])


def test_the_manifest_fits_its_schema(store):
    schema = json.loads((files("partitioning.store") / "schema.json").read_text())
    manifest = json.loads((store / "manifest.json").read_text())
    assert list(violations(manifest, schema)) == []
    assert (
        manifest["graph"]["degree_histogram"]
        == np.bincount([int(d).bit_length() for d in np.bincount(GIVEN.arcs()[0], minlength=GIVEN.n)]).tolist()
    )
    assert sum(part["arcs"] for part in manifest["parts"]) == len(GIVEN.src)
    assert {len(part["chunks"]["arcs"]) for part in manifest["parts"]} == {5}
    for file, told in manifest["files"].items():
        assert (store / file).stat().st_size == told["bytes"]
        for name, array in told["arrays"].items():
            assert array["at"] % 64 == 0, name
            assert len(array["crc32"]) == len(array["cuts"]) - 1 >= 1


@pytest.mark.parametrize("sparse", [False, True])
def test_every_block_is_checked(sparse, tmp_path):
    """A flipped byte at either end of any block, padding included, is reported with the block's name."""
    path = tmp_path / "store"
    save(path, sparse=sparse)
    manifest = json.loads((path / "manifest.json").read_text())
    named = set()
    for file, told in manifest["files"].items():
        raw = (path / file).read_bytes()
        starts = [
            (array["at"] + cut * np.dtype(array["dtype"]).itemsize, f"{file}: block {name}[{i}]")
            for name, array in told["arrays"].items()
            for i, cut in enumerate(array["cuts"][:-1])
            if array["cuts"][i + 1] > cut
        ]
        stops = [start for start, _ in starts[1:]] + [told["bytes"]]
        for (start, name), stop in zip(starts, stops, strict=True):
            for position in {start, stop - 1}:
                flipped = bytearray(raw)
                flipped[position] ^= 0x20
                (path / file).write_bytes(flipped)
                ranks = PARTS + 1 if file == "owners.bin" else PARTS
                assert name in refusal(path, ranks)
                named.add(name)
        (path / file).write_bytes(raw)
    wanted = {"gids", "out_degree", "offsets", "neighbours", "weights", "mine", "theirs", "their_lids", "values"}
    assert {name.split()[2].partition("[")[0] for name in named} == wanted | ({"original"} if sparse else set())
    assert not any(isinstance(part, Exception) for part in read_all(path))


@pytest.mark.parametrize("weights", [[3, -(2**62) - 1], [0.1, np.inf], np.float32([0.1, 7])])
def test_a_part_has_the_figures_of_its_weights(weights, tmp_path):
    Graph.from_edges([0, 1], [1, 2], np.array(weights)).save_store(tmp_path / "store")
    rows = read_part(Store.open(tmp_path / "store"), 0).out
    kept = rows.__dict__["weight_range"]
    assert kept == replace(rows).measured(1)
    assert kept[0].dtype == rows.weight_type


def test_without_verification_nothing_is_checked(store):
    raw = bytearray((store / "part-00000.bin").read_bytes())
    offset = json.loads((store / "manifest.json").read_text())["files"]["part-00000.bin"]["arrays"]["weights"]["at"]
    raw[offset] ^= 1
    (store / "part-00000.bin").write_bytes(raw)
    assert "block weights[0]" in refusal(store)
    assert not any(isinstance(part, Exception) for part in read_all(store, verify=False))


@pytest.mark.parametrize("file", ["part-00000.bin", "part-00001.bin", "owners.bin"])
@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda file: file.write_bytes(file.read_bytes()[:-1]), "it was truncated"),
        (lambda file: file.write_bytes(b""), "has 0 bytes"),
        (lambda file: file.write_bytes(file.read_bytes() + b"x"), "it was added to"),
        (lambda file: file.unlink(), "is missing"),
    ],
)
def test_files_that_are_not_whole(file, harm, said, store):
    harm(store / file)
    told = refusal(store, PARTS + 1 if file == "owners.bin" else PARTS)
    assert said in told
    assert file in told


def test_manifests_that_are_not_what_was_written(store):
    raw = (store / "manifest.json").read_bytes()
    for position in range(0, len(raw), 97):
        flipped = bytearray(raw)
        flipped[position] ^= 1
        for harmed in (raw[:position], flipped):
            (store / "manifest.json").write_bytes(harmed)
            assert "manifest.json" in refusal(store, 1), (position, harmed[position - 20 : position + 20])
    body = json.loads(raw)
    for change, said in (
        ({"version": 4}, "is of version 4, and this dgraph reads versions 1 to 3"),
        ({"format": "something"}, "is not the manifest of a dgraph store"),
        ({"parts": []}, "has changed since it was written"),
    ):
        (store / "manifest.json").write_text(json.dumps(body | change))
        assert said in refusal(store, 1)


@pytest.mark.parametrize("missing", ["folder", "manifest.json"])
def test_what_is_no_store(missing, store):
    shutil.rmtree(store) if missing == "folder" else (store / missing).unlink()
    assert not is_store(store)
    assert "is not a store" in refusal(store)
    with pytest.raises(UsageError, match="no such file" if missing == "folder" else "is not a store; name a file"):
        Graph.load(str(store), comm=SerialComm())


def test_many_read_at_once(store):
    opened = [read_all(store) for _ in range(3)]
    for locals_ in opened:
        check(GIVEN, locals_)


def test_a_name_that_is_taken(store, tmp_path):
    for error in save(store, ranks=2):
        assert isinstance(error, UsageError)
        assert "exists; choose another name" in str(error)
    (tmp_path / "file").write_text("mine")
    for error in save(tmp_path / "file", overwrite=True):
        assert "is not a store, so it is not overwritten" in str(error)
    for error in save(tmp_path / "nowhere" / "store"):
        assert "there is no folder" in str(error)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "store"]
    assert not any(isinstance(told, Exception) for told in save(store, parts=3, ranks=2, overwrite=True))
    assert Store.open(store).manifest["partition"]["parts"] == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "store"]


@pytest.mark.parametrize("chunks", [1, 2])
def test_fewer_chunks_than_parts(chunks, tmp_path):
    for error in save(tmp_path / "s", parts=3, chunks=chunks):
        assert f"{chunks} chunks are fewer than 3 parts" in str(error)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("where", ["add", "share", "finish"])
def test_a_full_disk_leaves_nothing(where, tmp_path, monkeypatch):
    """A full disk, on any rank and at any file, leaves no files behind."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ArrayFile if where == "add" else StoreDraft, where, full)
    for error in save(tmp_path / "s", parts=3, ranks=2):
        assert isinstance(error, OutputError)
        assert "No space left on device; nothing was left there" in str(error)
    assert not list(tmp_path.iterdir())


KILLED = """
import os, signal, sys
import dgraph
from partitioning.store import ArrayFile, StoreDraft
calls = 0
def dying(method, after):
    def wrapped(*args, **kwargs):
        global calls
        calls += 1
        if calls > after:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(*args, **kwargs)
    return wrapped
cls = {"add": ArrayFile, "share": StoreDraft, "finish": StoreDraft}[sys.argv[2]]
setattr(cls, sys.argv[2], dying(getattr(cls, sys.argv[2]), int(sys.argv[3])))
dgraph.Graph.load("rmat:6", weights="1..9").save_store(sys.argv[1], policy="hash", parts=3)
"""


@pytest.mark.mpi_skip
@pytest.mark.starts_children
def test_a_writer_that_is_killed_leaves_nothing_that_opens(tmp_path):
    """The writer is killed at the first array, within a part, between parts, and before the rename."""
    moments = [("add", 0), ("add", 5), ("add", 12), ("share", 0), ("finish", 0)]
    words = [
        [sys.executable, "-c", KILLED, tmp_path / "out" / f"{i}", *map(str, when)] for i, when in enumerate(moments)
    ]
    (tmp_path / "out").mkdir()
    writers = [Children(argv, tmp_path / f"log {i}") for i, argv in enumerate(words)]
    for writer in writers:
        writer.wait(60)
        assert writer.codes() != [0], writer.story()
    left = list((tmp_path / "out").iterdir())
    assert len(left) == len(moments), "drafts are left behind: a killed process cannot remove them"
    for path in left:
        assert path.name.startswith(".")
        with pytest.raises(DataError, match="its writer was ended early"):
            Graph.open(path, comm=SerialComm())


def test_the_command_writes_what_a_run_opens(tmp_path, capsys):
    path = str(tmp_path / "s")
    assert main(["road:20x20", "-n", "3", "--policy", "ldg", "-o", path, "--chunks", "7", "-q"]) == 0
    assert f"{path}: 3 parts by ldg, written in" in capsys.readouterr().out
    assert Store.open(path).manifest["partition"]["quality"]["seconds"] >= 0
    assert {len(part["chunks"]["arcs"]) for part in Store.open(path).manifest["parts"]} == {4}
    stored, direct = (flat_run("sssp", name, source=3, comm=SerialComm()).columns for name in (path, "road:20x20"))
    for column in direct:
        np.testing.assert_array_equal(stored[column], direct[column])
    assert main(["road:20x20", "-n", "3", "-o", path, "-q"]) == 2
    assert "exists; choose another name" in capsys.readouterr().err
    assert main([path, "-n", "5", "--compare", "-o", path, "--overwrite", "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["store"]["policy"] == told["recommended"]["policy"]
    assert Store.open(path).manifest["graph"]["fingerprint"] == told["graph"]["fingerprint"]


def test_everything_is_on_the_disk_before_the_folder_has_its_name(tmp_path, monkeypatch):
    synced, at_rename = [], []
    sync, rename = os.fsync, os.rename

    def fsync(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").resolve().name)
        sync(descriptor)

    def renamed(old, new):
        at_rename.append((Path(old).name, set(synced)))
        rename(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", renamed)
    save(tmp_path / "s", sparse=True)
    ((draft, before),) = at_rename
    assert before == {draft, *(file.name for file in (tmp_path / "s").iterdir())}
    assert synced[-1] == tmp_path.name


def test_facts_of_another_version_are_passed_over(tmp_path, monkeypatch):
    write_module = import_module("dgraph.graph.stored.write")
    described = write_module._described
    with_more = lambda *arguments: (told := described(*arguments)) | {"facts": told["facts"] | {"invented": 1}}  # noqa: E731
    monkeypatch.setattr(write_module, "_described", with_more)
    save(tmp_path / "s")
    check(GIVEN, read_all(tmp_path / "s"))


def test_stores_are_converted_and_described(tmp_path, capsys):
    from dgraph.cli import main as dgraph_main

    store, back = str(tmp_path / "s"), str(tmp_path / "back.mtx")
    assert dgraph_main(["convert", "road:9x9", store, "--to", "store"]) == 0
    assert "1 part; python -m partitioning writes any number" in capsys.readouterr().out
    assert dgraph_main(["convert", "road:9x9", store, "--to", "store"]) == 2
    assert "exists; choose another name" in capsys.readouterr().err
    assert dgraph_main(["convert", store, back, "-q"]) == 0
    graphs = [Graph.load(name, comm=SerialComm()) for name in (store, back, "road:9x9")]
    assert len({graph.fingerprint() for graph in graphs}) == 1
    assert dgraph_main(["info", store, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["format"].startswith("a store")
    assert told["fingerprint"] == graphs[0].fingerprint()
    assert "opened from" in told["summary"]


def test_arrays_of_any_length_and_shape_of_blocks(tmp_path):
    draft = StoreDraft.begin(tmp_path / "s")
    arrays = {"none": np.zeros(0, np.int64), "one": np.array([7], np.uint8), "more": np.arange(100, dtype=np.float32)}
    with draft.file("a.bin") as file:
        for name, values in arrays.items():
            file.add(name, values, [len(values) // 3, len(values) // 3])
    shared = [draft.share("b.bin", first, np.arange(first, stop)) for first, stop in ((0, 5), (5, 5), (5, 9))]
    draft.finish({"files": {"a.bin": file.entry, "b.bin": StoreDraft.joined(shared)}})
    store = Store.open(tmp_path / "s")
    for name, values in arrays.items():
        np.testing.assert_array_equal(store.array("a.bin", name), values)
        assert store.array("a.bin", name).dtype == values.dtype
    np.testing.assert_array_equal(store.array("b.bin", "values"), np.arange(9))
    assert [list(store.blocks("a.bin", "more", *span)) for span in ((0, 33), (33, 34), (0, 100), (40, 40))] == [
        [0], [2], [0, 1, 2], [2],
    ]  # fmt: skip


def test_a_store_that_all_ranks_write_is_the_one_that_one_writes(tmp_path):
    for ranks in (1, 3):
        save(tmp_path / str(ranks), parts=4, ranks=ranks, sparse=True)
    one, three = (Store.open(tmp_path / str(ranks)) for ranks in (1, 3))
    for file, told in one.manifest["files"].items():
        for name in told["arrays"]:
            np.testing.assert_array_equal(three.array(file, name), one.array(file, name))
    assert (
        succeed(2, lambda comm: Graph.open(tmp_path / "3", comm=comm).fingerprint())[0]
        == (one.manifest["graph"]["fingerprint"])
    )


def test_store_errors_are_values_errors_of_their_own():
    with pytest.raises(StoreError):
        Store.open("/nowhere/at/all")
