"""Resident service: an open loop of queries, Arrow results, cancelled jobs, and a killed rank.

The service is a process of its own, as ``python -m dgraph serve`` starts it, with a state folder that is made for the
run. The client is one process that speaks HTTP/1.1 over the service's Unix socket.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import record

LIBRARIES = ("fastapi", "uvicorn", "uvloop", "pyarrow", "mpi4py")
GRAPH, RATE, CONNECTIONS, SECONDS = "rmat:14", 300, 32, 20
ROWS_SCALE = 10_000_000
CANCELLED = 1000


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
        self.process.wait(30)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

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
        raise SystemExit(f"the service is not ready:\n{(self.folder / 'log').read_text()[-4000:]}")

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
            raise SystemExit(f"{source} was not loaded: {answer}")
        return answer

    def resident(self) -> int:
        """Return the resident bytes of the service's processes."""
        pids, found = [self.process.pid], 0
        for pid in pids:
            try:
                pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
                found += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            except OSError:
                continue
        return found

    def files(self) -> int:
        """Return the number of files under the state folder."""
        return sum(1 for each in self.state.rglob("*") if each.is_file())

    def processes(self) -> list[int]:
        """Return the pids of the service's processes, the front first."""
        pids = [self.process.pid]
        for pid in pids:
            try:
                pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            except OSError:
                continue
        return pids


def sources(count: int) -> list[int]:
    """Return vertices with out-edges of the graph, drawn at random."""
    import dgraph

    degrees = dgraph.Graph.load(GRAPH)
    edges = degrees.to_scipy() if hasattr(degrees, "to_scipy") else None
    if edges is not None:
        ids = np.flatnonzero(np.diff(edges.indptr))
    else:
        rows = dgraph.run("kcore", degrees).gather()
        ids = rows["vertex"][rows["core_number"] > 0]
    return random.Random(1).choices(ids.tolist(), k=count)


async def open_loop(service: Service, starts: list[int]) -> dict:
    """Send queries at fixed times over several connections; return latencies from the time each was due."""
    due, latencies, failures = asyncio.Queue(), [], []
    began = time.perf_counter() + 0.5

    async def connection():
        link = Connection(service.socket)
        while True:
            number, source = await due.get()
            if number < 0:
                return
            wanted = {"graph": "g", "algorithm": "bfs", "parameters": {"source": source}, "cache": False}
            status, answer = await link.request("POST", "/v1/jobs?wait=5&top=10", wanted)
            latencies.append(time.perf_counter() - began - number / RATE)
            if status != 200 or answer["state"] != "done":
                failures.append((status, answer))

    workers = [asyncio.create_task(connection()) for _ in range(CONNECTIONS)]
    for number, source in enumerate(starts):
        await asyncio.sleep(max(began + number / RATE - time.perf_counter(), 0))
        due.put_nowait((number, source))
    for _ in workers:
        due.put_nowait((-1, 0))
    await asyncio.gather(*workers)
    ordered = sorted(latencies)

    def at(share: float) -> float:
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]

    return {
        "rate": RATE, "connections": CONNECTIONS, "queries": len(latencies), "failures": len(failures),
        "first failure": failures[:1], "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "most": ordered[-1],
        "achieved": len(latencies) / (time.perf_counter() - began),
    }  # fmt: skip


async def arrow(service: Service, repeat: int) -> dict:
    """Fetch all rows of a result as Arrow: seconds and bytes from the request to the last byte."""
    side = int(ROWS_SCALE**0.5) + 1
    await service.load("rows", f"grid:{side}x{side}")
    link = Connection(service.socket)
    job = {"graph": "rows", "algorithm": "cc", "parameters": {}}
    status, answer = await link.request("POST", "/v1/jobs?wait=60", job)
    while answer["state"] in ("queued", "running"):
        status, answer = await link.request("GET", f"/v1/jobs/{answer['id']}")
        await asyncio.sleep(0.1)
    seconds, size = [], 0
    for _ in range(repeat):
        began = time.perf_counter()
        status, size = await link.request("GET", f"/v1/jobs/{answer['id']}/result?format=arrow", keep=False)
        seconds.append(time.perf_counter() - began)
        if status != 200:
            raise SystemExit(f"the result was refused: {status}")
    await link.request("DELETE", "/v1/graphs/rows")
    return {"rows": side * side, "bytes": size, "seconds": seconds}


async def cancelled(service: Service) -> dict:
    """Cancel half of many long jobs, and let the others meet their time limit."""
    link = Connection(service.socket)
    long = {"graph": "g", "algorithm": "pagerank", "parameters": {"tol": 0.0, "max_iter": 10**9}, "cache": False}
    states: dict[str, int] = {}
    marks = {}
    began = time.perf_counter()
    for number in range(CANCELLED):
        limit = 0.02 if number % 2 else None
        status, answer = await link.request("POST", "/v1/jobs", long | ({"timeout_s": limit} if limit else {}))
        if status != 202:
            raise SystemExit(f"a job was refused: {status} {answer}")
        where = f"/v1/jobs/{answer['id']}"
        if not limit:
            await asyncio.sleep(0.01)
            await link.request("DELETE", where)
        while answer["state"] in ("queued", "running"):
            await asyncio.sleep(0.002)
            status, answer = await link.request("GET", where)
        states[answer["state"]] = states.get(answer["state"], 0) + 1
        if number in (99, CANCELLED - 1):
            marks[number + 1] = {
                "resident": service.resident(), "files": service.files(), "processes": len(service.processes())
            }  # fmt: skip
    return {"jobs": CANCELLED, "states": states, "after": marks, "seconds": time.perf_counter() - began}


async def killed(service: Service) -> dict:
    """Kill a rank by SIGKILL while jobs wait; measure the time to 503 and to the next answer."""
    link = Connection(service.socket)
    long = {"graph": "g", "algorithm": "pagerank", "parameters": {"tol": 0.0, "max_iter": 10**9}, "cache": False}
    _, running = await link.request("POST", "/v1/jobs", long)
    short = {"graph": "g", "algorithm": "bfs", "parameters": {"source": 1}, "cache": False}
    waiting = [(await link.request("POST", "/v1/jobs", short))[1]["id"] for _ in range(5)]
    await asyncio.sleep(0.5)
    began = time.perf_counter()
    os.kill(service.processes()[-1], signal.SIGKILL)
    refused = None
    while True:
        status, _ = await Connection(service.socket).request("GET", "/readyz", keep=False)
        if status == 503 and refused is None:
            refused = time.perf_counter() - began
        if status == 200 and refused is not None:
            break
        await asyncio.sleep(0.005)
    again = time.perf_counter() - began
    states = []
    for job in waiting:
        while (answer := (await link.request("GET", f"/v1/jobs/{job}"))[1])["state"] in ("queued", "running"):
            await asyncio.sleep(0.01)
        states.append(answer["state"])
    _, failed = await link.request("GET", f"/v1/jobs/{running['id']}")
    return {
        "503 after": refused, "ready after": again, "queue done after": time.perf_counter() - began,
        "waiting jobs": states, "running job": failed["state"], "reason": str(failed.get("error"))[:300],
    }  # fmt: skip


def measure(repeat: int, folder: Path) -> None:
    """Run all four parts, and write ``service.json`` and ``service.md``."""
    document: dict = {"circumstances": record.circumstances(LIBRARIES), "repeat": repeat}
    starts = sources(RATE * SECONDS)

    async def parts(service: Service) -> None:
        await service.load("g", GRAPH)
        await open_loop(service, starts[: RATE * 2])  # compiled, warm
        document["open loop"] = []
        for _ in range(repeat):
            document["open loop"].append(await open_loop(service, starts))
            print(document["open loop"][-1], flush=True)
        document["cancelled"] = await cancelled(service)
        print(document["cancelled"], flush=True)
        document["killed"] = await killed(service)
        print(document["killed"], flush=True)
        document["arrow"] = await arrow(service, max(repeat, 3))
        print(document["arrow"], flush=True)

    with Service(1) as service:
        asyncio.run(parts(service))
    record.write(folder, "service", document, _table(document))


def _table(document: dict) -> str:
    loops, rows, ended, death = (document[name] for name in ("open loop", "arrow", "cancelled", "killed"))
    lines = [
        f"{RATE} bfs queries a second on {GRAPH}, top 10 of each, {CONNECTIONS} connections, no result cache\n",
        "| run | p50 ms | p90 ms | p99 ms | most ms | queries | failures |",
        "|-|-|-|-|-|-|-|",
    ]
    for number, run in enumerate(loops, 1):
        times = " | ".join(f"{1e3 * run[name]:.1f}" for name in ("p50", "p90", "p99", "most"))
        lines.append(f"| {number} | {times} | {run['queries']:,} | {run['failures']} |")
    seconds = statistics.median(rows["seconds"])
    lines += ["", f"Arrow: {rows['rows']:,} rows, {rows['bytes'] / 1e6:,.0f} MB, in {seconds:.3f} s", ""]
    lines[-2] += f": **{rows['bytes'] / seconds / 1e9:.2f} GB/s** (median of {len(rows['seconds'])})"
    lines += [
        f"{ended['jobs']:,} jobs ended early: {ended['states']}",
        "",
        "| after | resident MB | files | processes |",
    ]
    lines.append("|-|-|-|-|")
    for count, mark in ended["after"].items():
        lines.append(f"| {count} jobs | {mark['resident'] / 1e6:.1f} | {mark['files']} | {mark['processes']} |")
    lines += [
        "",
        f"A rank killed: 503 after {death['503 after']:.2f} s, ready after {death['ready after']:.2f} s, the queue of "
        f"{len(death['waiting jobs'])} done after {death['queue done after']:.2f} s; the running job: "
        f"{death['running job']} ({death['reason']})",
    ]
    return "\n".join(lines) + "\n"
