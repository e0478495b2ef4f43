"""Parts of the benchmark of the service: each is a coroutine of a fresh service, and returns its figures."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import statistics
import time
from dataclasses import dataclass

import numpy as np

import dgraph
from benchmarks.service_process import Connection, Service

GRAPH, RATE, CONNECTIONS, SECONDS = "rmat:14", 300, 32, 20
MOST = 5000
"""Queries of the closed loop."""

ENDED = 1000
"""Jobs that are cancelled or meet their time limit."""

QUERIES, TOP = 200, 10
FEW = ("rmat:15", "rmat:15,symmetric", "smallworld:32768", "uniform:15", "rmat:15,seed=3")
"""The five graphs of many jobs: of equal size, so that the latest results, which the ranks hold, take as much memory at
each mark."""

MIX = (
    ("bfs", {"source": 1}), ("sssp", {"source": 1}), ("cc", {}), ("pagerank", {"max_iter": 20}), ("kcore", {}),
)  # fmt: skip
CLIENTS = 4
MARKS = 20, 4, 2, 1
"""Divisors of the number of jobs: memory is read when such a part of them has run."""

RESTED = 7
"""Seconds after which ranks without requests have given back the memory that they do not use."""

ENDLESS = {"graph": "g", "algorithm": "pagerank", "parameters": {"tol": 0.0, "max_iter": 10**9}, "cache": False}


@dataclass(frozen=True)
class Asked:
    """Sizes of the parts.

    Attributes:
        device: "cuda" or "cpu".
        graph: of the round trips.
        side: of the grid whose rows are fetched.
        jobs: most jobs over five graphs; ``minutes``: time after which no more of them begin.
        repeat: open loops, and fetches of rows.
    """

    device: str
    graph: str
    side: int
    jobs: int
    minutes: float
    repeat: int


def sources(graph: dgraph.Graph, count: int) -> list[int]:
    """Return vertices of the largest component, drawn at random."""
    labels = dgraph.cc(graph).gather()
    kinds, sizes = np.unique(labels["labels"], return_counts=True)
    return random.Random(1).choices(labels["vertex"][labels["labels"] == kinds[sizes.argmax()]].tolist(), k=count)


async def loop(service: Service, asked: Asked) -> list[dict]:
    """Send queries at fixed times over several connections; latencies count from the time each was due."""
    starts = sources(dgraph.Graph.load(GRAPH, device="cpu"), RATE * SECONDS)
    await service.load("g", GRAPH)
    await _open_loop(service, starts[: RATE * 2])  # compiled, warm
    return [await _open_loop(service, starts) for _ in range(asked.repeat)]


async def _open_loop(service: Service, starts: list[int]) -> dict:
    due, latencies, failures = asyncio.Queue(), [], []
    began = time.perf_counter() + 0.5

    async def connection():
        link = Connection(service.socket)
        while True:
            number, source = await due.get()
            if number < 0:
                return
            wanted = {"graph": "g", "algorithm": "bfs", "parameters": {"source": source}, "cache": False}
            status, answer = await link.request("POST", f"/v1/jobs?wait=5&top={TOP}", wanted)
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
    return {
        "queries": len(latencies), "failures": len(failures), "first failure": failures[:1],
        "achieved": len(latencies) / (time.perf_counter() - began), "ms": spread(latencies),
    }  # fmt: skip


async def most(service: Service, asked: Asked) -> dict:
    """Send queries over several connections, on each the next one after an answer; measure CPU time, too."""
    starts = sources(dgraph.Graph.load(GRAPH, device="cpu"), MOST)
    await service.load("g", GRAPH)
    await _closed_loop(service, starts[: MOST // 10])  # compiled, warm
    spent, mine, began = service.cpu_seconds(), time.process_time(), time.perf_counter()
    latencies = await _closed_loop(service, starts)
    seconds = time.perf_counter() - began
    used = [after - before for before, after in zip(spent, service.cpu_seconds(), strict=True)]
    used = {"front": used[0], "ranks": sum(used[1:]), "client": time.process_time() - mine}
    return {
        "queries": MOST, "queries a second": MOST / seconds, "ms": spread(latencies),
        "CPU ms": {name: 1e3 * total / MOST for name, total in used.items()},
    }  # fmt: skip


async def _closed_loop(service: Service, starts: list[int]) -> list[float]:
    coming, latencies = iter(starts), []

    async def connection():
        link = Connection(service.socket)
        for source in coming:
            wanted = {"graph": "g", "algorithm": "bfs", "parameters": {"source": source}, "cache": False}
            began = time.perf_counter()
            status, answer = await link.request("POST", f"/v1/jobs?wait=60&top={TOP}", wanted)
            latencies.append(time.perf_counter() - began)
            if status != 200:
                raise RuntimeError(f"bfs was not answered: {status} {str(answer)[:500]}")

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    return latencies


async def trips(service: Service, asked: Asked) -> dict:
    """Compare bfs with its top rows over HTTP with the same call in this process, on a graph that is resident."""
    began = time.perf_counter()
    await service.load("web", asked.graph)
    loaded = time.perf_counter() - began
    graph = dgraph.Graph.load(asked.graph, device=asked.device)
    starts, link, here, there = sources(graph, QUERIES), Connection(service.socket), [], []
    for source in [*starts[:5], *starts]:
        began = time.perf_counter()
        dgraph.bfs(graph, source=source).top(TOP)
        here.append(time.perf_counter() - began)
    for source in [*starts[:5], *starts]:  # not in turns: a GPU takes time to change between processes
        job = {"graph": "web", "algorithm": "bfs", "parameters": {"source": source}, "cache": False}
        began = time.perf_counter()
        status, answer = await link.request("POST", f"/v1/jobs?wait=60&top={TOP}", job)
        there.append(time.perf_counter() - began)
        if status != 200 or len(answer["result"]["columns"]["vertex"]) != TOP:
            raise RuntimeError(f"bfs was not answered: {status} {str(answer)[:500]}")
    graph.close()
    return {
        "graph": asked.graph, "queries": QUERIES, "load seconds": loaded, "first job seconds": there[0],
        "in process ms": spread(here[5:]), "HTTP ms": spread(there[5:]),
    }  # fmt: skip


async def arrow(service: Service, asked: Asked) -> dict:
    """Fetch all rows of a result as Arrow: seconds and bytes from the request to the last byte."""
    await service.load("rows", f"grid:{asked.side}x{asked.side}")
    link = Connection(service.socket)
    job = {"graph": "rows", "algorithm": "pagerank", "parameters": {"max_iter": 3}}
    status, answer = await link.request("POST", "/v1/jobs", job)
    while answer["state"] in ("queued", "running"):
        status, answer = await link.request("GET", f"/v1/jobs/{answer['id']}")
        await asyncio.sleep(0.05)
    seconds, size = [], 0
    for _ in range(max(asked.repeat, 3)):
        began = time.perf_counter()
        status, size = await link.request("GET", f"/v1/jobs/{answer['id']}/result?format=arrow", keep=False)
        seconds.append(time.perf_counter() - began)
        if status != 200:
            raise RuntimeError(f"the result was refused: {status}; the job: {str(answer)[:500]}")
    return {"rows": asked.side**2, "bytes": size, "seconds": seconds, "GB/s": size / statistics.median(seconds) / 1e9}


async def cancelled(service: Service, asked: Asked) -> dict:
    """Cancel half of many long jobs, and let the others meet their time limit."""
    await service.load("g", GRAPH)
    link = Connection(service.socket)
    states: dict[str, int] = {}
    marks = {}
    for number in range(ENDED):
        limit = 0.02 if number % 2 else None
        status, answer = await link.request("POST", "/v1/jobs", ENDLESS | ({"timeout_s": limit} if limit else {}))
        if status != 202:
            raise RuntimeError(f"a job was refused: {status} {answer}")
        where = f"/v1/jobs/{answer['id']}"
        if not limit:
            await asyncio.sleep(0.01)
            await link.request("DELETE", where)
        while answer["state"] in ("queued", "running"):
            await asyncio.sleep(0.002)
            status, answer = await link.request("GET", where)
        states[answer["state"]] = states.get(answer["state"], 0) + 1
        if number in (ENDED * 6 // 10 - 1, ENDED - 1):  # the front remembers the last 500
            marks[number + 1] = await service.memory() | {"processes": len(service.processes())}
    return {"states": states, "memory": marks}


async def killed(service: Service, asked: Asked) -> dict:
    """Kill a rank by SIGKILL while jobs wait; measure the time to 503 and to the next answer."""
    await service.load("g", GRAPH)
    link = Connection(service.socket)
    _, running = await link.request("POST", "/v1/jobs", ENDLESS)
    while (await link.request("GET", f"/v1/jobs/{running['id']}"))[1]["state"] != "running":
        await asyncio.sleep(0.01)
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


async def many(service: Service, asked: Asked) -> dict:
    """Run jobs over five graphs until ``jobs`` have ended or the time is over; memory early and at the end."""
    for number, spec in enumerate(FEW):
        await service.load(f"g{number}", spec, **({"weights": "1..255"} if number % 2 else {}))
    draw, states, marks = random.Random(1), dict[str, int](), {}

    async def run(link: Connection, graph: int, name: str, parameters: dict) -> str:
        job = {"graph": f"g{graph}", "algorithm": name, "parameters": parameters, "cache": False}
        status, answer = await link.request("POST", f"/v1/jobs?wait=60&top={TOP}", job)
        return answer["state"] if status in (200, 202) else f"{status} {answer.get('detail')}"

    for graph, mixed in itertools.product(range(len(FEW)), MIX):  # compiled, warm
        await run(Connection(service.socket), graph, *mixed)
    ended, began = 0, time.perf_counter()

    async def client(until: int):
        nonlocal ended
        link = Connection(service.socket)
        while ended < until and time.perf_counter() - began < 60 * asked.minutes:
            ended += 1
            state = await run(link, draw.randrange(len(FEW)), *MIX[draw.randrange(len(MIX))])
            states[state] = states.get(state, 0) + 1

    for part in MARKS:
        await asyncio.gather(*(client(asked.jobs // part) for _ in range(CLIENTS)))
        await asyncio.sleep(RESTED)
        marks[ended] = await service.memory()
        print(f"{ended} jobs, {time.perf_counter() - began:.1f} s: {marks[ended]}", flush=True)
    return {"jobs": ended, "states": states, "seconds": time.perf_counter() - began, "memory": marks}


def spread(seconds: list[float]) -> dict[str, float]:
    """Return quantiles in milliseconds."""
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "most": 1.0}
    return {name: round(1e3 * float(np.quantile(seconds, share)), 3) for name, share in shares.items()}
