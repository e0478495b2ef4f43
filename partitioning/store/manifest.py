"""The manifest: offsets of arrays in files, the checksum of every block, and a checksum of the manifest itself."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
FORMAT, VERSION = "dgraph store", 3
WITHOUT_NAMES = 2
"""Version of a store whose vertices are integers, so that a dgraph that knows no names reads it."""
READ = (1, 2, 3)
"""Versions that are read; version 2 has attributes of edges, version 3 names of vertices."""
ALIGN = 64
"""Alignment of arrays in bytes, for vector units and DMA engines."""


class StoreError(ValueError):
    """Folder that is not a store, or is not as it was written: what was got, why it cannot be, what to do."""


def is_store(path: str | os.PathLike) -> bool:
    """Return True if ``path`` is a folder with a manifest; its contents are not checked."""
    return Path(path, MANIFEST).is_file()


def part_file(part: int) -> str:
    """Return the name of the file of one part."""
    return f"part-{part:05d}.bin"


def checksum(*pieces: bytes | memoryview) -> str:
    """Return the CRC-32 of concatenated bytes, as 8 hexadecimal digits."""
    value = 0
    for piece in pieces:
        value = zlib.crc32(piece, value)
    return digits(value)


def digits(checksum: int) -> str:
    """Return a CRC-32 as 8 hexadecimal digits."""
    return f"{checksum:08x}"


def written(manifest: dict[str, Any]) -> bytes:
    """Return the bytes of a manifest file.

    ``format`` and ``version`` come first, the checksum of all bytes before it last.
    """
    version = VERSION if manifest.get("graph", {}).get("named") else WITHOUT_NAMES
    body = _lines({"format": FORMAT, "version": version, **manifest}).encode()
    return body + _ending(body)


def read(path: Path) -> dict[str, Any]:
    """Read the manifest of the store ``path``, without its checksum.

    Raises:
        StoreError: there is none, it is not as it was written, or it has a newer version.
    """
    file = path / MANIFEST
    if not path.is_dir():
        raise StoreError(f"{path} is not a store: there is no such folder")
    if not file.is_file():
        raise StoreError(
            f"{path} is not a store: it has no {MANIFEST}, which is written last; if a store was being written there, "
            "its writer was ended early: write it again"
        )
    raw = file.read_bytes()
    try:
        manifest = json.loads(raw)
    except ValueError as error:
        raise StoreError(f"{file} is truncated or not JSON ({error}); write the store again") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise StoreError(f"{file} is not the manifest of a {FORMAT}; name the folder of one")
    if manifest.get("version") not in READ:
        raise StoreError(
            f"{file} is of version {manifest.get('version')}, and this dgraph reads versions {READ[0]} to {READ[-1]}; "
            "open it with the dgraph that wrote it, or write it again"
        )
    body = raw[: -len(_ending(b""))]
    if raw != body + _ending(body):
        raise StoreError(
            f"{file} has changed since it was written: its last line is not its checksum; write the store again"
        )
    del manifest["checksum"]
    return manifest


def _ending(body: bytes) -> bytes:
    return f',\n "checksum": "{checksum(body)}"\n}}\n'.encode()


def _lines(body: dict[str, Any]) -> str:
    """Return readable JSON, one line per entry, part and file, without the closing bracket."""
    entries = []
    for name, value in body.items():
        if name == "parts":
            text = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
        elif name == "files":
            text = "{\n  " + ",\n  ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()) + "\n }"
        else:
            text = json.dumps(value)
        entries.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(entries)
