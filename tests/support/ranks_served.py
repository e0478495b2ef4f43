"""The ranks of the service for tests: ``Ranks`` in an event loop of its own thread, called without ``await``."""

import asyncio
import os
import threading
import time

from dgraph.service.supervisor.supervisor import Ranks, Ticket


class Served:
    """Started ranks; ``call`` waits for the answer, ``begin`` returns a future and a ticket."""

    def __init__(self, state, ranks, **more):
        self.state = state
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)  # lives as long as the ranks
        self.thread.start()
        self.changes = []
        self.ranks = self.on_loop(self._made(ranks, more))

    async def _made(self, ranks, more):
        ranks_started = Ranks(self.state, ranks, **{"device": "cpu", **more})
        ranks_started.on_change(self.changes.append)
        await ranks_started.start()
        return ranks_started

    def on_loop(self, work, timeout=240):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout)

    def call(self, op, **fields):
        return self.on_loop(self.ranks.call(op, **fields))

    def begin(self, op, **fields):
        ticket = Ticket()
        future = asyncio.run_coroutine_threadsafe(self.ranks.call(op, ticket=ticket, **fields), self.loop)
        return future, ticket

    def cancel(self, ticket):
        self.loop.call_soon_threadsafe(ticket.cancel)

    def load(self, name, source, version=1, **options):
        store = str(self.state / "graphs" / name / str(version))
        return self.call("load", graph=name, version=version, source=source, options=options, store=store)

    def reopen(self, name, version=1):
        return self.call("open", graph=name, version=version, store=str(self.state / "graphs" / name / str(version)))

    def run(self, graph, algorithm, job="job", version=1, parameters=None, **fields):
        fields |= {"graph": graph, "version": version, "algorithm": algorithm, "parameters": parameters or {}}
        return self.call("run", job=job, **fields)

    def stop(self):
        self.on_loop(self.ranks.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


def until(true, seconds=20.0):
    """Wait until ``true()``; return the seconds it took."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, "it did not happen in time"
        time.sleep(0.01)
    return time.monotonic() - began


def alive(pid):
    """Return True if a process runs; zombies do not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
