"""Overlapping and interrupted calls, and calls from a forked child: a correct result or a specific error."""

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from children import run
from flat_run import flat_run

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.backend.cpu.threads.team import Team
from dgraph.comm import collective, world
from dgraph.errors import UsageError
from dgraph.report import Progress

pytestmark = pytest.mark.usefixtures("interruptible")

CALLS = {name: {"source": 5} if algorithm.needs_source else {} for name, algorithm in ALGORITHMS.items()}
"""Algorithms, each with its parameters."""

THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import dgraph

BACKEND, (THREADS, GRAPHS, TURNS), CALLS = sys.argv[1], map(int, sys.argv[2:5]), sys.argv[5:]
graphs = [
    dgraph.Graph.load(
        f"rmat:{9 + number},symmetric", weights="1..255", device="cuda" if BACKEND == "cuda" else dgraph.Cpu(2)
    )
    for number in range(GRAPHS)
]

def call(name, graph):
    more = {"source": 5} if name in ("bfs", "sssp") else {}
    result = dgraph.run(name, graph, **more)
    return {key: np.array(result.columns[key]) for key in result.columns}

def same(a, b):
    return all(np.allclose(a[key], b[key], rtol=1e-9, atol=0) for key in a)

work = [(name, graph) for name in CALLS for graph in graphs]
want = [call(*each) for each in work]
many = [at for turn in range(TURNS) for at in range(len(work))]
with ThreadPoolExecutor(THREADS) as pool:
    found = list(pool.map(lambda at: call(*work[at]), many))
print(sum(not same(want[at], each) for at, each in zip(many, found)), "of", len(many), "wrong")
"""

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(autouse=True)
def has_gpu(request):
    """Skip tests marked ``gpu`` if there is no GPU."""
    if request.node.get_closest_marker("gpu") and not pytest.importorskip("cupy").cuda.is_available():
        pytest.skip("there is no GPU")


SOME_CALLS = ["sssp", "cc", "pagerank"]
ALL_CALLS = [*SOME_CALLS, "bfs", "kcore", "color"]


@pytest.mark.compiled
@pytest.mark.starts_children
@pytest.mark.parametrize("calls", [SOME_CALLS, ALL_CALLS], ids=["some", "all"])
@pytest.mark.parametrize("graphs", [1, 3])
@pytest.mark.parametrize("threads", [2, 4, 8])
@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_of_one_process_get_right_answers(backend, threads, graphs, calls, tmp_path):
    turns = 4 if graphs == 1 else 2
    argv = [sys.executable, "-c", THREADS, backend, threads, graphs, turns, *calls]
    ended = run(argv, tmp_path, timeout=280)
    assert ended.code == 0, ended.story()
    assert "0 of " in ended.text, ended.text


@pytest.mark.mpi
def test_overlapping_calls_on_several_ranks_are_refused():
    """A call of a second thread while rounds run waits on one rank, and is refused on all of several ranks."""
    graph = dgraph.Graph.load("path:40")
    begun, over = threading.Event(), []

    class Waits(Progress):
        def round(self, number, *more):
            begun.set()
            for _ in range(200):
                if over:
                    return
                threading.Event().wait(0.005)

    def second():
        begun.wait()
        over.append(1) if world().size == 1 else threading.Timer(0.5, over.append, (1,)).start()
        try:
            dgraph.run("bfs", graph, source=3)
        except UsageError as error:
            return str(error)
        return "ran"

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        first = dgraph.run("bfs", graph, source=0, progress=Waits())
        said = other.result()
    assert first.summary["reached"] == 40
    assert said == "ran" if world().size == 1 else "another thread" in said and "source=3" in said
    assert dgraph.run("bfs", graph, source=1).summary["reached"] == 40  # ranks still communicate correctly


@pytest.mark.mpi
def test_ranks_that_call_different_things_are_refused():
    graph, rank = dgraph.Graph.load("path:9"), world().rank
    if world().size == 1:
        return
    with pytest.raises(UsageError, match=r"source=0.*source=1"):
        dgraph.run("bfs", graph, source=min(rank, 1))
    with pytest.raises(UsageError, match=r"hub.*fingerprint"):
        graph.hub() if rank == 0 else graph.fingerprint()
    source = np.int64(4) if rank else 4  # equal values of different types
    assert dgraph.run("bfs", graph, source=source).summary["reached"] == 9


OTHER_RANKS = """
import threading
import dgraph
from mpi4py import MPI

world, other = dgraph.communicator(), dgraph.communicator(MPI.COMM_WORLD.Dup())
begun = threading.Event()

class Waits(dgraph.report.Progress):
    def round(self, number, *more):
        begun.set()
        threading.Event().wait(0.2)

def second():
    begun.wait()
    dgraph.bfs(dgraph.Graph.load("path:9", comm=other), 3)

threading.Thread(target=second).start()
dgraph.run("bfs", dgraph.Graph.load("path:90", comm=world), source=0, progress=Waits())
"""


@pytest.mark.mpi
def test_an_argument_that_one_rank_refuses_is_refused_by_all():
    """Ranks check arguments before they agree that they make the same call; inside another call, after that."""
    comm = world()
    last = comm.size - 1
    graph = dgraph.Graph.load("path:9", comm=comm)
    refused = {"validate": "yes"} if comm.rank == last else {}
    for run_it in (dgraph.run, collective(lambda *arguments, graph, **more: dgraph.run(*arguments, graph, **more))):
        with pytest.raises(UsageError, match="validate"):
            run_it("bfs", graph=graph, source=0, **refused)
        assert comm.opening is None
        assert run_it("bfs", graph=graph, source=0).summary["reached"] == 9


@pytest.mark.starts_children
def test_overlapping_calls_on_two_communicators_end_all_ranks(tmp_path):
    pytest.importorskip("mpi4py")
    ended = run([sys.executable, "-c", "import dgraph.report\n" + OTHER_RANKS], tmp_path, ranks=2)
    assert ended.code not in (0, None), ended.story()
    assert "two communicators" in ended.text


def test_a_team_is_whole_after_an_interrupt():
    """KeyboardInterrupt is raised after the region's threads have ended, and the next region joins its own threads."""
    team, ends = Team(2), []

    def interrupted(t, threads):
        if t == 0:
            threading.Event().wait(0.1)  # the other thread has ended
            signal.raise_signal(signal.SIGINT)

    def slow(t, threads):
        if t == 1:
            threading.Event().wait(0.2)
        ends.append(t)

    with pytest.raises(KeyboardInterrupt):
        team.run(interrupted, 2)
    team.run(slow, 2)
    assert sorted(ends) == [0, 1]


def test_an_error_of_the_caller_waits_for_the_other_threads():
    """They write into arrays that the caller may free; the next region does not take their ends for its own."""
    team, ends = Team(2), []

    def wrong(t, threads):
        if t == 0:
            raise OSError("no such file in the cache")
        threading.Event().wait(0.2)
        ends.append(t)

    with pytest.raises(OSError, match="cache"):
        team.run(wrong, 2)
    assert ends == [1]
    team.run(lambda t, threads: ends.append(t), 2)
    assert sorted(ends) == [0, 1, 1]


WITHOUT_ROUNDS = {"apsp", "clustering", "lcc", "mst", "scc", "similarity", "triangles"}


ONE_LAUNCH = {"random_walks"}
"""Algorithms without rounds on a GPU alone."""


@pytest.mark.parametrize(
    ("algorithm", "backend"),
    [(name, "cpu") for name in sorted(CALLS.keys() - WITHOUT_ROUNDS)]
    + [
        pytest.param(name, "cuda", marks=pytest.mark.gpu) for name in sorted(CALLS.keys() - WITHOUT_ROUNDS - ONE_LAUNCH)
    ],
)
def test_the_call_after_an_interrupt_is_right(algorithm, backend):
    graph = dgraph.Graph.load("rmat:10,symmetric", weights="1..9", comm=dgraph.comm.SerialComm())
    more = {"source": 5} if "source" in CALLS[algorithm] else {}
    want = flat_run(algorithm, graph, backend=backend, **more).gather()
    handler = signal.getsignal(signal.SIGINT)

    class Interrupts(Progress):
        def round(self, number, *more):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        flat_run(algorithm, graph, backend=backend, progress=Interrupts(), **more)
    assert signal.getsignal(signal.SIGINT) is handler
    columns = flat_run(algorithm, graph, backend=backend, **more).gather()
    for name, column in want.items():
        assert np.allclose(columns[name], column, rtol=1e-9, atol=0), name


STORM = """
import os, random, signal, sys, threading, time
import numpy as np
import dgraph

BACKEND = sys.argv[1]
device = "cuda" if BACKEND == "cuda" else dgraph.Cpu(2)
graph = dgraph.Graph.load("rmat:12,symmetric", weights="1..9", device=device)
calls = [(name, {"source": 5} if name in ("bfs", "sssp") else {}) for name in sys.argv[2:]]
run = lambda name, more: dgraph.run(name, graph, **more)
want = [run(*call).gather() for call in calls]
draw, hits = random.Random(1), 0
for turn in range(100):
    at = turn % len(calls)
    began = time.perf_counter()
    run(*calls[at])
    seconds = time.perf_counter() - began
    try:
        timer = threading.Timer(draw.random() * seconds, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        run(*calls[at])
        timer.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        hits += 1
    found = run(*calls[at]).gather()
    for name, column in want[at].items():
        assert np.allclose(found[name], column, rtol=1e-9, atol=0), (turn, calls[at], name)
print(hits, "interrupts")
"""


@pytest.mark.compiled
@pytest.mark.starts_children
@pytest.mark.parametrize("calls", [SOME_CALLS, ALL_CALLS[:-1]], ids=["some", "all"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_storm_of_interrupts_leaves_calls_right(backend, calls, tmp_path):
    ended = run([sys.executable, "-c", STORM, backend, *calls], tmp_path, timeout=120)
    assert ended.code == 0, ended.story()
    assert int(ended.text.split()[0]) > 50, ended.text


FORKED = """
import os, sys
what = sys.argv[1]
if what == "MPI":
    from mpi4py import MPI
import dgraph
device = dgraph.Cpu(2) if what != "CUDA" else "auto"
want = dgraph.bfs(dgraph.Graph.load("path:9", device=device), 0).summary
sys.stdout.flush()
child = os.fork()
if child == 0:
    try:
        print("child:", dgraph.run("bfs", "path:9", source=0).summary == want, flush=True)
    except dgraph.UsageError as error:
        print("child:", error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.starts_children
@pytest.mark.parametrize("what", ["threads", "MPI", pytest.param("CUDA", marks=pytest.mark.gpu)])
def test_a_forked_child_gets_an_answer_or_a_reason(what, tmp_path):
    if what == "MPI":
        pytest.importorskip("mpi4py")
    ended = run([sys.executable, "-W", "ignore", "-c", FORKED, what], tmp_path)
    assert ended.code == 0, ended.story()
    want = "child: True" if what == "threads" else f"forked after {what} had started"
    assert want in ended.text, ended.text


def test_a_child_that_was_forked_before_cuda_was_known_is_told(monkeypatch):
    """CUDA's error in a forked child is not mistaken for a machine without a GPU."""
    from dgraph.backend.cuda.device import device

    class Runtime:
        class CUDARuntimeError(Exception):
            status = 3

        def getDeviceCount(self):
            raise self.CUDARuntimeError

    fake = type(os)("cupy")
    fake.cuda = type(os)("cuda")
    fake.cuda.runtime = Runtime()
    monkeypatch.setattr(device, "cupy", lambda: fake)
    with pytest.raises(UsageError, match="forked"):
        device.count()
