"""Jobs of one kind that wait together share a pass; answers, errors, cancellation and time limits stay their own."""

import asyncio

import pytest
from front import front, serving
from ranks_served import Served

from dgraph.algorithms.many_sources.passes.pass_limits import most_together
from dgraph.comm import SerialComm
from dgraph.graph.devices import Cpu
from dgraph.graph.stored_graph import Graph
from dgraph.service.ranks.job_passes import SHARED, carry_out, grouped
from dgraph.service.ranks.rank_state import RankState
from dgraph.service.supervisor.supervisor import RankError, Ticket

pytestmark = pytest.mark.mpi_skip


def run(source, id=1, **more):
    message = {"op": "run", "graph": "g", "version": 1, "algorithm": "bfs", "mode": "stream", "top": 3, "keep": True}
    return message | {"id": id, "job": str(id), "parameters": {"source": source}} | more


class Link:
    """The front in name: answers by request."""

    def __init__(self, cancelled=()):
        self.answers, self.gone = {}, set(cancelled)

    def cancelled(self, number):
        return number in self.gone

    def event(self, number, event):
        pass

    def reply(self, number, kind, answer):
        assert number not in self.answers
        self.answers[number] = kind or answer

    def refuse(self, number, kind, message):
        self.reply(number, kind, message)


@pytest.fixture
def state(tmp_path):
    rank_state = RankState(SerialComm(), "cpu")
    rank_state.graphs.hold("g", 1, Graph.load("path:50", device=Cpu(threads=1)), tmp_path)
    return rank_state


def alone(state, request, observer):
    raise AssertionError("a run that could share the pass ran alone")


def test_neighbours_of_one_kind_are_grouped():
    other = {"id": 9, "op": "memory"}
    alike = [run(1, 1), run(2, 2, mode="stats"), run(3, 3, top=0)]
    unlike = [run(4, 4, version=2), run(5, 5, where={}, options={"direction": "push"}), run(6, 6, algorithm="cc")]
    assert grouped([*alike, other, *unlike]) == [{"op": SHARED, "requests": alike}, other, *unlike]


def test_a_pass_answers_each_job(state):
    link = Link()
    carry_out(state, [run(source, source) for source in (40, 10, 45)], link, alone)
    assert {id: (answer["top"]["vertex"], answer["rounds"]) for id, answer in link.answers.items()} == {
        40: ([0, 1, 2], 42), 10: ([49, 48, 47], 41), 45: ([0, 1, 2], 47),
    }  # fmt: skip
    assert [state.results.find(str(source)).summary["depth"] for source in (40, 10, 45)] == [40, 39, 45]


def test_a_cancelled_and_a_late_job_leave_the_pass(state):
    link = Link(cancelled=[2])
    carry_out(state, [run(1, 1), run(2, 2), run(3, 3, timeout_s=0.0)], link, alone)
    assert (link.answers[2], link.answers[3]) == ("Cancelled", "TimedOut")
    assert link.answers[1]["summary"]["depth"] == 48
    assert len(state.results) == 1


def test_after_an_error_each_runs_alone(state):
    link, seen = Link(), []
    carry_out(state, [run(1, 1), run(99, 2)], link, lambda _, request, __: (seen.append(request["id"]), ("X", ""))[1])
    assert seen == [1, 2]
    assert set(link.answers) == {1, 2}


@pytest.mark.starts_children
@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_requests_of_one_moment_have_answers_of_their_own(tmp_path, ranks):
    served = Served(tmp_path, ranks)
    served.load("g", "path:50")

    async def all_at_once():
        tickets = [Ticket() for _ in range(3)]
        fields = {"graph": "g", "version": 1, "algorithm": "bfs", "mode": "stream", "top": 1}
        calls = [
            served.ranks.call("run", job=str(i), parameters={"source": source}, ticket=ticket, **fields)
            for i, (source, ticket) in enumerate(zip((20, 99, 30), tickets, strict=True))
        ]
        return await asyncio.gather(*calls, served.ranks.call("memory"), return_exceptions=True)

    first, wrong, last, memory = served.on_loop(all_at_once())
    served.stop()
    assert (first["summary"]["depth"], last["summary"]["depth"]) == (29, 30)
    assert isinstance(wrong, RankError)
    assert "99 is not a vertex" in wrong.message
    assert len(memory["by_rank"]) == ranks


@serving
async def test_waiting_jobs_that_differ_in_their_sources_run_at_once(one):
    await one.load()
    one.ranks.gate.clear()
    first = (await one.job(source=1, cache=False)).json()["id"]
    await one.state(first, "running")
    alike = [(await one.job("?top=2", source=source, cache=False)).json()["id"] for source in (2, 3, 4)]
    other = (await one.job(algorithm="cc", parameters={}, cache=False)).json()["id"]
    late = (await one.job(source=5, timeout_s=0.01, cache=False)).json()["id"]
    gone = (await one.job(source=6, cache=False)).json()["id"]
    assert (await one.http.delete(f"/v1/jobs/{gone}")).json()["state"] == "cancelled"
    await one.state(late, "failed")
    one.ranks.gate.set()
    for id in (first, *alike, other):
        await one.state(id, "done")
    runs = [fields["parameters"].get("source") for op, fields in one.ranks.calls if op == "run"]
    assert runs == [1, 2, 3, 4, None]
    assert one.service.queue.queued == 0


@serving
async def test_jobs_of_a_pass_are_cancelled_alone(one):
    await one.load()
    one.ranks.gate.clear()
    await one.state((await one.job(source=1, cache=False)).json()["id"], "running")
    two = [(await one.job(source=source, cache=False)).json()["id"] for source in (2, 3)]
    one.ranks.gate.set()
    await one.state(two[0], "done")
    one.ranks.gate.clear()
    await one.state((await one.job(source=1, cache=False)).json()["id"], "running")
    kept, gone = [(await one.job(source=source, cache=False)).json()["id"] for source in (4, 5)]
    first = one.service.queue.running[0].id
    await one.http.delete(f"/v1/jobs/{first}")
    await one.state(kept, "running")
    await one.state(gone, "running")
    assert (await one.http.delete(f"/v1/jobs/{gone}")).json()["state"] == "cancelled"
    assert (await one.state(kept, "running"))["state"] == "running"
    one.ranks.gate.set()
    await one.state(kept, "done")


@pytest.mark.parametrize("hello", [{"ranks": 2}, {"backend": "cuda"}])
def test_jobs_run_alone_where_they_cannot_share_a_pass(tmp_path, hello):
    async def body():
        async with front(tmp_path) as one:
            one.ranks.hello = hello
            await one.load()
            one.ranks.gate.clear()
            first = (await one.job(source=1)).json()["id"]
            waiting = [(await one.job(source=source)).json()["id"] for source in (2, 3)]
            await one.state(first, "running")
            await asyncio.sleep(0.05)
            assert len(one.service.queue.running) == 1
            one.ranks.gate.set()
            for id in waiting:
                await one.state(id, "done")

    asyncio.run(body())


def test_passes_are_smaller_on_larger_graphs():
    assert [most_together(n) for n in (0, 50, 1 << 19, 1 << 20, 1 << 25, 1 << 30)] == [64, 64, 64, 32, 1, 1]
