"""A rank that is lost outside rounds: in loading, partitioning, the certificate, or output. No job hangs.

The victim ends or stops itself at a wait for the others in a given phase. A killed rank is noticed in every phase, a
stopped one where the watchdog limits waits.
"""

import os
import re
import sys
import time

import pytest
from children import Abreast, Children, parameters_of

pytestmark = [pytest.mark.mpi_skip, pytest.mark.starts_children, pytest.mark.exhaustive]

DRILL = """
import os, signal, sys
from dgraph.cli import main
from dgraph.comm import mpi
from dgraph.engine.rounds.record import Record
from dgraph.result.files import file_rows
file_rows.PART = 50
phase, call, wait, waits = [""], Record.__call__, mpi.MpiComm.wait, []

def entered(self, name):
    phase[0] = name
    return call(self, name)

def waited(self, *args, **more):
    if phase[0] == {phase!r} and self.rank == {victim}:
        waits.append(phase[0])
        if len(waits) == {number}:
            os.kill(os.getpid(), signal.{signal})
    wait(self, *args, **more)

Record.__call__, mpi.MpiComm.wait = entered, waited
sys.exit(main("sssp grid:40x40 --weights 1..9 --policy cvc --validate --watchdog 3 -o {file}".split()))
"""
LOST = [
    # phase, wait of the phase, victim, ranks, signal, file
    ("load", 2, 1, 2, "SIGKILL", "out.txt"),
    ("partition", 1, 0, 3, "SIGKILL", "out.txt"),
    ("build", 2, 3, 4, "SIGKILL", "out.txt"),
    ("validate", 2, 1, 3, "SIGKILL", "out.txt"),
    ("validate", 3, 1, 2, "SIGSTOP", "out.txt"),
    ("output", 20, 1, 2, "SIGKILL", "out.txt"),
    ("output", 12, 0, 3, "SIGKILL", "out.npz"),
    ("output", 25, 0, 2, "SIGKILL", "out.arrow"),
    ("output", 20, 2, 3, "SIGSTOP", "out.csv"),
    ("output", 12, 0, 2, "SIGSTOP", "out.npz"),
]


@pytest.fixture(scope="module")
def drills(request, tmp_path_factory):
    def begin(row):
        phase, number, victim, ranks, signal, file = row
        script = DRILL.format(phase=phase, number=number, victim=victim, signal=signal, file=file)
        return Children([sys.executable, "-c", script], tmp_path_factory.mktemp(phase), ranks=ranks)

    jobs = Abreast(begin, parameters_of(request, "row"))
    yield jobs
    jobs.end()


@pytest.mark.parametrize("row", LOST, ids=lambda row: "-".join(map(str, row)))
def test_a_rank_that_is_lost_ends_the_job(drills, row):
    _, _, victim, _, signal, file = row
    job = drills.ended(row, 60)
    assert job.code, job.story()
    assert job.codes()[victim] is None or job.codes()[victim], job.story()
    end = time.monotonic() + 10  # as docs/guide/mpi-and-slurm.md promises
    while job.alive() and time.monotonic() < end:
        time.sleep(0.1)
    assert job.alive() == []
    assert file not in os.listdir(job.folder), "a file of an answer that was not complete"
    if signal == "SIGSTOP":
        named = re.findall(r"dgraph: watchdog: rank \d+ has waited for 3 s .* for rank (\d+) \(", job.text)
        assert set(named) == {str(victim)}, job.story()


INTERRUPTED = """
import os, subprocess, sys
from dgraph.comm import world
if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "1":
    sys.exit(130)  # as for a Ctrl-C before MPI starts
subprocess.Popen(["sh", "-c", f"sleep 2; kill -INT {os.getpid()}"])
world()
"""


def test_an_interrupt_ends_a_rank_that_waits_for_the_start_of_mpi(tmp_path):
    job = Children([sys.executable, "-c", INTERRUPTED], tmp_path, ranks=2).wait(25)
    assert job.code, job.story()
