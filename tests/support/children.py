"""Child processes for tests: one process or several ranks, one log file per rank, and a timeout that kills all of them.

Launchers start ranks in sessions of their own, so a process group does not contain all of them. Each child therefore
carries a mark in its environment, by which its processes are found and killed.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARK = "DGRAPH_TEST_CHILD"
WITHOUT = [word for name in ("cacheprovider", "schemathesis", "nbmake", "anyio") for word in ("-p", f"no:{name}")]
"""Options that leave out plugins that these sessions do not need: half a second of processor time for each process."""

SESSION = [sys.executable, "-m", "pytest", *WITHOUT, "--durations=10"]
RANK_SESSION = [*SESSION, "--with-mpi", "--timeout-method=thread"]
LAUNCHERS = ("PMI", "PMIX", "OMPI", "PRTE", "SLURM", "HYDRA", "MPI_LOCAL")
"""Prefixes of launchers' variables, removed for children: a child must not join its parent's MPI job."""

SETTINGS = ("OMPI_MCA_plm",)
"""Exceptions, which are kept: how Open MPI starts processes, set on machines without ssh."""

BEHIND = {"DGRAPH_TEST_NICE": "5"}
"""Environment of children that take what other processes leave of the cores."""

EACH_RANK = """
log=$1/rank-${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}
shift
if [ -n "$DGRAPH_TEST_NICE" ]; then
    { echo $DGRAPH_TEST_NICE >/proc/self/autogroup; } 2>/dev/null  # Linux may weigh sessions; each rank has its own
    set -- nice -n $DGRAPH_TEST_NICE "$@"
fi
"$@" >"$log.log" 2>&1
code=$?
echo $code >"$log.tmp" && mv "$log.tmp" "$log.code"
exit $code
"""


@cache
def mpiexec() -> tuple[str, ...]:
    """Return the command of this Python's MPI launcher, with options that allow more ranks than cores."""
    beside = Path(sys.executable).with_name("mpiexec")
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    if launcher is None:
        raise FileNotFoundError("no mpiexec beside this Python nor on PATH; pip install '.[mpi,test]' brings one")
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False).stdout
    open_mpi = "Open MPI" in version or "OpenRTE" in version
    extra = ["--oversubscribe", *["--allow-run-as-root"] * (os.geteuid() == 0)] if open_mpi else []
    return launcher, *extra


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this environment without the launcher's variables; children import the packages of this checkout.

    Where this process interprets rounds, children choose between NumPy and compilation as a user's command does.
    """
    kept = {name: value for name, value in os.environ.items() if name in SETTINGS or not name.startswith(LAUNCHERS)}
    if kept.get("DGRAPH_COMPILE") == "never":
        del kept["DGRAPH_COMPILE"]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    quiet = {"PYTHONPATH": path, "PYTHONFAULTHANDLER": "1", "OPENBLAS_NUM_THREADS": "1"}
    return kept | quiet | dict(extra or {})


@dataclass
class Children:
    """Ranks that run ``argv``; without ``ranks`` one process without a launcher.

    Attributes:
        code: exit code, of the launcher if there is one; None before ``wait`` and after a timeout.
        seconds: run time.
        stood: at a timeout, a line per process: its state, and the kernel function in which it sleeps.
        folder: holds ``rank-R.log``, ``rank-R.code`` and ``launcher.log``.
    """

    argv: Sequence[str]
    folder: Path
    ranks: int | None = None
    extra: Mapping[str, str] | None = None
    cwd: Path | None = None
    code: int | None = None
    seconds: float = 0.0
    stood: str = ""
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        launch = [] if self.ranks is None else [*mpiexec(), "-n", str(self.ranks)]
        self._began = time.monotonic()
        with (self.folder / "launcher.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*launch, "sh", "-c", EACH_RANK, "sh", str(self.folder), *map(str, self.argv)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.cwd or self.folder,
                env=environment(self.extra) | {MARK: self.mark},
                start_new_session=True,
            )

    def runs(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout: float) -> "Children":
        """Wait for the end, or for the timeout: then Python ranks print their stacks, and all processes are killed."""
        try:
            self.code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.stood = "\n".join(map(_stands, self.alive()))
            self._end(signal.SIGABRT, [pid for pid in self.alive() if _is_python(pid)])
            time.sleep(1)
        finally:
            self.seconds = time.monotonic() - self._began
            self.end()
        return self

    def end(self) -> None:
        """Kill the processes that still run."""
        if self.code is None:
            self._end(signal.SIGKILL, self.alive())
            self._process.wait()

    def alive(self) -> list[int]:
        """Return the pids of all processes that carry the mark: launcher and ranks."""
        needle = f"{MARK}={self.mark}".encode()
        return [
            int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _carries(entry, needle)
        ]

    def python_of(self, rank: int, timeout: float = 30) -> int:
        """Return the pid of one rank's Python; wait until it has started."""
        needle = f"PMI_RANK={rank}\0".encode(), f"OMPI_COMM_WORLD_RANK={rank}\0".encode()
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for pid in filter(_is_python, self.alive()):
                with contextlib.suppress(OSError):
                    environment = Path(f"/proc/{pid}/environ").read_bytes()
                    if any(name in environment for name in needle):
                        return pid
            time.sleep(0.02)
        raise TimeoutError(f"rank {rank} has not started within {timeout} s")

    def codes(self) -> list[int | None]:
        """Return exit codes by rank; None for a rank that was killed before it exited."""
        files = [self.folder / f"rank-{rank}.code" for rank in range(self.ranks or 1)]
        return [int(file.read_text()) if file.exists() else None for file in files]

    def logs(self) -> list[str]:
        """Return each rank's stdout and stderr."""
        files = [self.folder / f"rank-{rank}.log" for rank in range(self.ranks or 1)]
        return [file.read_text(errors="replace") if file.exists() else "" for file in files]

    @property
    def text(self) -> str:
        """Output of all ranks, followed by the launcher's."""
        return "".join([*self.logs(), (self.folder / "launcher.log").read_text(errors="replace")])

    def story(self, lines: int = 150) -> str:
        """Return a message for a failed test: the ends of the logs of ranks that failed."""
        how = f"ended by the watchdog after {self.seconds:.0f} s" if self.code is None else f"exit code {self.code}"
        told = [f"{' '.join(map(str, self.argv))}\nranks {self.ranks}, {how}, logs in {self.folder}"]
        for rank, (code, log) in enumerate(zip(self.codes(), self.logs(), strict=True)):
            if code != 0:
                told.append(f"── rank {rank}, exit code {code} ──\n" + "\n".join(log.splitlines()[-lines:]))
        told += [f"── when the watchdog came ──\n{self.stood}"] * bool(self.stood)
        return "\n".join([*told, (self.folder / "launcher.log").read_text(errors="replace")])

    def _end(self, how: signal.Signals, pids: list[int]):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)


def run(argv: Sequence[str], folder: Path, timeout: float = 60, **more) -> Children:
    """Start ``argv`` and wait for it; ``more`` has further fields of :class:`Children`."""
    return Children(argv, folder, **more).wait(timeout)


@dataclass
class Abreast:
    """Launches that mostly wait, run ``most`` at a time; ``begin(name)`` starts one of ``order``."""

    begin: Callable[[str], Children]
    order: list[str]
    most: int = 3
    begun: dict[str, Children] = field(default_factory=dict)

    def ended(self, name: str, timeout: float = 60) -> Children:
        """Return this launch after it ended; the next ones of ``order`` have been started."""
        first = self.order.index(name)
        for launch in self.order[first : first + self.most]:
            if launch not in self.begun:
                self.begun[launch] = self.begin(launch)
        return self.begun[name].wait(timeout)

    def end(self) -> None:
        for launch in self.begun.values():
            launch.end()


def parameters_of(request, name: str) -> list:
    """Return the selected values of a parameter of the tests in the file whose fixture makes this ``request``."""
    items = [item for item in request.session.items if item.path == request.path]
    calls = [item.callspec.params for item in items if hasattr(item, "callspec")]
    return list(dict.fromkeys(params[name] for params in calls if name in params))


def files_with(pattern: str) -> list[Path]:
    """Return the test files, without ``test_ranks.py``, whose text contains ``pattern``."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [file for file in files if file.name != "test_ranks.py" and re.search(pattern, file.read_text())]


def rank_tests(ranks: int, folder: Path, selection: str) -> Children:
    """Start the rank tests of a selection, "exhaustive" or "not exhaustive", on ``ranks`` ranks."""
    argv = [*RANK_SESSION, "-m", f"mpi and {selection}", *files_with(r"mark\.mpi\b")]
    return Children(argv, folder, ranks, cwd=ROOT, extra=BEHIND)


def tests_that_start_processes(folder: Path, selection: str) -> Children:
    """Start the tests that start processes of a selection, "exhaustive" or "not exhaustive"."""
    argv = [*SESSION, "-m", f"starts_children and not mpi and {selection}", *files_with("starts_children")]
    return Children(argv, folder, cwd=ROOT)


def _stands(pid: int) -> str:
    """Return a line about a process: pid, parent, state, kernel function, command."""
    with contextlib.suppress(OSError, IndexError):
        place = Path(f"/proc/{pid}")
        words = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
        state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
        asleep = (place / "wchan").read_text()
        return f"{pid} of {parent}, {state} in {asleep}: {' '.join(words)[:120]}"
    return f"{pid} went"


def _carries(entry: Path, needle: bytes) -> bool:
    with contextlib.suppress(OSError):
        return needle in (entry / "environ").read_bytes()
    return False


def _is_python(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "python" in Path(f"/proc/{pid}/exe").resolve().name
    return False
