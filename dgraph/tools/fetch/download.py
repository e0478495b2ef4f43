"""Downloads with resumption by HTTP range requests (RFC 9110, section 14); pooch verifies and unpacks."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from dgraph.errors import DataError, OutputError, UsageError
from dgraph.tools.fetch.datasets import Dataset

BLOCK = 1 << 18
PATIENCE = 60
"""Seconds without data after which a transfer counts as interrupted."""

TRIES = 5
"""Number of attempts."""

PAUSE = 1.0
"""Seconds before the second attempt; each further pause is twice as long."""

NOTHING_LEFT = 416
"""HTTP status for a range that starts at the end of the file."""


def fetch(dataset: Dataset, folder: Path, show: Callable[[str], None] = lambda text: None) -> Path:
    """Download a data set into ``folder`` if it is not there, and return its path.

    Args:
        dataset: its source.
        folder: created if missing.
        show: receives lines for the user.

    Raises:
        UsageError: pooch is not installed.
        DataError: the checksum differs, or the archive lacks its member; the download is not kept.
        OutputError: it cannot be reached or written; a partial download is kept for the next attempt.
    """
    try:
        import pooch
    except ImportError as missing:
        raise UsageError("fetch needs pooch: pip install 'dgraph-analytics[fetch]'") from missing
    path = folder / dataset.file
    if path.exists():
        show(f"{path} is here already")
        return path
    logging.getLogger("pooch").setLevel("ERROR")
    archive = dataset.url.rpartition("/")[2] if dataset.member else dataset.file
    part = folder / f"{archive}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pooch.retrieve(
            dataset.url, dataset.checksum, archive, folder,
            downloader=lambda url, path, _: _transfer(url, path, part, show),
            processor=None if dataset.member is None else _extractor(pooch, dataset.member, path),
        )  # fmt: skip
        show(f"{archive}: sha256:{pooch.file_hash(str(folder / archive))}")
        if dataset.member is not None:
            (folder / archive).unlink()
    except ValueError as wrong:  # pooch raises it for a wrong checksum
        part.unlink(missing_ok=True)
        raise DataError(f"{dataset.url}: {wrong}; the file changed on its server, or on the way: try again") from wrong
    except OSError as failed:
        raise OutputError(
            f"{dataset.url} → {path}: {failed.strerror or failed}; try again, it goes on there"
        ) from failed
    return path


def _extractor(pooch: Any, member: str, path: Path) -> Callable:
    """Make a pooch processor that extracts one member of a tar archive to ``path``."""

    def process(archive: str, action: str, _) -> str:
        place = f"{archive}.untar"
        unpacked = pooch.Untar(members=[member], extract_dir=place)(archive, action, None)
        if not unpacked or not os.path.isfile(unpacked[0]):
            raise DataError(f"{archive} has no {member} in it; see the data set's page")
        os.replace(unpacked[0], path)
        for root, folders, _files in os.walk(place, topdown=False):
            for folder in folders:
                os.rmdir(os.path.join(root, folder))
        os.rmdir(place)
        return str(path)

    return process


def _transfer(url: str, path: str, part: Path, show: Callable[[str], None]) -> None:
    """Download ``url`` into ``part`` and rename it to ``path``; ``part`` is kept if all attempts fail."""
    for turn in range(TRIES):
        try:
            _resume(url, part, show)
            os.replace(part, path)
            _tag(part).unlink(missing_ok=True)
            return
        except (URLError, TimeoutError, ConnectionError, EOFError) as broken:
            if isinstance(broken, HTTPError) and broken.code < 500:
                raise OSError(f"the server answers {broken.code} {broken.reason}") from broken
            if turn == TRIES - 1:
                raise OSError(f"broke off {TRIES} times, last: {broken}") from broken
            size = part.stat().st_size if part.exists() else 0
            show(f"broke off after {size / 1e6:,.1f} MB ({broken}); going on")
            time.sleep(PAUSE * 2**turn)


def _resume(url: str, part: Path, show: Callable[[str], None]) -> None:
    """Append the missing bytes to ``part``; restart if the file on the server has changed.

    Raises:
        EOFError: the server sent less than it announced.
    """
    have = part.stat().st_size if part.exists() else 0
    tag = json.loads(_tag(part).read_text()) if have and _tag(part).exists() else None
    headers = {"User-Agent": "dgraph"}
    if have and tag:
        headers |= {"Range": f"bytes={have}-", "If-Range": tag}
    try:
        answer = urlopen(Request(url, headers=headers), timeout=PATIENCE)
    except HTTPError as refused:
        if refused.code == NOTHING_LEFT:
            return
        raise
    with answer:
        resumed = answer.status == 206
        mark = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
        if mark and not mark.startswith("W/"):
            _tag(part).write_text(json.dumps(mark))
        else:
            _tag(part).unlink(missing_ok=True)
        have = have if resumed else 0
        length = answer.headers.get("Content-Length")
        whole = have + int(length) if length else None
        with open(part, "ab" if resumed else "wb") as file:
            last = time.monotonic()
            while block := answer.read(BLOCK):
                file.write(block)
                have += len(block)
                if time.monotonic() - last > 5:
                    last = time.monotonic()
                    show(f"{have / 1e6:,.0f} MB" + (f" of {whole / 1e6:,.0f}" if whole else ""))
        if whole is not None and have < whole:
            raise EOFError(f"{have:,} of {whole:,} bytes came")


def _tag(part: Path) -> Path:
    """Return the file that stores the server's ETag or date of the partial download, sent as If-Range."""
    return part.with_name(f"{part.name}.tag")
