"""Write a store: into a folder beside the final one, renamed when everything in it is on the disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any
from zlib import crc32

import numpy as np

from partitioning.arrays.crc32 import crc32_of
from partitioning.store.manifest import ALIGN, MANIFEST, StoreError, checksum, digits, written

STEP = 1 << 26
"""Bytes written at a time."""


class ArrayFile:
    """One file of a draft: arrays one after the other. Its ``entry`` goes into the manifest."""

    def __init__(self, path: Path, threads: int = 1):
        self._file, self._threads = path.open("xb"), threads
        self.entry: dict[str, Any] = {"bytes": 0, "arrays": {}}

    def add(self, name: str, values: np.ndarray, cuts: Sequence[int] | np.ndarray = ()) -> None:
        """Append a 1-D array; ``cuts`` (ascending, inner ones only) divide it into blocks."""
        values = np.ascontiguousarray(values)
        values = values.astype(values.dtype.newbyteorder("<"), copy=False)
        cuts = [0, *(int(cut) for cut in cuts), values.size]
        position, raw = self._file.tell(), values.view(np.uint8).data
        padding = bytes(-raw.nbytes % ALIGN)
        blocks = [raw[low * values.itemsize : high * values.itemsize] for low, high in pairwise(cuts)]
        with ThreadPoolExecutor(1) as beside:
            summed = beside.submit(crc32_of, blocks, self._threads)
            for start in range(0, raw.nbytes, STEP):
                self._file.write(raw[start : start + STEP])
            self._file.write(padding)
            sums = summed.result()
        sums[-1] = crc32(padding, sums[-1])
        self.entry["arrays"][name] = {
            "at": position, "dtype": values.dtype.str, "length": values.size, "cuts": cuts,
            "crc32": [digits(checksum) for checksum in sums],
        }  # fmt: skip
        self.entry["bytes"] = self._file.tell()

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
        finally:
            self._file.close()


class StoreDraft:
    """Folder that becomes ``path``: created by one process, filled by many, finished by the first."""

    def __init__(self, path: Path, folder: Path):
        self.path, self.folder = path, folder

    @staticmethod
    def check(path: Path, overwrite: bool = False) -> None:
        """Raise early what :meth:`begin` would raise.

        Raises:
            StoreError: ``path`` exists and may not be replaced or is not a store; or its parent folder does not exist.
        """
        if not path.absolute().parent.is_dir():
            raise StoreError(f"{path} cannot be written: there is no folder {path.absolute().parent}; make it first")
        if not path.exists() and not path.is_symlink():
            return
        if not overwrite:
            raise StoreError(f"{path} exists; choose another name, remove it, or have it overwritten (--overwrite)")
        if not (path / MANIFEST).is_file():
            raise StoreError(f"{path} is not a store, so it is not overwritten; choose another name, or remove it")

    @classmethod
    def begin(cls, path: Path, overwrite: bool = False) -> StoreDraft:
        """Create the folder; called by one process.

        Raises:
            StoreError: as :meth:`check` does.
            OSError: the system refused.
        """
        path = path.absolute()
        cls.check(path, overwrite)
        folder = path.with_name(f".{path.name}.{os.getpid()}.part")
        folder.mkdir()
        return cls(path, folder)

    def file(self, name: str, threads: int = 1) -> ArrayFile:
        """Create a file that only this process writes; close it (``with``) to have it on the disk.

        Args:
            name: of the file.
            threads: threads that compute checksums.
        """
        return ArrayFile(self.folder / name, threads)

    def share(self, name: str, first: int, values: np.ndarray) -> dict[str, Any]:
        """Write a slice, from element ``first`` on, of an array that many processes write into a file of its own.

        Returns:
            The description of the slice, for :meth:`joined`.
        """
        values = values.astype(values.dtype.newbyteorder("<"), copy=False)
        raw = np.ascontiguousarray(values).view(np.uint8).data
        descriptor = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            offset, rest = first * values.itemsize, raw
            while rest.nbytes:
                done = os.pwrite(descriptor, rest[:STEP], offset)
                rest, offset = rest[done:], offset + done
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return {"first": first, "length": values.size, "dtype": values.dtype.str, "crc32": checksum(raw)}

    @staticmethod
    def joined(slices: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return the manifest's entry of a shared array from all its slices, in order."""
        cuts = [piece["first"] for piece in slices] + [sum(piece["length"] for piece in slices)]
        entry = {"at": 0, "dtype": slices[0]["dtype"], "length": cuts[-1], "cuts": cuts}
        array = entry | {"crc32": [piece["crc32"] for piece in slices]}
        return {"bytes": cuts[-1] * np.dtype(slices[0]["dtype"]).itemsize, "arrays": {"values": array}}

    def finish(self, manifest: dict[str, Any], overwrite: bool = False) -> None:
        """Write the manifest and rename the folder; called by one process, after all files are closed."""
        with (self.folder / MANIFEST).open("xb") as file:
            file.write(written(manifest))
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(self.folder)
        self.check(self.path, overwrite)
        old = self.path.with_name(f".{self.path.name}.{os.getpid()}.old")
        replaced = self.path.exists()
        if replaced:
            os.rename(self.path, old)
        os.rename(self.folder, self.path)
        _sync_folder(self.path.parent)
        if replaced:
            shutil.rmtree(old, ignore_errors=True)

    def abandon(self) -> None:
        """Remove the folder, if it exists."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
