"""Read a store: arrays as memory maps, verified block by block."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from partitioning.arrays.crc32 import crc32_of
from partitioning.store.manifest import ALIGN, StoreError, digits, read


class Store:
    """Store opened in this process.

    Attributes:
        path: its folder.
        manifest: contents of its manifest.
        verify: True if blocks are checked before their first use.
        threads: threads that check them.
    """

    def __init__(self, path: Path, manifest: dict[str, Any], verify: bool = True, threads: int = 1):
        self.path, self.manifest, self.verify, self.threads = path, manifest, verify, threads
        self._map = cache(self._mapped)
        self._good: set[tuple[str, str, int]] = set()

    @classmethod
    def open(cls, path: str | os.PathLike, verify: bool = True, threads: int = 1) -> Store:
        """Read the manifest; files are opened when their arrays are first used.

        Raises:
            StoreError: see :func:`partitioning.store.manifest.read`.
        """
        return cls(Path(path), read(Path(path)), verify, threads)

    def has(self, file: str, name: str) -> bool:
        """Return True if that file has an array of that name."""
        return name in self.manifest["files"].get(file, {"arrays": {}})["arrays"]

    def length(self, file: str, name: str) -> int:
        """Return the number of entries of an array."""
        return self.manifest["files"][file]["arrays"][name]["length"]

    def array(self, file: str, name: str, blocks: Iterable[int] | None = None) -> np.ndarray:
        """Map an array, copy-on-write: pages are read when touched, and changes stay in this process.

        Args:
            file: name of the file.
            name: name of the array.
            blocks: blocks that will be used, and are verified; None: all.

        Raises:
            StoreError: the file is missing or of the wrong size, or a block is not as it was written.
        """
        entry, mapped = self.manifest["files"][file]["arrays"][name], self._map(file)
        self.check(file, [name], blocks)
        if not entry["length"]:
            return np.empty(0, entry["dtype"])
        values = np.frombuffer(mapped, np.dtype(entry["dtype"]), entry["length"], entry["at"])
        return values.astype(values.dtype.newbyteorder("="), copy=False)

    def blocks(self, file: str, name: str, low: int, high: int) -> range:
        """Return the blocks that contain entries ``low .. high - 1`` of an array."""
        cuts = self.manifest["files"][file]["arrays"][name]["cuts"]
        first = int(np.searchsorted(cuts, low, side="right")) - 1
        return range(min(first, len(cuts) - 2), max(first, int(np.searchsorted(cuts, high, side="left"))))

    def check(self, file: str, names: Iterable[str], blocks: Iterable[int] | None = None) -> None:
        """Verify blocks of arrays, all at once: ``blocks`` of each, or all of them; where they were not before.

        Raises:
            StoreError: as :meth:`array`.
        """
        if not self.verify:
            return
        arrays, mapped = self.manifest["files"][file]["arrays"], memoryview(self._map(file))
        unchecked = [
            (name, block)
            for name in names
            for block in (range(len(arrays[name]["crc32"])) if blocks is None else blocks)
            if (file, name, block) not in self._good
        ]
        spans = [self._span(file, name, block) for name, block in unchecked]
        sums = crc32_of([mapped[low:high] for low, high in spans], self.threads)
        for (name, block), (low, high), checksum in zip(unchecked, spans, map(digits, sums), strict=True):
            written = arrays[name]["crc32"][block]
            if checksum != written:
                raise StoreError(
                    f"{self.path / file}: block {name}[{block}] (bytes {low} .. {high - 1}) is not what was written: "
                    f"its checksum is {checksum}, the manifest has {written}; write the store again, or copy it anew"
                )
            self._good.add((file, name, block))

    def _span(self, file: str, name: str, block: int) -> tuple[int, int]:
        """Return the first byte of a block and the one behind it; the last block has the padding, too."""
        entry = self.manifest["files"][file]["arrays"][name]
        item, cuts = np.dtype(entry["dtype"]).itemsize, entry["cuts"]
        low, high = (entry["at"] + item * cut for cut in cuts[block : block + 2])
        if block == len(cuts) - 2:
            high = min(high + -(high - entry["at"]) % ALIGN, self.manifest["files"][file]["bytes"])
        return low, high

    def _mapped(self, file: str) -> mmap.mmap | bytes:
        path, size = self.path / file, self.manifest["files"][file]["bytes"]
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            raise StoreError(f"{path} is missing; copy it to where it was, or write the store again") from None
        try:
            length = os.fstat(descriptor).st_size
            if length != size:
                raise StoreError(
                    f"{path} has {length} bytes, the manifest says {size}: it was "
                    f"{'truncated' if length < size else 'added to'}; copy it anew, or write the store again"
                )
            return mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY) if size else b""
        finally:
            os.close(descriptor)
