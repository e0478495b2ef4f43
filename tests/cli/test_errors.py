"""Errors are reported once, with a remedy and the right exit code; no rank keeps running, and no partial file is left.

Runs use the command line, as users do: one process, and four ranks. ``test_refusals.py`` has bad lines of every format,
``test_ending.py`` the ways in which a rank can end.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

import pytest
from children import Children, run

pytestmark = [pytest.mark.mpi_skip, pytest.mark.starts_children, pytest.mark.interpreted]

DGRAPH = [sys.executable, "-m", "dgraph"]
WEIGHED = "0 1 3\n1 2 {}\n2 0 1\n"


@dataclass(frozen=True)
class Mistake:
    """An invalid command line, its exit code, and parts of its message, in order.

    Attributes:
        files: name → content, in the folder where the command runs.
        variables: of the environment.
    """

    line: str
    code: int
    says: list[str]
    files: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


MISTAKES = {
    "unknown algorithm": Mistake(
        "bsf path:9", 2, ["unknown algorithm or command 'bsf'", "did you mean 'bfs'", "cc", "sssp"]
    ),
    "unknown option": Mistake("bfs path:9 --polciy oec", 2, ["unknown option --polciy", "did you mean --policy"]),
    "unknown policy": Mistake("bfs path:9 --policy ceo", 2, ["unknown policy 'ceo'", "known are auto, "]),
    "unknown generator": Mistake("bfs pth:9", 2, ["unknown generator 'pth'", "did you mean 'path'", "rmat"]),
    "unknown format": Mistake("bfs a.xyz", 2, ["a.xyz", "unknown", "--format txt", "gr", "mtx"], {"a.xyz": "0 1\n"}),
    "unknown output": Mistake("bfs path:9 -o a.xyz", 2, ["unknown output format '.xyz'", ".npz", ".txt"]),
    "unknown rule": Mistake("sssp path:9 --weights heavy", 2, ["heavy", "unit", "hash"]),
    "watchdog before it began": Mistake("bfs path:9 --watchdog -1", 2, ["watchdog '-1'", "seconds", "off"]),
    "watchdog of no number": Mistake("bfs path:9 --watchdog 5m", 2, ["watchdog '5m'", "seconds", "off"]),
    "no such file": Mistake("bfs nowhere.el", 2, ["nowhere.el", "no such file"]),
    "no such folder": Mistake("bfs path:9 -o nowhere/a.txt", 74, ["nowhere/a.txt", "no folder nowhere"]),
    "no such source": Mistake("bfs path:9 --source 9", 2, ["source 9 is not a vertex", "between 0 and 8"]),
    "no such source among sparse ids": Mistake(
        "bfs a.txt --source 5", 2, ["source 5 is not a vertex", "between 3 and 8000000000"], {"a.txt": "3 8000000000\n"}
    ),
    "negative weight": Mistake(
        "sssp a.wel --source 0", 65, ["the edge 1 → 2 weighs -4", "weights ≥ 0"], {"a.wel": WEIGHED.format(-4)}
    ),
    "negative float weight": Mistake(
        "sssp a.wel --source 0", 65, ["the edge 1 → 2 weighs -0.5"], {"a.wel": WEIGHED.format(-0.5)}
    ),
    "negative chance": Mistake(
        "pagerank a.wel",
        65,
        ["the edge 1 → 2 weighs -4", "in proportion to their weights"],
        {"a.wel": WEIGHED.format(-4)},
    ),
    "chances too small to divide by": Mistake(
        "pagerank a.wel --precision single",
        65,
        ["leave vertex 1 sum to 1e-40", "multiply all weights by one number"],
        {"a.wel": WEIGHED.format(1e-40)},
    ),
    "no number": Mistake("sssp a.wel", 65, ["a.wel:2", "'nan'", "not a number"], {"a.wel": WEIGHED.format("nan")}),
    "no weight": Mistake("sssp a.wel", 65, ["a.wel:2", "column 3 of 3 is missing"], {"a.wel": WEIGHED.format("")}),
    "distance beyond 63 bits": Mistake(
        "sssp a.wel --source 0", 65, ["passes 9.22e+18", "floats"], {"a.wel": f"0 1 {2**62}\n1 2 {2**62}\n"}
    ),
    "distance beyond the floats": Mistake(
        "sssp a.wel --source 0",
        65,
        ["passes 1.8e+308", "small weights"],
        {"a.wel": "0 1 1e308\n1 2 1e308\n"},
    ),
    "empty file": Mistake("bfs a.el", 65, ["a.el", "empty"], {"a.el": ""}),
    "truncated file": Mistake("bfs a.gr", 65, ["a.gr", "1 a lines", "says 2"], {"a.gr": "p sp 3 2\na 1 2 5\n"}),
    "not an edge": Mistake("bfs a.el", 65, ["a.el:3", "garbage"], {"a.el": "0 1\n1 2\ngarbage\n2 3\n"}),
    "negative id": Mistake("bfs a.el", 65, ["a.el:2", "-1", "negative"], {"a.el": "0 1\n-1 2\n"}),
    "id beyond 63 bits": Mistake("bfs a.txt", 65, ["a.txt:1", str(2**63), "2^63 - 1"], {"a.txt": f"0 {2**63}\n"}),
    "id beyond the header": Mistake("bfs a.gr", 65, ["a.gr:2", "4", "3 vertices"], {"a.gr": "p sp 3 1\na 1 4 5\n"}),
    "id out of proportion": Mistake("bfs a.el", 65, ["a.el", "1002001", "--sparse-ids"], {"a.el": "0 1002000\n"}),
}


def prepared(folder, mistake):
    """Make the mistake's folder with its files; return it."""
    work = folder / "work"
    work.mkdir(parents=True)
    for name, content in mistake.files.items():
        (work / name).write_text(content)
    return work


def command(folder, mistake, ranks):
    """Run the mistake; return the run, and names of files that it left."""
    work = prepared(folder, mistake)
    ran = run([*DGRAPH, *mistake.line.split()], folder / "logs", 60, ranks=ranks, cwd=work, extra=mistake.variables)
    return ran, {entry.name for entry in work.iterdir()} - mistake.files.keys()


ALONE = [name for i, name in enumerate(MISTAKES) if i % 6 == 0]
"""Mistakes with a launch of their own, on four ranks and as one process.

Because a launch takes seconds, one launch of four ranks makes all other mistakes in turn.
"""

ONE_BY_ONE = """
import os, sys
from pathlib import Path
from dgraph.cli import main
from dgraph.comm import world
top, rank = Path.cwd(), world().rank
for folder in sorted(top.glob("*/work")):
    os.chdir(folder)
    log = os.open(f"../rank-{rank}.log", os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(log, stream)
    code = main(Path("../line").read_text().split())
    sys.stdout.flush()
    world().barrier()
    Path(f"../rank-{rank}.code").write_text(str(code))
"""


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory):
    """Launch in which four ranks make all mistakes outside ``ALONE``, and the parent of the mistakes' folders."""
    top = tmp_path_factory.mktemp("mistakes")
    for name in MISTAKES.keys() - ALONE:
        prepared(top / name, MISTAKES[name])
        (top / name / "line").write_text(MISTAKES[name].line)
    return run([sys.executable, "-c", ONE_BY_ONE], top / "logs", 120, ranks=4, cwd=top), top


def check_told(mistake, text, left):
    told = text[text.index("dgraph: error: ") :]
    position = 0
    for part in mistake.says:
        position = told.index(part, position) + len(part)
    assert text.count("dgraph: error: ") == 1
    assert told.count(mistake.says[0]) == 1
    assert "Traceback" not in text
    assert left == set()


@pytest.mark.parametrize("ranks", [4, None])
@pytest.mark.parametrize("name", ALONE)
def test_mistakes_are_told_once_by_all(name, ranks, tmp_path):
    mistake = MISTAKES[name]
    ran, left = command(tmp_path, mistake, ranks)
    assert (ran.code, set(ran.codes())) == (mistake.code, {mistake.code}), ran.story()
    check_told(mistake, ran.text, left)
    assert ran.alive() == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in MISTAKES if name not in ALONE])
def test_mistakes_one_by_one_are_told_once_by_all(name, one_by_one):
    ran, top = one_by_one
    assert (ran.code, ran.alive()) == (0, []), ran.story()
    logs, codes = ([top / name / f"rank-{rank}.{kind}" for rank in range(4)] for kind in ("log", "code"))
    assert {int(code.read_text()) for code in codes} == {MISTAKES[name].code}
    left = {entry.name for entry in (top / name / "work").iterdir()} - MISTAKES[name].files.keys()
    check_told(MISTAKES[name], "".join(log.read_text() for log in logs), left)


def test_processes_that_slurm_counts_but_mpi_cannot_join(tmp_path):
    mistake = Mistake("bfs path:9", 2, [], variables={"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"})
    ran, _ = command(tmp_path, mistake, None)
    assert ran.code == 2, ran.story()
    assert "srun started 4 processes, but each is alone" in ran.text
    assert "--mpi=pmi2" in ran.text


# errors during a run

SCRIPT = """
import os, resource, runpy, sys
from dgraph.comm import world
rank = world().rank
{before}
sys.argv = ["dgraph", *sys.argv[1:]]
runpy.run_module("dgraph", run_name="__main__", alter_sys=True)
"""


def dgraph_after(before, line):
    """Return a command line that every rank runs after the statements ``before``."""
    return [sys.executable, "-c", SCRIPT.format(before=before), *line.split()]


ENDLESS = "pagerank grid:64x64 --weights 1..9 --tol 0.0 --max-iter 1000000000 -o out.txt"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_rank_that_is_killed_ends_all(how, tmp_path):
    job = Children([*DGRAPH, *ENDLESS.split()], tmp_path, ranks=4)
    pid = job.python_of(2)
    wait_for("solve", job)
    os.kill(pid, how)
    began = time.monotonic()
    job.wait(60)
    assert time.monotonic() - began < 10
    assert job.code, job.story()
    assert job.alive() == []
    assert not list(tmp_path.glob("*out.txt*"))


def wait_for(word, job, timeout=60):
    end = time.monotonic() + timeout
    while word not in job.text:
        assert time.monotonic() < end, job.story()
        assert job.alive(), job.story()
        time.sleep(0.1)


FAULT = """
from dgraph.backend.cpu.round import machine
edge = machine.CpuMachine.edge
def broken(self):
    if rank == 2 and self.round == 3: raise ValueError("a fault of rank two")
    edge(self)
machine.CpuMachine.edge = broken
"""


def test_a_fault_of_one_rank_inside_a_round_is_told_once(tmp_path):
    """Check that the failed rank takes part with empty messages up to the allreduce, so that no peer waits for it."""
    ran = run(dgraph_after(FAULT, "bfs path:40 --source 0 --policy hash -o out.txt"), tmp_path, ranks=4)
    assert (ran.code, ran.codes()) == (70, [70] * 4), ran.story()
    assert ran.seconds < 30
    assert ran.text.count("ValueError: a fault of rank two") == 1
    assert not list(tmp_path.glob("*out.txt*"))


BIG = "bfs grid:200x200 --source 0 -o out.txt"
SMALL_FILES = "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))"


@pytest.mark.parametrize("ranks", [None, 4])
@pytest.mark.parametrize("suffix", ["txt", "npz"])
def test_a_limit_on_file_sizes(suffix, ranks, tmp_path):
    """Check that all ranks fail and remove the draft, although only some write beyond the limit."""
    line = BIG.replace("txt", suffix)
    ran = run(dgraph_after(SMALL_FILES, line), tmp_path / "logs", ranks=ranks, cwd=folder_with_files(tmp_path / "work"))
    full(ran, f"out.{suffix} cannot be written", ranks, tmp_path / "work")


@pytest.mark.parametrize("ranks", [None, 2])
def test_a_full_folder_for_compiled_code(ranks, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    line = dgraph_after("resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))", BIG)
    extra = {"DGRAPH_CACHE_DIR": str(cache), "DGRAPH_COMPILE": "always"}
    ran = run(line, tmp_path / "logs", ranks=ranks, cwd=folder_with_files(tmp_path / "work"), extra=extra)
    full(ran, f"the folder for compiled code {cache} cannot be written: File too large", ranks, tmp_path / "work")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
@pytest.mark.parametrize("ranks", [None, 4])
def test_a_full_disk(ranks, tmp_path):
    disk = folder_with_files(tmp_path / "disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk], check=False).returncode:
        pytest.skip("this container may not mount")
    try:
        (disk / "out.txt").write_text("an older answer\n")
        ran = run(dgraph_after("", BIG), tmp_path / "logs", ranks=ranks, cwd=disk)
        full(ran, "No space left on device", ranks, disk, {"out.txt"})
        assert (disk / "out.txt").read_text() == "an older answer\n"
    finally:
        subprocess.run(["umount", disk], check=True)


def full(ran, says, ranks, folder, kept=frozenset()):
    assert (ran.code, ran.codes()) == (74, [74] * (ranks or 1)), ran.story()
    assert ran.text.count(says) == 1
    assert {entry.name for entry in folder.iterdir()} == set(kept)


def folder_with_files(folder):
    folder.mkdir()
    return folder
