"""No rank holds the whole graph, all ids or the whole output: a rank needs about two of P shares.

The limit is the memory after a small run of the same kind (libraries, compiled rounds) plus two of the rank's shares
of the edge list, 16 bytes an edge, and the messages of a round. The kernel enforces it (RLIMIT_AS). The C library is
set to give freed arrays back, and to keep one heap for all threads: otherwise the limit measures its habits too.
"""

import sys

import numpy as np
import pytest
from children import run

pytestmark = [pytest.mark.mpi_skip, pytest.mark.starts_children, pytest.mark.exhaustive]

RANKS, EDGES = 4, 6_000_000
GIVES_BACK = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_ARENA_MAX": "1"}
COMPILED = GIVES_BACK | {"DGRAPH_COMPILE": "always"}  # the compiler is loaded before the limit is set
SHARE = 16 * EDGES // RANKS
MESSAGES = 3 * (RANKS - 1) * 8 * (EDGES // 16) // RANKS
"""Bytes of a value and a position of every mirror: three times, because a message is received, decoded and, from ranks
that are a phase ahead, also kept by MPI until this one asks for it."""
ALLOWANCE = 2 * SHARE + MESSAGES

WARM = """
import resource, sys
import dgraph

def job(file, answer):
    with open(file) as lines:
        source = int(lines.readline().split()[0])
    dgraph.bfs(file, source).save(answer)

"""

JOB = f"""{WARM}
def in_use():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmSize"))

job("small.txt", "small-answer.txt")
resource.setrlimit(resource.RLIMIT_AS, (in_use() + {ALLOWANCE},) * 2)
job("big.txt", "big-answer.txt")
"""

LOAD = """
import sys
import dgraph
from dgraph.graph.build.local_graph import build
from partitioning import plan

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))

def parts(file):
    graph = dgraph.Graph.load(file)
    return graph.block, build(graph.block, plan(sys.argv[1], graph.block, graph.comm.size, graph.comm), graph.comm)

def arrays(*objects):
    for each in objects:
        for value in vars(each).values():
            if hasattr(value, "nbytes"):
                yield value.nbytes
            elif hasattr(value, "offsets") or hasattr(value, "starts"):
                yield from arrays(value)

parts("small.txt")
before = status("VmSize")
held = parts("big.txt")
print(f"peak {status('VmPeak') - before} final {sum(arrays(*held))}")
"""


def write_edges(path, edges):
    """Write lines of two sparse ten-digit ids, with sixteen edges per vertex."""
    rng = np.random.default_rng(1)
    ids = np.sort(rng.choice(9 * 10**9, edges // 16, replace=False)) + 10**9
    ends = ids[rng.integers(0, ids.size, (edges, 2))]
    text = np.full((edges, 22), ord(" "), np.uint8)
    text[:, 21] = ord("\n")
    for column in range(2):
        rest = ends[:, column].copy()
        for digit in range(9, -1, -1):
            text[:, 11 * column + digit] = ord("0") + rest % 10
            rest //= 10
    text.tofile(path)
    return np.unique(ends).size


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edges")
    write_edges(folder / "small.txt", 6_000)
    (folder / "vertices").write_text(str(write_edges(folder / "big.txt", EDGES)))
    yield folder
    (folder / "big.txt").unlink()


def test_a_rank_holds_its_share(folder, tmp_path):
    """Loading, compaction of sparse ids, rounds and output stay within the limit."""
    warm = f'{WARM}job("big.txt", "big-answer.txt")'  # what the large file alone needs compiles before the limit is set
    assert run([sys.executable, "-c", warm], tmp_path / "warm", 250, ranks=RANKS, cwd=folder, extra=COMPILED).code == 0
    ran = run([sys.executable, "-c", JOB], tmp_path / "limited", 250, ranks=RANKS, cwd=folder, extra=COMPILED)
    assert ran.code == 0, ran.story()
    with (folder / "big-answer.txt").open() as lines:
        assert sum(1 for _ in lines) == int((folder / "vertices").read_text())


@pytest.mark.parametrize("policy", ["hash", "oec"])
def test_loading_needs_little_more_than_what_it_leaves(policy, folder, tmp_path):
    """Peak memory from the text to this rank's part is at most 1.5 times the final arrays."""
    ran = run([sys.executable, "-c", LOAD, policy], tmp_path, 100, ranks=RANKS, cwd=folder, extra=GIVES_BACK)
    assert ran.code == 0, ran.story()
    for log in ran.logs():
        _, peak, _, final = log.split()[-4:]
        assert int(peak) < 1.5 * int(final), log
        assert int(final) > SHARE, "the arrays were not found"


def test_the_limit_bites(folder, tmp_path):
    """Check that one rank exceeds the limit with the same job, reports it, and does not hang."""
    ran = run([sys.executable, "-c", JOB], tmp_path, 250, ranks=1, cwd=folder, extra=GIVES_BACK)
    assert ran.code, ran.story()
    assert "MemoryError" in ran.text or "allocate" in ran.text, ran.story()
