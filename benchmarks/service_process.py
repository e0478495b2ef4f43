"""The service as a process of its own, and a client of it, for benchmarks.

The service is started as ``python -m dgraph serve`` does, with folders that are made for the run. The client speaks
HTTP/1.1 over its Unix socket, without a library, so that the client's time is small.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path


class Connection:
    """One HTTP/1.1 connection over a Unix socket, one request at a time."""

    def __init__(self, path: Path):
        self.path = path
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def request(self, method: str, target: str, body: dict | None = None, keep: bool = True):
        """Return status and body: decoded JSON, or with ``keep`` False the number of bytes of it."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_unix_connection(str(self.path), limit=1 << 24)
        text = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text)}\r\n"
        self.writer.write(head.encode() + b"Content-Type: application/json\r\n\r\n" + text)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        status = int(lines[0].split()[1])
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}
        parts, count = [], 0
        async for part in self._body(headers):
            count += len(part)
            if keep:
                parts.append(part)
        return status, (json.loads(b"".join(parts) or b"null") if keep else count)

    async def _body(self, headers: dict[str, str]):
        if headers.get("transfer-encoding") == "chunked":
            while size := int(await self.reader.readline(), 16):
                yield await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readline()
            return
        remaining = int(headers.get("content-length", 0))
        while remaining:
            part = await self.reader.read(min(remaining, 1 << 22))
            if not part:
                raise ConnectionError(f"{remaining} bytes are missing")
            remaining -= len(part)
            yield part


class Service:
    """A service of one or more ranks, with its folders; a context manager."""

    def __init__(self, ranks: int = 1, *more: str):
        self.folder = Path(tempfile.mkdtemp(prefix="dgraph-bench-"))
        self.state, self.socket = self.folder / "state", self.folder / "s.sock"
        (self.folder / "data").mkdir()
        argv = [sys.executable, "-m", "dgraph", "serve", "--ranks", str(ranks), "--state-dir", str(self.state)]
        argv += ["--socket", str(self.socket), "--data-root", str(self.folder / "data"), *more]
        self.log = (self.folder / "log").open("wb")
        self.process = subprocess.Popen(argv, stdout=self.log, stderr=self.log)

    def __enter__(self) -> Service:
        asyncio.run(self._ready(120))
        return self

    def __exit__(self, *_) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:  # its ranks end with it
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def stacks(self) -> str:
        """Return where the threads of the ranks stand, and the ends of the logs."""
        for pid in self.processes()[1:]:
            with suppress(OSError):
                os.kill(pid, signal.SIGUSR1)
        time.sleep(1)
        return "\n".join(
            file.read_text(errors="replace")[-4000:] for file in (self.state / "ranks.log", self.folder / "log")
        )

    async def _ready(self, patience: float) -> None:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                status, _ = await Connection(self.socket).request("GET", "/readyz", keep=False)
                if status == 200:
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            await asyncio.sleep(0.05)
        raise RuntimeError(f"the service is not ready:\n{(self.folder / 'log').read_text()[-4000:]}")

    async def load(self, name: str, source: str, **options) -> dict:
        """Load a graph and wait until it is ready."""
        connection = Connection(self.socket)
        status, answer = await connection.request(
            "POST", "/v1/graphs", {"name": name, "source": source, "options": options}
        )
        while status in (200, 202) and answer["state"] == "loading":
            await asyncio.sleep(0.05)
            status, answer = await connection.request("GET", f"/v1/graphs/{name}")
        if answer.get("state") != "ready":
            raise RuntimeError(f"{source} was not loaded: {answer}")
        return answer

    async def memory(self) -> dict[str, int]:
        """Return bytes: of the processes on the host, of the GPU as the service and as its driver see it; and files."""
        _, answer = await Connection(self.socket).request("GET", "/v1/memory")
        used = sum(rank["device_used"] or 0 for rank in answer["by_rank"])
        return {"host": self.resident(), "service": used, "gpu": gpu_used(), "files": self.files()}

    def resident(self) -> int:
        """Return the resident bytes of the service's processes."""
        pids, pages = [self.process.pid], 0
        for pid in pids:
            try:
                pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            except OSError:
                continue
        return pages

    def files(self) -> int:
        """Return the number of files under the state folder."""
        return sum(1 for file in self.state.rglob("*") if file.is_file())

    def cpu_seconds(self) -> list[float]:
        """Return the CPU time of the service's processes, the front first."""
        words = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self.processes()]
        return [(int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") for fields in words]

    def processes(self) -> list[int]:
        """Return the pids of the service's processes, the front first."""
        pids = [self.process.pid]
        for pid in pids:
            try:
                pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            except OSError:
                continue
        return pids


def gpu_used() -> int:
    """Return the bytes that all processes use on the first GPU; 0 where there is none."""
    ask = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        return int(subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()[0]) << 20
    except (OSError, subprocess.CalledProcessError):
        return 0
