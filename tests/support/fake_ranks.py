"""``FakeRanks``: an object with the methods of ``supervisor.Ranks`` that computes nothing.

Every graph is a path of ``N`` vertices; a run from ``source`` has distance ``vertex - source``, null before the source.
"""

import asyncio
from pathlib import Path

import numpy as np
import pyarrow as pa

from dgraph.service.supervisor.supervisor import RankError, RanksDied

N = 50


def table(source, n=N):
    """Return the rows of a run."""
    distance = np.arange(n) - source
    return pa.table({"vertex": np.arange(n), "distance": pa.array(distance, mask=distance < 0)})


class FakeRanks:
    """Ranks in name.

    Attributes:
        gate: runs wait for it; set by default.
        calls: names of the operations that came, with their fields.
        fits: answer of estimates.
        rounds: events that each run sends.
        refused: why batches of edges are refused; None: they are not.
        columns: names of the columns that runs kept.
    """

    def __init__(self, n=N):
        self.condition, self.restarts, self.hello = "starting", 0, {}
        self.n, self.fits, self.rounds, self.calls = n, True, 2, []
        self.gate, self.refused, self.columns = asyncio.Event(), None, []
        self.gate.set()
        self.listeners, self.under_way, self.results = [], set(), {}

    def on_change(self, listener):
        self.listeners.append(listener)

    def become(self, condition):
        self.condition = condition
        for listener in self.listeners:
            listener(condition)

    async def start(self):
        self.become("up")

    async def stop(self, grace_s=10.0):
        self.become("stopped")

    def kill(self):
        pass

    def die(self):
        """End the ranks: calls under way fail."""
        self.become("down")
        for answer in list(self.under_way):
            answer.set_exception(RanksDied("rank 0 was killed by signal 9"))
        self.results.clear()

    async def call(self, op, /, *, on_event=None, ticket=None, **fields):
        if self.condition != "up":
            raise RanksDied("the ranks are restarting")
        self.calls.append((op, fields))
        answer = asyncio.get_running_loop().create_future()
        self.under_way.add(answer)
        if ticket is not None:
            ticket._send = lambda: answer.done() or answer.set_exception(RankError("Cancelled", "cancelled"))
            if ticket.cancelled:
                ticket._send()
        work = asyncio.ensure_future(self.answered(op, fields, on_event))
        work.add_done_callback(lambda done: self.done(answer, done))
        try:
            return await answer
        finally:
            self.under_way.discard(answer)
            work.cancel()

    @staticmethod
    def done(answer, work):
        if work.cancelled() or answer.done():
            return
        if work.exception():
            answer.set_exception(work.exception())
        else:
            answer.set_result(work.result())

    async def answered(self, op, fields, on_event):
        return await getattr(self, op)(on_event=on_event, **fields)

    async def load(self, source, options, store, **_):
        await self.gate.wait()
        if source.endswith("bad.el"):
            raise RankError("DataError", "bad.el, line 1: garbage")
        Path(store).mkdir(parents=True)
        return {"facts": {"n": self.n, "m": self.n - 1}, "bytes_by_rank": [1000]}

    async def table(self, path, format, store, **_):
        assert Path(path).exists()
        return await self.load(path, {}, store)

    async def open(self, store, **_):
        assert Path(store).exists()
        return {"facts": {"n": self.n, "m": self.n - 1}, "bytes_by_rank": [1000], "columns": self.columns}

    async def change(self, path, store, **_):
        rows = pa.ipc.open_file(path).read_all()
        self.changed = rows.to_pydict()
        if self.refused:
            raise RankError("DataError", self.refused)
        return await self.load("", {}, store)

    async def drop(self, **_):
        return {}

    async def estimate(self, **_):
        return {"bytes_by_rank": [700], "available_by_rank": [800 if self.fits else 600], "fits": self.fits}

    async def run(self, job, parameters, top, keep, spool, on_event, report=False, column=None, **_):
        for number in range(self.rounds):
            on_event({"round": number + 1, "active": 1, "seconds": 0.001})
        await self.gate.wait()
        source = parameters.get("source", 0)
        if not isinstance(source, int):
            raise RankError("UsageError", f"{source!r} is not a vertex of the graph")
        if not 0 <= source < self.n:
            raise RankError("UsageError", f"source {source} is not a vertex of the graph")
        rows = table(source, self.n)
        self.columns += [column] * (column is not None)
        if spool:
            self.write(spool, rows)
        if keep:
            self.results[job] = rows
        reached = rows.filter(pa.compute.is_valid(rows["distance"])).sort_by([("distance", "descending")])
        return {
            "summary": {"reached": reached.num_rows}, "converged": True,
            "report": {"ranks": []} if report else None, "rounds": self.rounds, "seconds": 0.001, "rows": self.n,
            "columns": rows.column_names, "top": reached.slice(0, top).to_pydict() if top else None,
        }  # fmt: skip

    def write(self, path, rows):
        with pa.ipc.new_file(path, rows.schema) as writer:
            writer.write_table(rows)

    def _held(self, job):
        if job not in self.results:
            raise RankError("NotFound", f"the ranks do not hold a result of job {job}")
        return self.results[job]

    async def rows(self, job, spool, **_):
        self.write(spool, self._held(job))
        return {"rows": self.n}

    async def lookup(self, job, vertices, **_):
        rows = self._held(job)
        if any(not isinstance(vertex, int) or vertex >= self.n for vertex in vertices):
            raise RankError("UsageError", f"{vertices!r:.60} are not all vertices of the graph")
        return {"columns": rows.take(vertices).to_pydict()}

    async def release(self, job, **_):
        self.results.pop(job, None)
        return {}

    async def path(self, source, target, **_):
        if not isinstance(source, int) or not isinstance(target, int) or max(source, target) >= self.n:
            raise RankError("UsageError", f"{source!r} or {target!r} is not a vertex of the graph")
        return {"vertices": list(range(source, target + 1)), "length": target - source}

    async def memory(self, **_):
        return {"by_rank": [{"device_used": 0, "device_total": 0, "host_used": 1}]}
