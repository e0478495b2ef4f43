"""Run the suite: rank tests under mpiexec, all other tests in one process; no process is left running.

- ``mpiexec -n P python -m pytest --with-mpi``: rank tests (``@pytest.mark.mpi``) on P ranks. After every test the ranks
  synchronise. A rank whose test failed waits for the others for a short time, then aborts the launch, because they
  wait for a message that it will never send.
- plain ``pytest``: tests of one process and, at the same time, other sessions: the above for P = 1, then tests that
  start processes and beside them the above for P = 2, then larger P two at a time; at the end ``test_ranks.py``, which
  waits for them. Where ``test_ranks.py`` is not selected, tests that start processes come after those of one process.
"""

import gc
import os
import shutil
import signal
import tempfile
import time
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import CodeType

import hypothesis
import pytest
import skips
from children import MARK, Children, rank_tests, tests_that_start_processes
from meeting import Meeting

RANK_TESTS = "test_the_rank_tests["
"""Beginning of the names of tests that stand for all rank tests on a number of ranks."""

STARTS_PROCESSES = "test_the_tests_that_start_processes"
"""Name of the test that stands for all tests that start processes."""

_FILES_OF_RANK_TESTS = pytest.StashKey[set[Path]]()

TURNS = {1: (0, 1, 2), 2: (3, 4, 7), 3: (5,), 4: (6,)}
"""Ranks → eighths of each test's parameters that run on them; together all run."""

SHARES = {48: 12, 8: 6, 4: 3}
"""Parameters of a test above which one of so many exhaustive ones runs; ``DGRAPH_TEST_EVERYTHING``: all run."""

FEW_RANKS = (1, 2)
"""Numbers of ranks of the default session; the exhaustive one has 1 to 4."""

hypothesis.settings.register_profile(
    "ranks",  # all ranks must draw the same examples and take the same steps, independent of clock and disk
    derandomize=True,
    database=None,
    deadline=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("ranks")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    skips.register(config)
    os.environ.setdefault("DGRAPH_COMPILE", "always" if exhaustive_only(config) else "never")
    if config.getoption("--with-mpi"):
        from dgraph.comm import waiting, world

        os.environ["DGRAPH_COMPILE"] = "never"
        waiting.SPINS = 30  # a waiting rank leaves its core to the other session
        if world().size > 1:
            config.pluginmanager.register(Meeting(config))
    if config.getoption("--with-mpi") or MARK in os.environ:
        # pytest processes with one folder of temporary folders would remove old ones at the same time, and fail
        config.option.basetemp = tempfile.mkdtemp(prefix="dgraph-test-", dir=config.option.basetemp)
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect tests without visiting those there are for garbage again and again, a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark exhaustive tests; run tests of one process first, then those that take all cores or start children.

    Tests that wait for other sessions come last, because those run beside all others. Where they stand for rank tests
    and for the tests that start children, this session leaves these out.
    """
    ranks = 1
    if config.getoption("--with-mpi"):
        from dgraph.comm import world

        ranks = world().size
    mark_exhaustive(items, ranks, exhaustive_only(config))
    if exhaustive_only(config):
        leave_out(config, items, partial(is_left_out, Counter(test.function for test in items)))
    groups = ("starts_children", "takes_all_cores")
    items.sort(key=lambda item: (item.path.name == "test_ranks.py", *(name in item.keywords for name in groups)))
    if config.getoption("--with-mpi") and ranks in TURNS:
        leave_out(config, items, lambda item: not has_turn(item, ranks))
    if config.getoption("--with-mpi"):
        leave_out(config, items, lambda item: least_ranks(item) > ranks)
    yield
    config.stash[_FILES_OF_RANK_TESTS] = {item.path for item in items if "mpi" in item.keywords}
    if any(item.name.startswith(RANK_TESTS) for item in items):
        leave_out(config, items, lambda item: "mpi" in item.keywords)
    if any(item.name == STARTS_PROCESSES for item in items):
        leave_out(config, items, lambda item: item.path.name != "test_ranks.py" and "starts_children" in item.keywords)


def leave_out(config, items, unwanted: Callable) -> None:
    """Deselect the ``unwanted`` of the ``items``."""
    kept, deselected = [], []
    for item in items:
        (deselected if unwanted(item) else kept).append(item)
    config.hook.pytest_deselected(items=deselected)
    items[:] = kept


def least_ranks(test) -> int:
    """Return the number of ranks that a test needs at least."""
    return max((mark.kwargs.get("min_size", 1) for mark in test.iter_markers("mpi")), default=1)


def exhaustive_only(config) -> bool:
    """Return True if the session selects the exhaustive tests alone."""
    return config.option.markexpr.rpartition(" and ")[2] == "exhaustive"


def mark_exhaustive(items, ranks: int, only: bool) -> None:
    """Mark all parameters of each test but the first as exhaustive.

    Those of a quick test and of one that applies mutants are not marked. Of the rank tests that are not marked, each
    runs on one of the ``FEW_RANKS``, selected by a hash of its name, those that apply mutants on one rank. Tests that
    stand for others, for rank tests on these numbers alone, belong to both sessions.
    """
    seen = set()
    for item in items:
        if item.name.startswith((RANK_TESTS, STARTS_PROCESSES)):
            if only or (item.name != STARTS_PROCESSES and item.callspec.params["ranks"] not in FEW_RANKS):
                item.add_marker("exhaustive")
            continue
        first = item.function not in seen  # numbers of ranks have other first parameters, but one function
        number = zlib.crc32((item.nodeid.partition("[")[0] if first else item.nodeid).encode())
        seen.add(item.function)
        mutants = applies_mutants(item.function)
        turn = FEW_RANKS[0 if mutants else number % len(FEW_RANKS)]
        elsewhere = "mpi" in item.keywords and (ranks != turn if ranks in FEW_RANKS else only)
        if elsewhere or not (first or mutants or "quick" in item.keywords):
            item.add_marker("exhaustive")


@cache
def applies_mutants(test: Callable) -> bool:
    """Return True if a test checks that wrong code or wrong answers are rejected."""
    about = any(word in test.__name__ for word in ("wrong", "catches"))
    return about or any("mutant" in name.lower() for name in names_in(test.__code__))


def names_in(code: CodeType) -> Iterator[str]:
    """Yield the names in a function, also of its keyword arguments, and in the functions inside it."""
    yield from (*code.co_names, *code.co_varnames, *code.co_cellvars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)
        keywords = constant if isinstance(constant, tuple) else (constant,)
        yield from (name for name in keywords if isinstance(name, str) and name.isidentifier())


def has_turn(test, ranks: int) -> bool:
    """Return True if the ranks run a test: of the exhaustive parameters the eighths in ``TURNS``, and all others.

    An exhaustive test without parameters runs on 3 ranks or on 4, which take longest where there are two cores.
    """
    from battery import EVERYTHING

    if EVERYTHING or "exhaustive" not in test.keywords:
        return True
    number = zlib.crc32(test.nodeid.encode())
    if not hasattr(test, "callspec"):
        return ranks in FEW_RANKS or number % 2 == ranks % 2
    return "by_turns" in test.keywords or number % 8 in TURNS[ranks]


def is_left_out(parameters: Counter, test) -> bool:
    """Return True if an exhaustive session leaves a test out: of many parameters some run, see ``SHARES``."""
    from battery import EVERYTHING

    number = parameters[test.function]
    if EVERYTHING or applies_mutants(test.function):
        return False
    share = next((share for most, share in SHARES.items() if number > most), 1)
    return "exhaustive" in test.keywords and zlib.crc32(test.nodeid.encode()) // 8 % share > 0


class Ahead:
    """Sessions that are started two at a time while the tests of one process run.

    One rank comes first and alone: it compiles code that others then load from the cache. Tests that start processes
    come second, ``FEW_RANKS`` beside them, and then the largest number of ranks first. Three sessions share two cores,
    because each leaves cores idle: processes are waited for, and ranks wait for each other. Ranks have a low priority:
    the tests of one process would otherwise end last, on one core.
    """

    def __init__(self, wanted: list[int | str], folder: Callable[[str], Path], selection: str):
        self.wanted = sorted(wanted, key=_place)
        self.folder, self.selection = folder, selection
        self.begun: dict[int | str, Children] = {}

    def go_on(self):
        """Start the next sessions where fewer than two run, and few ranks alone beside tests that start processes."""
        while self.wanted:
            running = {which for which, launch in self.begun.items() if launch.runs()}
            crowded = STARTS_PROCESSES in running and self.wanted[0] not in FEW_RANKS
            if crowded or 1 in running or len(running) == 2:
                return
            self.on(self.wanted[0])

    def on(self, which: int | str) -> Children:
        """Return the rank tests on ``which`` ranks, or the tests that start processes, started if they were not."""
        if which not in self.begun:
            self.wanted.remove(which)
            begin = tests_that_start_processes if which == STARTS_PROCESSES else partial(rank_tests, which)
            self.begun[which] = begin(folder=self.folder(f"{which}"), selection=self.selection)
        return self.begun[which]

    def end(self):
        for launch in self.begun.values():
            launch.end()


def _place(which: int | str) -> float:
    """Return the place of a session in the order of ``Ahead``."""
    if isinstance(which, str):
        return 1.5
    return which if which in FEW_RANKS else max(FEW_RANKS) + 1 / which


@pytest.fixture(scope="session")
def ahead(request, tmp_path_factory):
    items = request.session.items
    asked = [item.callspec.params["ranks"] for item in items if item.name.startswith(RANK_TESTS)]
    asked += [item.name for item in items if item.name == STARTS_PROCESSES]
    selection = "exhaustive" if exhaustive_only(request.config) else "not exhaustive"
    ahead = Ahead(asked, tmp_path_factory.mktemp, selection)
    yield ahead
    ahead.end()


@pytest.fixture
def files_of_rank_tests(request):
    """Return the files of the rank tests that the session collected."""
    return request.config.stash[_FILES_OF_RANK_TESTS]


@pytest.fixture(autouse=True)
def go_on(ahead):
    """Start rank tests before a test; not in a thread, since some tests fork."""
    ahead.go_on()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Compile or interpret the rounds of a test that is marked so, and of its fixtures, whatever the session does."""
    with pytest.MonkeyPatch.context() as patch:
        for mark, when in (("compiled", "always"), ("interpreted", "never")):
            if mark in item.keywords:
                patch.setenv("DGRAPH_COMPILE", when)
        return (yield)


@pytest.fixture(scope="module", autouse=True)
def settled():
    """Exclude objects of earlier files from garbage collection: many tests collect, and would visit them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def launched(monkeypatch):
    """Names of the kernels that rank 0, of several in this process, launched."""
    from dgraph.backend.cuda.round_kernels.launcher import Launcher

    names, launch = [], Launcher.launch

    def noted(self, module, kernel, *args, **more):
        if self.graph.local.gids[0] == 0:
            names.append(kernel)
        return launch(self, module, kernel, *args, **more)

    monkeypatch.setattr(Launcher, "launch", noted)
    return names


@pytest.fixture
def no_host_checks(monkeypatch):
    """Let no rank return to its host because time has passed, as emulated GPUs do where others work; seconds of it."""
    from dgraph.backend.cuda.codegen import exchange_state
    from dgraph.backend.cuda.multi_gpu import device_bsp

    seconds = device_bsp.HOST_CHECK_TIME
    monkeypatch.setattr(exchange_state, "HOST_CHECK_TIME", 10**12)
    monkeypatch.setattr(device_bsp, "HOST_CHECK_TIME", 1000.0)
    return seconds


@pytest.fixture
def late_ranks(monkeypatch, no_host_checks):
    """Let ranks but the first reach a machine's persistent kernel after twice the time of a host check."""
    from dgraph.backend.cuda.round_kernels.launcher import Launcher

    launch, entered = Launcher.launch, weakref.WeakSet()

    def late(self, module, kernel, *args, **more):
        if kernel in ("persistent_bfs", "multi_gpu_rounds") and self.graph.local.gids[0] and self not in entered:
            entered.add(self)
            time.sleep(2 * no_host_checks)
        return launch(self, module, kernel, *args, **more)

    monkeypatch.setattr(Launcher, "launch", late)


@pytest.fixture(scope="session")
def live(tmp_path_factory):
    """Return a service of its own processes with the graph ``rome``; the tests of a session share it."""
    from live_service import started

    import dgraph

    with started(tmp_path_factory.mktemp("live")) as service:
        with dgraph.connect(service.unix) as client:
            client.load("rome", "rome99.gr")
        yield service


@pytest.fixture
def interruptible():
    """Let SIGINT raise KeyboardInterrupt; a shell that starts the suite in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
