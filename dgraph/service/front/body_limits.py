"""Limits of request bodies: size before and after decompression, time, and columns of tables.

:func:`limited` wraps ``receive`` of every request; :func:`save_upload` writes the body of a graph to a file.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.types import Message, Receive, Scope

from dgraph.service.front.problem_documents import Problem
from dgraph.service.front.settings import Settings

EDGES_FACTOR = 256
"""Bodies of edges may have this many times the bytes of other JSON bodies."""

BODY_S = 30.0
"""Seconds between two parts of a body; a slower client is disconnected."""

PIECE = 1 << 20
"""Bytes that are decompressed at a time."""

FIRST_LINE = 1 << 20
"""Longest first line of CSV in bytes."""


def too_large(got: str, limit: int) -> Problem:
    """Return the problem of a body above its limit."""
    detail = f"got a body of {got}, but the limit is {limit:,} bytes; send less, or read a file of the data root"
    return Problem(413, detail, limit=limit)


def limited(scope: Scope, headers: dict[bytes, bytes], receive: Receive, settings: Settings) -> Receive:
    """Return ``receive`` that raises a :class:`Problem` for a body that is too large, too slow or compressed."""
    path, method = scope["path"], scope["method"]
    if b"content-length" not in headers and b"transfer-encoding" not in headers:
        return receive
    upload = method == "PUT" and path.endswith("/data")
    limit = settings.upload_bytes if upload else settings.json_bytes
    if method == "POST" and path.endswith("/edges"):
        limit *= EDGES_FACTOR
    declared = headers.get(b"content-length", b"0")
    encoding = headers.get(b"content-encoding", b"identity").lower()
    seen = 0

    async def receive_limited() -> Message:
        nonlocal seen
        if declared.isdigit() and int(declared) > limit:
            raise too_large(f"{int(declared):,} bytes", limit)
        if encoding != b"identity" and not upload:
            raise Problem(415, "got a compressed JSON body; send it without Content-Encoding")
        try:
            async with asyncio.timeout(BODY_S):
                message = await receive()
        except TimeoutError:
            raise Problem(408, f"got no more of the body for {BODY_S:.0f} s; send it again") from None
        seen += len(message.get("body", b""))
        if seen > limit:
            raise too_large(f"more than {limit:,} bytes", limit)
        return message

    first = True

    async def receive_first() -> Message:
        # after the body, ``receive`` waits for the disconnect, which has no time limit
        nonlocal first
        if not first:
            return await receive()
        message = await receive_limited()
        first = message["type"] == "http.request" and message.get("more_body", False)
        return message

    return receive_first


async def save_upload(stream: AsyncIterator[bytes], path: Path, encoding: str, limit: int, count: Any) -> int:
    """Write a body to a file.

    Args:
        stream: the body's parts.
        path: file to write.
        encoding: Content-Encoding: "identity" or "gzip".
        limit: most bytes, decompressed.
        count: called with the bytes of each part; raises if they are too many for the token.

    Returns:
        Bytes written.

    Raises:
        Problem: 413, or 422 for malformed gzip.
    """
    written = 0
    inflate = zlib.decompressobj(31) if encoding == "gzip" else None
    with path.open("wb") as file:
        async for part in stream:
            for piece in [part] if inflate is None else _inflated(inflate, part):
                written += len(piece)
                count(len(piece))
                if written > limit:
                    raise too_large(f"more than {limit:,} bytes after decompression", limit)
                file.write(piece)
                if inflate is not None:
                    await asyncio.sleep(0)
    if inflate is not None and not inflate.eof:
        raise Problem(422, "the gzip body ends too early; send the whole of it")
    return written


def _inflated(inflate: Any, part: bytes) -> Any:
    """Yield decompressed pieces of at most ``PIECE`` bytes."""
    while part:
        try:
            piece = inflate.decompress(part, PIECE)
        except zlib.error as error:
            raise Problem(422, f"the body is not gzip: {error}; send Content-Encoding only if it is") from None
        yield piece
        part = inflate.unconsumed_tail
        if inflate.eof:
            if inflate.unused_data:
                raise Problem(422, "data follow the end of the gzip body; send one gzip stream")
            return


def check_table(path: Path, form: str, settings: Settings) -> None:
    """Refuse an uploaded table that is malformed, has too many columns, or would decompress beyond the limit.

    Args:
        path: the file.
        form: "arrow", "parquet" or "csv".
        settings: the limits.

    Raises:
        Problem: 422 or 413.
    """
    limit = settings.upload_bytes
    if form == "csv":
        with path.open("rb") as file:
            line = file.readline(FIRST_LINE)
        if len(line) == FIRST_LINE:
            raise Problem(422, f"the first line has more than {FIRST_LINE:,} bytes; send CSV with short lines")
        columns = max(line.count(each) for each in (b",", b";", b"\t")) + 1
    else:
        import pyarrow

        try:
            columns = _parquet(path, limit) if form == "parquet" else _arrow(path, limit)
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise Problem(422, f"the body is not {form}: {str(error)[:200]}; check its Content-Type") from None
    if not 2 <= columns <= settings.columns:
        raise Problem(
            422, f"got a table of {columns} columns, but 2 to {settings.columns} are read: source, target and weight"
        )


def _parquet(path: Path, limit: int) -> int:
    from pyarrow import parquet

    found = parquet.read_metadata(path)
    size = sum(found.row_group(k).total_byte_size for k in range(found.num_row_groups))
    if size > limit:
        raise too_large(f"{size:,} bytes after decompression", limit)
    return found.num_columns


def _arrow(path: Path, limit: int) -> int:
    """Return the number of columns; refuse compressed buffers, whose size is known only after decompression."""
    from pyarrow import ipc

    with path.open("rb") as file:
        if file.read(6) == b"ARROW1":
            file.seek(8)
        else:
            file.seek(0)
        reader = ipc.MessageReader.open_stream(file)
        columns = len(ipc.read_schema(reader.read_next_message()))
        while True:
            try:
                message = reader.read_next_message()
            except StopIteration:
                return columns
            if _compressed(message.metadata.to_pybytes()):
                raise Problem(422, "the Arrow body has compressed buffers; write it without compression")


def _compressed(message: bytes) -> bool:
    """Return True if a message's record batch has the field ``compression`` (Message.fbs, RecordBatch: slot 3)."""

    def u16(at: int) -> int:
        return int.from_bytes(message[at : at + 2], "little")

    def u32(at: int) -> int:
        return int.from_bytes(message[at : at + 4], "little")

    def slot(table: int, number: int) -> int:
        vtable = table - int.from_bytes(message[table : table + 4], "little", signed=True)
        offset = u16(vtable + 4 + 2 * number) if 4 + 2 * number < u16(vtable) else 0
        return table + offset if offset else 0

    root = u32(0)
    header_type, header = slot(root, 1), slot(root, 2)
    if not header_type or not header or message[header_type] not in (2, 3):  # DictionaryBatch, RecordBatch
        return False
    batch = header + u32(header)
    if message[header_type] == 2:
        data = slot(batch, 1)
        batch = data + u32(data)
    return bool(slot(batch, 3))
