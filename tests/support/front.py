"""A front in process: the application behind its guard, fake ranks, and an HTTP client. For tests of the service."""

import asyncio
import contextlib

import httpx
from fake_ranks import FakeRanks

from dgraph.service.front.app import make_app
from dgraph.service.front.security import Guard
from dgraph.service.front.service_context import ServiceParts
from dgraph.service.front.settings import Settings, take_state

TOKENS = "secret admin\nviewer read\nother\n"


class Front:
    """Client of one service, through the Unix socket's guard; ``tcp()`` goes through the other."""

    def __init__(self, service, ranks, app):
        self.service, self.ranks, self.app = service, ranks, app
        self.http = self.client(unix=True)

    def client(self, unix=False, **options):
        guard = Guard(self.app, self.service.doors, self.service.settings, self.service.metrics, unix=unix)
        transport = httpx.ASGITransport(guard, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://localhost:8484", **options)

    def tcp(self, token="secret", **headers):
        return self.client(headers=({"Authorization": f"Bearer {token}"} if token else {}) | headers)

    async def load(self, name="g", source="path:50"):
        answer = await self.http.post("/v1/graphs", json={"name": name, "source": source})
        assert answer.status_code == 202, answer.text
        await self.ready(name)

    async def ready(self, name="g"):
        for _ in range(500):
            record = (await self.http.get(f"/v1/graphs/{name}")).json()
            if record["state"] != "loading":
                return record
            await asyncio.sleep(0.005)
        raise AssertionError(record)

    async def job(self, query="", source=0, **fields):
        body = {"graph": "g", "algorithm": "bfs", "parameters": {"source": source}, **fields}
        return await self.http.post(f"/v1/jobs{query}", json=body)

    async def running_and_queued(self):
        """Submit two jobs; return the ids of the first, which runs, and of the second, which waits for it."""
        running = (await self.job(source=1)).json()["id"]
        await self.state(running, "running")
        return running, (await self.job(source=2)).json()["id"]

    async def state(self, id, *wanted):
        """Wait until a job is in one of these states; return its record."""
        for _ in range(500):
            record = (await self.http.get(f"/v1/jobs/{id}")).json()
            if record["state"] in wanted:
                return record
            await asyncio.sleep(0.005)
        raise AssertionError(record)


@contextlib.asynccontextmanager
async def front(tmp_path, ranks=None, **options):
    """Run a front whose state folder is in ``tmp_path``; the data root is ``tmp_path / "data"``."""
    (tmp_path / "data").mkdir(exist_ok=True)
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKENS)
    tokens.chmod(0o600)
    settings = Settings(tmp_path / "state", tmp_path / "data", token_file=tokens, drain_s=0.2, **options)
    ranks = ranks or FakeRanks()
    with take_state(settings.state):
        service = ServiceParts(settings, ranks)
        await service.start()
        await ranks.start()
        try:
            yield Front(service, ranks, make_app(service))
        finally:
            await service.stop()


def serving(test):
    """Run a test coroutine, which takes a front, in an event loop."""

    def run(tmp_path):
        async def body():
            async with front(tmp_path) as one:
                await test(one)

        asyncio.run(body())

    run.__name__ = test.__name__
    return run
