"""Jobs that wait: their order, those that can share a pass, and those that are taken back."""

from dgraph.service.front.jobs.job import Job
from dgraph.service.front.jobs.waiting_jobs import WaitingJobs
from dgraph.service.front.security import Principal

OWNER = Principal("owner")


def waiting(*priorities, algorithm="bfs"):
    """Return jobs from sources 0, 1, … of these priorities, and what has them all."""
    jobs = [Job("g", 1, algorithm, {"source": k}, owner=OWNER, priority=p) for k, p in enumerate(priorities)]
    waits = WaitingJobs()
    for job in jobs:
        waits.put(job)
    return jobs, waits


def taken(waits):
    return [job.parameters["source"] for job in iter(waits.take, None)]


def test_order():
    jobs, waits = waiting(0, 5, 5, -1, 0)
    jobs[4].state = "cancelled"
    assert taken(waits) == [1, 2, 0, 3]


def test_jobs_that_are_taken_back_have_their_turn():
    _, waits = waiting(0, 0, 0)
    first, second = waits.take(), waits.take()
    for job in (second, first):
        waits.put(job)
    assert taken(waits) == [0, 1, 2]


def test_parked_jobs_have_their_turn():
    _, waits = waiting(0, 0, 0)
    waits.park(waits.take())
    waits.unpark("h")
    assert waits.take().parameters["source"] == 1
    waits.unpark("g")
    assert taken(waits) == [0, 2]


def test_jobs_alike():
    _, waits = waiting(0, 0, 3, 0, 0)
    other = Job("g", 1, "bfs", {"source": 9, "depth_limit": 1}, owner=OWNER)
    waits.put(other)
    first = waits.take()
    assert [job.parameters["source"] for job in waits.take_alike(first, 4)] == [0, 1, 3]
    assert taken(waits) == [4, 9]
