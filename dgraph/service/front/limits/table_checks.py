"""Check of an uploaded table before the ranks read it: :func:`check_table`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dgraph.graph.formats.packed import packing
from dgraph.graph.formats.packed_members import unpacked
from dgraph.graph.formats.separator import MARKS
from dgraph.service.front.limits.body_limits import PIECE, too_large
from dgraph.service.front.limits.decoded_sizes import arrow_bytes, parquet_bytes
from dgraph.service.front.problem_documents import Problem
from dgraph.service.front.settings import Settings

FIRST_LINE = 1 << 20
"""Longest first line of CSV in bytes."""


def check_table(path: Path, form: str, settings: Settings) -> None:
    """Refuse an uploaded table that is malformed, has too many columns, or whose rows decode to more than the limit.

    Args:
        path: the file.
        form: "arrow", "parquet" or "csv".
        settings: the limits.

    Raises:
        Problem: 422 or 413.
    """
    limit = settings.upload_bytes
    try:
        if not path.stat().st_size:
            raise Problem(422, "got an empty body; send the edges")
        columns, size = CHECKS[form](path, limit)
    except Problem:
        raise
    except Exception as error:  # whatever hostile bytes make a library raise
        text = str(error).replace(str(path), "the body")[:200] or type(error).__name__
        raise Problem(422, f"the body is not {form}: {text}; check its Content-Type, and that it is whole") from None
    if size > limit:
        raise too_large(f"{size:,} bytes or more after decompression", limit)
    if not 2 <= columns <= settings.columns:
        raise Problem(
            422, f"got a table of {columns} columns, but 2 to {settings.columns} are read: source, target and weight"
        )


def _csv(path: Path, limit: int) -> tuple[int, int]:
    """Return columns and bytes of text; of text that is compressed, which the loader notices, once it is not."""
    with path.open("rb") as file:
        kind = packing(file.read(8))
    with unpacked(str(path), kind) as text:
        line = text.readline(FIRST_LINE)
        if len(line) == FIRST_LINE:
            raise Problem(422, f"the first line has more than {FIRST_LINE:,} bytes; send CSV with short lines")
        size = len(line)
        while kind and size <= limit and (piece := text.read(PIECE)):
            size += len(piece)
    return max(line.count(mark.encode()) for mark in MARKS) + 1, size


def _arrow(path: Path, limit: int) -> tuple[int, int]:
    """Return columns and bytes of a stream; refuse compressed buffers, whose size only decompression shows.

    A file is the stream between its magic bytes and its footer; the ranks read it as the stream, too.
    """
    import pyarrow
    from pyarrow import ipc

    with pyarrow.memory_map(str(path)) as source:
        start = 8 if source.read(6) == b"ARROW1" else 0
        source.seek(start)
        messages = ipc.MessageReader.open_stream(source)
        for number, message in enumerate(_all(messages)):
            if number and _compressed(message.metadata.to_pybytes()):
                raise Problem(422, "the Arrow body has compressed buffers; write it without compression")
        source.seek(start)
        with ipc.open_stream(source) as batches:
            size = 0
            for batch in batches:
                batch.validate(full=True)  # lengths and indices are used below, and by the ranks
                size += sum(map(arrow_bytes, batch.columns))
                if size > limit:
                    break
            return len(batches.schema), size


def _all(messages: Any) -> Any:
    """Yield the messages of a reader."""
    while True:
        try:
            message = messages.read_next_message()
        except StopIteration:
            return
        yield message


CHECKS = {"csv": _csv, "arrow": _arrow, "parquet": parquet_bytes}
"""Form of a table → function that returns its columns, and its bytes once decoded or a number above the limit."""


def _compressed(message: bytes) -> bool:
    """Return True if a message's record batch has the field ``compression`` (Message.fbs, RecordBatch: slot 3)."""

    def u16(offset: int) -> int:
        return int.from_bytes(message[offset : offset + 2], "little")

    def u32(offset: int) -> int:
        return int.from_bytes(message[offset : offset + 4], "little")

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
        records = slot(batch, 1)
        batch = records + u32(records)
    return bool(slot(batch, 3))
