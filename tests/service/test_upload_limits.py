"""Limits of uploads hold for what rows decode to; bodies that are empty, cut or never end leave no file."""

import asyncio
import gzip
import io
import os
import socket
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from front import front, serving
from processes import serving_process
from pyarrow import parquet

from dgraph.service.front.limits.decoded_sizes import arrow_bytes
from dgraph.service.front.worker_threads import in_thread

ARROW, FILE = "application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file"
PARQUET, CSV = "application/vnd.apache.parquet", "text/csv"
ROWS = 1 << 20
LONG = "x" * 1000
FEW = pa.array(np.zeros(ROWS, np.int8))


def runs(values, rows=ROWS):
    return pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), values)


def indices(values):
    return pa.DictionaryArray.from_arrays(FEW, values)


GROWING = {
    "runs": runs(pa.array([5])),
    "runs of text": runs(pa.array([LONG])),
    "runs of a dictionary": runs(pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), pa.array([LONG]))),
    "dictionary": indices(pa.array([1])),
    "dictionary of text": indices(pa.array([LONG])),
    "dictionary of lists": indices(pa.array([[1] * 100])),
    "list of runs": pa.ListArray.from_arrays(pa.array([0, ROWS], pa.int32()), runs(pa.array([5]))),
    "rows that share a list": pa.ListViewArray.from_arrays(
        pa.array([0] * 1000, pa.int32()), pa.array([1000] * 1000, pa.int32()), pa.array([0] * 1000)
    ),
    "struct of runs": pa.StructArray.from_arrays([runs(pa.array([1]))], ["a"]),
}


def sent(opened, *columns):
    body = io.BytesIO()
    batch = pa.record_batch(list(columns), ["source", "target"])
    with opened(body, batch.schema) as writer:
        writer.write_batch(batch)
    return body.getvalue()


def parquet_of(column, **options):
    body = io.BytesIO()
    table = pa.table({"source": column, "target": column})
    parquet.write_table(table, body, compression="zstd", row_group_size=ROWS, **options)
    return body.getvalue()


async def put(one, body, media, **headers):
    return await one.http.put("/v1/graphs/g/data", content=body, headers={"Content-Type": media, **headers})


@pytest.mark.quick
@pytest.mark.parametrize("name", GROWING)
def test_arrow_columns_that_grow_are_refused(tmp_path, name):
    async def body():
        async with front(tmp_path, upload_bytes=3_000_000) as one:
            for opened, media in ((pa.ipc.new_stream, ARROW), (pa.ipc.new_file, FILE)):
                text = sent(opened, GROWING[name], GROWING[name])
                answer = await put(one, text, media)
                assert (answer.status_code, answer.json()["limit"]) == (413, 3_000_000), answer.text
            assert os.listdir(one.service.settings.state / "uploads") == []

    asyncio.run(body())


@pytest.mark.parametrize(
    ("array", "size"),
    [
        (pa.nulls(1000), 1000),
        (pa.array([True] * 1000), 1000),
        (pa.array([1] * 1000, pa.int16()), 2000),
        (runs(pa.array([5])).slice(5, 10), 80),
        (pa.array([LONG, None]), 1008),
        (pa.array([LONG] * 3, pa.string_view()), 3012),
        (pa.array([[1, 2]] * 10), 200),
        (pa.array([b""] * 10, pa.binary(0)), 10),
        (pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), pa.array([], pa.string())), 8),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_sizes_of_decoded_columns(array, size):
    assert arrow_bytes(array) == size


@serving
async def test_parquet_and_text_that_grow_are_refused(one):
    object.__setattr__(one.service.settings, "upload_bytes", 3_000_000)
    zeros = pa.array(np.zeros(ROWS, np.int64))
    lines = b"1,2\n" * 1_000_000
    for body, media in (
        (parquet_of(zeros), PARQUET),
        (parquet_of(indices(pa.array([LONG]))), PARQUET),
        (parquet_of(pa.array([[0] * 1000] * 1000)), PARQUET),
        (parquet_of(pa.nulls(ROWS)), PARQUET),
        (gzip.compress(lines), CSV),
        (pa.compress(lines, "zstd", asbytes=True), CSV),
    ):
        assert len(body) < 500_000
        answer = await put(one, body, media)
        assert answer.status_code == 413, answer.text
    differences = parquet_of(pa.array([LONG] * 1000), use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY")
    assert (await put(one, differences, PARQUET)).status_code == 422
    assert (await put(one, gzip.compress(b"1,2\n"), CSV)).status_code == 202
    await one.ready()
    assert (await put(one, parquet_of(zeros[:1000]), PARQUET)).status_code == 202


@serving
async def test_empty_and_cut_bodies_are_answered_and_leave_no_file(one):
    ends = pa.array([1, 2, 3])
    whole = {
        ARROW: sent(pa.ipc.new_stream, ends, ends), FILE: sent(pa.ipc.new_file, ends, ends), PARQUET: parquet_of(ends),
    }  # fmt: skip
    for media, text in whole.items():
        for body in (b"", text[:1], text[:8], text[: len(text) // 2], text[:-1] if media == PARQUET else text[:300]):
            async with asyncio.timeout(20):
                answer = await put(one, body, media)
            assert answer.status_code == 422, (media, len(body), answer.text)
            assert str(one.service.settings.state) not in answer.text
    assert (await put(one, b"", CSV)).status_code == 422
    for end in (b"", b"\x00" * 8, gzip.compress(b"")[:-3]):
        assert (await put(one, end, CSV, **{"Content-Encoding": "gzip"})).status_code == 422
    assert os.listdir(one.service.settings.state / "uploads") == []
    assert one.service.doors.socket.uploading == 0


@pytest.mark.parametrize("error", [StopIteration, StopAsyncIteration, KeyError, MemoryError])
def test_any_exception_of_a_thread_is_raised(error):
    def fail():
        raise error("x")

    async def body():
        async with asyncio.timeout(20):
            await in_thread(fail)

    with pytest.raises(RuntimeError if error is StopIteration else error):
        asyncio.run(body())


@pytest.mark.starts_children
def test_a_client_that_leaves_within_a_body_leaves_no_file(tmp_path):
    with serving_process(tmp_path) as (address, token, http):
        place = ("127.0.0.1", int(address.rpartition(":")[2]))
        uploads = Path(tmp_path / "state" / "uploads")
        head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000\r\n"
        for path in ("PUT /v1/graphs/g/data", "POST /v1/jobs", "POST /v1/graphs/g/edges", "POST /v1/estimate"):
            kind = "text/csv" if path.startswith("PUT") else "application/json"
            with socket.create_connection(place) as one:
                one.sendall(f"{path} HTTP/1.1\r\n{head}Content-Type: {kind}\r\n\r\n1,2\n".encode())
                while path.startswith("PUT") and not os.listdir(uploads):
                    time.sleep(0.01)
        while os.listdir(uploads):
            time.sleep(0.01)
        assert http.get("/readyz").status_code == 200
    assert "Traceback" not in (tmp_path / "log").read_text()
