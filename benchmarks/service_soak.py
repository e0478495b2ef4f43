"""The resident service under load while its ranks are killed: every answer is compared with an oracle.

Clients send jobs and paths on two graphs; every few seconds a rank that is drawn is killed. An answer is right,
wrong, or a refusal that names a fault (503, 410, a job that failed with its ranks); a job is lost if the history does
not have it afterwards. The oracle is SciPy, on the edges that this process wrote.
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
import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.service_process import Connection, Service

VERTICES, DEGREE, SIDE = 1 << 13, 4, 64
"""Vertices and edges a vertex of the drawn graph; vertices of a side of the grid."""

SOURCES = 16
"""Vertices of each graph from which searches start."""

EVERY_S = (8.0, 16.0)
"""Seconds between two kills, drawn."""

END_S = 120.0
"""Seconds after which an answer, or the end of a job, is missing."""

READY_S = 10.0
"""Seconds beyond the time to load within which the service is ready again."""

PATIENCE_S = 0.1
"""Seconds after which a client that was refused sends its next request."""

REFUSED = (409, 410, 429, 503)
"""Statuses that tell a client to ask again."""


class Oracle:
    """Answers on one graph.

    Args:
        edges: undirected edges, shape (m, 2).
    """

    def __init__(self, edges: np.ndarray, rng: np.random.Generator):
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components, shortest_path

        self.n = int(edges.max()) + 1
        self.sources = rng.choice(self.n, SOURCES, replace=False).tolist()
        matrix = coo_array((np.ones(len(edges), np.int8), edges.T), (self.n, self.n)).tocsr()
        distances = shortest_path(matrix, directed=False, unweighted=True, indices=self.sources)
        self.distances = dict(zip(self.sources, distances, strict=True))
        self.components = connected_components(matrix, directed=False)[0]

    def distance(self, source: int, vertex: int) -> int | None:
        """Return the distance of two vertices; None if there is no path."""
        value = self.distances[source][vertex]
        return int(value) if np.isfinite(value) else None


class Soak:
    """One run: clients, kills and counts."""

    def __init__(self, service: Service, oracles: dict[str, Oracle], seconds: float):
        self.service, self.oracles, self.seconds = service, oracles, seconds
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.accepted: dict[str, str] = {}
        self.again: list[float] = []
        self.until = 0.0

    def wrong(self, what: str) -> None:
        """Count an answer that is not the oracle's."""
        self.counts["wrong"] += 1
        self.faults.append(what[:300])

    async def client(self, seed: int) -> None:
        """Send requests one after the other until the time is over."""
        draw, connection = random.Random(seed), Connection(self.service.socket)
        kinds = (self.waited, self.polled, self.path, self.components)
        while time.monotonic() < self.until:
            name = draw.choice(list(self.oracles))
            oracle = self.oracles[name]
            source, vertex = draw.choice(oracle.sources), draw.randrange(oracle.n)
            try:
                async with asyncio.timeout(END_S):
                    await draw.choice(kinds)(connection, name, source, vertex)
            except TimeoutError:
                self.counts["without an end"] += 1
                connection = Connection(self.service.socket)
            except (OSError, EOFError) as error:
                self.counts["connections lost"] += 1
                self.faults.append(repr(error))
                connection = Connection(self.service.socket)

    async def submit(self, connection: Connection, query: str, name: str, algorithm: str, source: int | None):
        """Submit a job; return its answer, or None if it was refused."""
        body = {"graph": name, "algorithm": algorithm, "cache": False}
        body |= {} if source is None else {"parameters": {"source": source}}
        status, answer = await connection.request("POST", f"/v1/jobs{query}", body)
        if "id" in answer:
            self.accepted[answer["id"]] = name
        return answer if await self.answered(status, answer) else None

    async def answered(self, status: int, answer: dict) -> bool:
        """Return True for an answer to compare; count one that asks for patience, and one that should not be."""
        if status in (200, 202):
            return True
        if status in REFUSED:
            self.counts["refused"] += 1
            await asyncio.sleep(PATIENCE_S)
        else:
            self.wrong(f"{status} {answer}")
        return False

    async def waited(self, connection: Connection, name: str, source: int, vertex: int) -> None:
        """Compare the largest distances of a search that is waited for."""
        answer = await self.submit(connection, "?wait=60&top=3", name, "bfs", source)
        if answer is not None and answer["state"] == "done":
            top = answer["result"]["columns"]
            right = [self.oracles[name].distance(source, v) for v in top["vertex"]] == top["distance"]
            reached = np.isfinite(self.oracles[name].distances[source])
            largest = self.oracles[name].distances[source][reached].max()
            right = right and max(top["distance"]) == largest and answer["summary"]["reached"] == reached.sum()
            self.compared(right, f"bfs of {source} on {name}: {answer['result']}")

    async def polled(self, connection: Connection, name: str, source: int, vertex: int) -> None:
        """Compare all distances of a search that is queued, polled and fetched."""
        answer = await self.submit(connection, "", name, "bfs", source)
        if answer is None:
            return
        id = answer["id"]
        while answer["state"] in ("queued", "running"):
            await asyncio.sleep(0.02)
            status, answer = await connection.request("GET", f"/v1/jobs/{id}")
            if status != 200:
                self.counts["lost"] += 1
                return self.faults.append(f"{status} {answer}"[:300])
        if answer["state"] != "done":
            self.counts["failed with the ranks"] += answer["error"]["kind"] == "RanksDied"
            if answer["error"]["kind"] != "RanksDied":
                self.wrong(str(answer["error"]))
            return
        status, rows = await connection.request("GET", f"/v1/jobs/{id}/result")
        if await self.answered(status, rows):
            distances = np.array([np.inf if distance is None else distance for distance in rows["columns"]["distance"]])
            order = np.array(rows["columns"]["vertex"])
            right = distances.size == self.oracles[name].n and np.array_equal(
                distances, self.oracles[name].distances[source][order]
            )
            self.compared(bool(right), f"rows of bfs of {source} on {name}")

    async def path(self, connection: Connection, name: str, source: int, vertex: int) -> None:
        """Compare the length of a path."""
        body = {"source": source, "target": vertex}
        status, answer = await connection.request("POST", f"/v1/graphs/{name}/path", body)
        if await self.answered(status, answer):
            length = self.oracles[name].distance(source, vertex)
            right = answer["length"] == length and len(answer["vertices"]) == (0 if length is None else length + 1)
            self.compared(right, f"path {source} to {vertex} on {name}: {answer}")

    async def components(self, connection: Connection, name: str, source: int, vertex: int) -> None:
        """Compare the number of components."""
        answer = await self.submit(connection, "?wait=60&top=1", name, "cc", None)
        if answer is not None and answer["state"] == "done":
            right = self.oracles[name].components in answer["summary"].values()
            self.compared(right, f"cc on {name}: {answer['summary']}")

    def compared(self, right: bool, what: str) -> None:
        """Count an answer."""
        if right:
            self.counts["right"] += 1
        else:
            self.wrong(what)

    async def killer(self, seed: int) -> None:
        """Kill a rank again and again, and measure when the service is ready again."""
        draw = random.Random(seed)
        while True:
            await asyncio.sleep(draw.uniform(*EVERY_S))
            if time.monotonic() > self.until - 1:
                return
            os.kill(draw.choice(self.ranks()), signal.SIGKILL)
            began = time.monotonic()
            self.counts["kills"] += 1
            await asyncio.sleep(0.2)  # the front takes note
            while not await self.ready():
                await asyncio.sleep(0.05)
            self.again.append(time.monotonic() - began)

    def ranks(self) -> list[int]:
        """Return the pids of the ranks."""
        words = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in self.service.processes()[1:]}
        return [pid for pid, argv in words.items() if b"mpiexec" not in argv[0] + argv[1] and b"--front" in argv]

    async def ready(self) -> bool:
        """Return True if the ranks are up and all graphs are open."""
        connection = Connection(self.service.socket)
        status, _ = await connection.request("GET", "/readyz")
        _, answer = await connection.request("GET", "/v1/graphs")
        return status == 200 and all(graph["state"] == "ready" for graph in answer["graphs"])

    async def run(self, clients: int) -> dict:
        """Load the graphs, run clients and kills, and check every job afterwards; return the figures."""
        began = time.monotonic()
        for name in self.oracles:
            await self.service.load(name, f"{name}.csv", directed=False)
        load = time.monotonic() - began
        for name, oracle in self.oracles.items():  # programs are compiled before the time counts
            for kind in (self.waited, self.polled, self.path, self.components):
                await kind(Connection(self.service.socket), name, oracle.sources[0], 1)
        self.until = time.monotonic() + self.seconds
        killing = asyncio.ensure_future(self.killer(1))
        await asyncio.gather(*map(self.client, range(clients)))
        await killing
        connection = Connection(self.service.socket)
        end = time.monotonic() + END_S
        for id in self.accepted:
            status, answer = await connection.request("GET", f"/v1/jobs/{id}")
            while status == 200 and answer["state"] in ("queued", "running") and time.monotonic() < end:
                await asyncio.sleep(0.05)
                status, answer = await connection.request("GET", f"/v1/jobs/{id}")
            self.counts["lost"] += status != 200
            self.counts["without an end"] += status == 200 and answer["state"] in ("queued", "running")
        counts = {name: self.counts[name] for name in COUNTED}
        again = {"median": statistics.median(self.again), "most": max(self.again)} if self.again else {}
        return {
            "seconds": self.seconds, "clients": clients, "jobs": len(self.accepted), "counts": counts,
            "load_s": round(load, 3), "ready_again_s": {name: round(value, 3) for name, value in again.items()},
            "ready_in_time": all(value <= READY_S + load for value in self.again), "faults": self.faults[:20],
        }  # fmt: skip


COUNTED = ("right", "wrong", "lost", "without an end", "connections lost", "refused", "failed with the ranks", "kills")


def measure(device: str | None, ranks: int, seconds: float, clients: int, folder: Path) -> None:
    """Run the soak, and write ``service-soak.json`` and ``service-soak.md``, or ``service-soak-gpu…``,
    with ``-N-ranks`` for several ranks.

    Args:
        device: "cuda" or "cpu"; None: "cuda" where there is a GPU.
        ranks: of the service.
        seconds: during which clients send requests.
        clients: at the same time.
        folder: of the results.
    """
    device = device or ("cuda" if shutil.which("nvidia-smi") else "cpu")
    where = record.circumstances(("scipy", "fastapi", "uvicorn"))
    if device == "cuda":
        where["gpu"] = subprocess.check_output(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader", "-i", "0"], text=True
        ).strip()
    document: dict = {"circumstances": where, "device": device}
    rng = np.random.default_rng(7)
    drawn = rng.integers(0, VERTICES, (VERTICES * DEGREE // 2, 2))
    lonely = np.setdiff1d(np.arange(VERTICES), drawn)  # ids without an edge are not vertices of a file's graph
    drawn = np.concatenate([drawn, np.stack([lonely, (lonely + 1) % VERTICES], axis=1)])
    cells = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    pairs = (cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])
    grid = np.concatenate([np.stack([one.ravel(), other.ravel()], axis=1) for one, other in pairs])
    with Service(ranks, "--device", device) as service:
        oracles = {}
        for name, edges in (("drawn", drawn), ("grid", grid)):
            np.savetxt(service.folder / "data" / f"{name}.csv", edges, "%d", ",")
            oracles[name] = Oracle(edges, rng)
        figures = asyncio.run(Soak(service, oracles, seconds).run(clients))
    document |= {"ranks": ranks, **figures}
    name = "service-soak" + "-gpu" * (device == "cuda") + f"-{ranks}-ranks" * (ranks > 1)
    record.write(folder, name, document, _table(document))
    bad = [name for name in ("wrong", "lost", "without an end") if figures["counts"][name]]
    if bad or not figures["ready_in_time"]:
        raise SystemExit(f"the soak failed: {bad or 'not ready in time'} {json.dumps(figures['faults'], indent=1)}")


def _table(document: dict) -> str:
    again, load = document["ready_again_s"], document["load_s"]
    rows = [(name, f"{count:,}") for name, count in document["counts"].items()]
    rows.append(("ready again: median, most", f"{again.get('median', 0):.1f} s, {again.get('most', 0):.1f} s"))
    rows.append(("time to load", f"{load:.1f} s"))
    about = (
        f"{document['clients']} clients for {document['seconds']:g} s on two graphs, {document['ranks']} ranks, "
        f"{document['device']}; a rank is killed every 8 to 16 s; {document['jobs']:,} jobs."
    )
    return "\n".join([about, "", "| answers | |", "|-|-|", *(f"| {name} | {value} |" for name, value in rows), ""])
