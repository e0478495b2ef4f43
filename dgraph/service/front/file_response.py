"""Response whose body is a part of a file, sent from a memory map in large pieces."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
from typing import IO

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PIECE = 4 << 20
"""Bytes that are passed to the transport at a time."""

POPULATE_READ = 22
"""``MADV_POPULATE_READ``: map all pages of a piece at once."""

STALLED_S = 60.0
"""Seconds in which a client must take a piece; a slower one is disconnected."""


class FileResponse(Response):
    """ASGI response: bytes ``offset`` to ``offset + length`` of an open file, which it closes.

    Args:
        file: the file.
        offset, length: its part.
        media: Content-Type.
        name: file name offered to browsers.
    """

    def __init__(self, file: IO[bytes], offset: int, length: int, media: str, name: str):
        self.file, self.offset, self.length = file, offset, length
        self.status_code, self.background = 200, None
        self.raw_headers = [
            (b"content-type", media.encode()),
            (b"content-length", str(length).encode()),
            (b"content-disposition", f'attachment; filename="{name}"'.encode()),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        with self.file:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if not self.length or scope["method"] == "HEAD":
                await send({"type": "http.response.body", "body": b""})
                return
            mapped = mmap.mmap(self.file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ)
            view = memoryview(mapped)
            position, end = self.offset, self.offset + self.length
            while position < end:
                stop = min(position + PIECE, end)
                first = position - position % mmap.PAGESIZE
                with contextlib.suppress(OSError):  # kernels before 5.14 read the pages one by one
                    mapped.madvise(POPULATE_READ, first, stop - first)
                message = {"type": "http.response.body", "body": view[position:stop], "more_body": stop < end}
                async with asyncio.timeout(STALLED_S):
                    await send(message)
                position = stop
