"""Checkpoint sets on disk: one part per rank, then a manifest. A set with a manifest is complete; two are kept.

A part holds arrays in NumPy's format, one after the other. The manifest holds the size and CRC-32 of each part. Every
file is written under a draft name, flushed to disk and renamed, so a rank that dies leaves no partial file.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dgraph.comm import Comm
from dgraph.errors import DataError, OutputError

VERSION = 4
"""Format version. Increase it also when a program's class or one of its fields is renamed."""

KEPT = 2
"""Complete sets kept in a folder."""

MANIFEST = "manifest.json"
NAME = re.compile(r"set-(\d{6,})")
BLOCK = 1 << 20


def write(folder: Path, arrays: Mapping[str, np.ndarray], facts: dict[str, Any], comm: Comm) -> str | None:
    """Write a new set; collective.

    Args:
        folder: checkpoint folder; created if missing.
        arrays: this rank's arrays; the same names on every rank.
        facts: JSON-able entries of the manifest; only rank 0's are used.
        comm: ranks of the run.

    Returns:
        None, or the reason why the set could not be written; it is removed then.
    """
    error, place = None, folder
    if comm.rank == 0:
        try:
            place = folder / f"set-{max(_numbers(folder), default=0) + 1:06d}"
            place.mkdir(parents=True)
        except OSError as failed:
            error = f"{place}: {failed.strerror}"
    name, error = comm.bcast_json([place.name, error])
    place = folder / name
    if error:
        return error
    part = {}
    try:
        part = _write_part(place / f"part-{comm.rank}", arrays)
    except OSError as failed:
        error = f"{place / f'part-{comm.rank}'}: {failed.strerror}"
    gathered = comm.allgather_json([error, part])
    error = next((why for why, _ in gathered if why), None)
    if error is None and comm.rank == 0:
        manifest = {"version": VERSION, **facts, "arrays": list(arrays), "parts": [part for _, part in gathered]}
        try:
            with _replacing(place / MANIFEST) as file:
                file.write(json.dumps(manifest).encode())
        except OSError as failed:
            error = f"{place / MANIFEST}: {failed.strerror}"
    error = comm.bcast_json(error)
    if comm.rank == 0:
        if error is not None:
            shutil.rmtree(place, ignore_errors=True)
        _forget_older(folder)
    return error


def _write_part(path: Path, arrays: Mapping[str, np.ndarray]) -> dict[str, int]:
    with _replacing(path) as file:
        summed = _ChecksummedFile(file)
        for array in arrays.values():
            np.lib.format.write_array(summed, np.ascontiguousarray(array), allow_pickle=False)
    return {"size": summed.size, "crc": summed.crc}


class _ChecksummedFile:
    """Write-only file that keeps the size and CRC-32 of the bytes written."""

    def __init__(self, file):
        self.file, self.size, self.crc = file, 0, 0

    def write(self, piece) -> int:
        self.crc = zlib.crc32(piece, self.crc)
        self.size += len(piece)
        return self.file.write(piece)


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a draft, which takes the name ``path`` once the block has written it."""
    draft = path.with_suffix(".part")
    try:
        with open(draft, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        _flush_folder(path.parent)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _flush_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems cannot flush a folder and do not need to
            os.fsync(handle)
    finally:
        os.close(handle)


def _numbers(folder: Path) -> list[int]:
    """Return the numbers of all sets, complete or not, ascending."""
    if not folder.is_dir():
        return []
    return sorted(int(match[1]) for entry in folder.iterdir() if (match := NAME.fullmatch(entry.name)))


def _complete(folder: Path) -> list[Path]:
    """Return the complete sets, the newest first."""
    places = [folder / f"set-{number:06d}" for number in reversed(_numbers(folder))]
    return [place for place in places if (place / MANIFEST).exists()]


def _forget_older(folder: Path) -> None:
    kept = _complete(folder)[:KEPT]
    for number in _numbers(folder):
        place = folder / f"set-{number:06d}"
        if place not in kept:
            shutil.rmtree(place, ignore_errors=True)


def clear(folder: Path) -> None:
    """Remove all sets, and the folder if it is empty then; called by one rank."""
    for number in _numbers(folder):
        shutil.rmtree(folder / f"set-{number:06d}", ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def manifests(folder: Path, comm: Comm) -> list[tuple[Path, dict]]:
    """Return the complete sets and their manifests, the newest first; collective.

    Raises:
        DataError: a manifest is malformed or has another format version.
        OutputError: a manifest cannot be read.
    """
    complete: list[Any] = []
    with comm.together():
        if comm.rank == 0:
            for place in _complete(folder):
                complete.append([place.name, _manifest(place / MANIFEST)])
    return [(folder / name, manifest) for name, manifest in comm.bcast_json(complete)]


def _manifest(path: Path) -> dict:
    try:
        manifest = json.loads(path.read_bytes())
        version = manifest["version"]
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"{path} is not a manifest of a checkpoint; remove its folder to resume from the checkpoint before it"
        ) from error
    if version != VERSION:
        raise DataError(
            f"{path} is a checkpoint of format version {version}, and this dgraph reads version {VERSION} alone: go on "
            "with the dgraph that wrote it, or start anew with an empty folder of checkpoints"
        )
    return manifest


def read(place: Path, manifest: dict, comm: Comm) -> dict[str, np.ndarray]:
    """Read this rank's share of a set's parts and check them against the manifest; collective.

    The number of ranks may differ from the number of parts: each of P ranks reads a P-th of their rows.

    Raises:
        DataError: a part is truncated or changed; raised on every rank.
        OutputError: a part is missing or cannot be read; raised on every rank.
    """
    with comm.together():
        parts = manifest["parts"]
        begin, end = comm.rank * len(parts), (comm.rank + 1) * len(parts)  # in P-ths of a part
        mine = []
        for number in range(begin // comm.size, -(-end // comm.size)):
            first = number * comm.size
            share = slice(max(begin - first, 0), min(end - first, comm.size), comm.size)
            mine.append(_read_part(place / f"part-{number}", parts[number], manifest["arrays"], share))
        return {name: np.concatenate([part[name] for part in mine]) for name in manifest["arrays"]}


def _read_part(path: Path, wanted: dict[str, int], names: list[str], share: slice) -> dict[str, np.ndarray]:
    """Check a file, and return rows of its arrays: from ``share.start`` to ``share.stop``, in ``share.step``-ths."""
    try:
        size, crc = 0, 0
        with open(path, "rb") as file:
            while block := file.read(BLOCK):
                crc, size = zlib.crc32(block, crc), size + len(block)
            if (size, crc) != (wanted["size"], wanted["crc"]):
                raise DataError(
                    f"{path}: size or checksum differs from its manifest's: the file was cut short or changed"
                )
            file.seek(0)
            return {name: _slice_of_array(file, share) for name in names}
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror}") from error


def _slice_of_array(file: BinaryIO, share: slice) -> np.ndarray:
    """Return rows of a one-dimensional array in NumPy's format, as in :func:`_read_part`, and go to the array's end."""
    np.lib.format.read_magic(file)
    (size,), _, dtype = np.lib.format.read_array_header_1_0(file)
    low, high, begin = size * share.start // share.step, size * share.stop // share.step, file.tell()
    file.seek(begin + low * dtype.itemsize)
    values = np.fromfile(file, dtype, high - low)
    file.seek(begin + size * dtype.itemsize)
    return values
