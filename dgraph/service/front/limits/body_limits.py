"""Limits of request bodies: size before and after decompression, and time.

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


def too_large(size: str, limit: int) -> Problem:
    """Return the problem of a body above its limit."""
    detail = f"got a body of {size}, but the limit is {limit:,} bytes; send less, or read a file of the data root"
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
