"""Parquet files of which threads encode the row groups: pyarrow encodes on one thread.

Each group is encoded as a Parquet file of its own in memory. The groups are moved into the file in their order, and one
footer lists them all. The bytes do not depend on the number of threads.
"""

from __future__ import annotations

import io
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from dgraph._support.extras import extra
from dgraph._support.threads import settle
from dgraph.graph.formats.parquet_footer import shifted

ROWS = 1 << 19
"""Rows of a group, at least; fewer in the last."""
MOST = 8
"""Most threads: each holds about two groups, and one thread moves them into the file."""
MAGIC = b"PAR1"
"""Both ends of a file."""


class ParquetGroups:
    """Writer of tables into an open, empty file; on one rank.

    Args:
        descriptor: of the file.
        schema: a ``pyarrow.Schema``.
        threads: that encode.
        options: of ``pyarrow.parquet.ParquetWriter``.
    """

    def __init__(self, descriptor: int, schema: Any, threads: int, **options: Any):
        self._parquet = extra("pyarrow.parquet", "a .parquet file")
        self._sink = os.fdopen(os.dup(descriptor), "wb")
        self._schema, self._options, self._threads = schema, options, min(threads, MOST)
        self._workers: ThreadPoolExecutor | None = None
        self._encoding: deque[Future] = deque()
        self._tables: list[Any] = []
        self._rows, self._footer = 0, None
        self._size = self._sink.write(MAGIC)

    def add(self, table: Any) -> None:
        """Append the rows of a ``pyarrow.Table``."""
        if not table.num_rows:
            return
        self._tables.append(table)
        self._rows += table.num_rows
        if self._rows >= ROWS:
            if self._threads < 2:
                self._append(self._encoded(self._gathered()))
                return
            self._workers = self._workers or ThreadPoolExecutor(self._threads)
            self._encoding.append(self._workers.submit(self._encoded, self._gathered()))
            if len(self._encoding) > self._threads + 1:
                self._append(self._encoding.popleft().result())

    def end(self) -> None:
        """Write the remaining groups and the footer, and close the file."""
        try:
            while self._encoding:
                self._append(self._encoding.popleft().result())
            if self._rows or self._footer is None:
                self._append(self._encoded(self._gathered()))
            footer = io.BytesIO()
            self._footer.write_metadata_file(footer)  # type: ignore[attr-defined]
            self._sink.write(footer.getbuffer()[len(MAGIC) :])
        finally:
            settle(self._encoding)
            if self._workers is not None:
                self._workers.shutdown()
            self._sink.close()

    def _gathered(self) -> list[Any]:
        tables, self._tables, self._rows = self._tables, [], 0
        return tables

    def _encoded(self, tables: list[Any]) -> io.BytesIO:
        """Return a Parquet file of one group of rows, or of none."""
        import pyarrow

        file = io.BytesIO()
        with self._parquet.ParquetWriter(file, self._schema, **self._options) as writer:
            if tables:
                table = pyarrow.concat_tables(tables)
                writer.write_table(table, table.num_rows)
        return file

    def _append(self, group: io.BytesIO) -> None:
        """Move the group of rows of a file to the end of this one."""
        with group.getbuffer() as content:
            end = len(content) - 4 - len(MAGIC)
            begin = end - int.from_bytes(content[end : end + 4], "little")
            footer = shifted(bytes(content[begin:end]), self._size - len(MAGIC))
            self._size += self._sink.write(content[len(MAGIC) : begin])
        alone = MAGIC + footer + len(footer).to_bytes(4, "little") + MAGIC
        metadata = self._parquet.read_metadata(io.BytesIO(alone))
        if self._footer is None:
            self._footer = metadata
        else:
            self._footer.append_row_groups(metadata)
