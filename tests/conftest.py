"""How the suite runs: rank tests under mpiexec, everything else in one process, nothing ever left hanging.

- ``mpiexec -n P python -m pytest --with-mpi``: rank tests (``@pytest.mark.mpi``) on P ranks. After every test the
  ranks meet; a rank whose test failed gives the others a moment to come, and ends the launch if they do not, because
  then they wait for a message that it will never send.
- plain ``pytest``: the tests of one process and, beside them, the above for P = 1, then 2 and so on, up to a rank a
  core; then ``test_ranks.py``, which waits for these and starts the above for each other P.
"""

import gc
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from children import Children, rank_tests

CORES = len(os.sched_getaffinity(0))
RANK_TESTS = "test_the_rank_tests["
"""How the tests begin that stand for all rank tests on a number of ranks."""

TURNS = {2: (0, 1, 2), 3: (3, 4), 4: (5, 0)}
"""Ranks → the sixths of a test's parameters that they take, all between them."""

GRACE = float(os.environ.get("DGRAPH_TEST_GRACE", 10))
"""Seconds that ranks have to come to the end of a test that failed on another."""

hypothesis.settings.register_profile(
    "ranks",  # every rank must draw the same examples and take the same steps, whatever its clock or disk says
    derandomize=True,
    database=None,
    deadline=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("ranks")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if config.getoption("--with-mpi"):
        from dgraph.comm import world

        # pytest processes that share a folder of temporary folders remove old ones at once, and trip over each other
        config.option.basetemp = tempfile.mkdtemp(prefix="dgraph-test-", dir=config.option.basetemp)
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))

        if world().size > 1:
            config.pluginmanager.register(Meeting(config))


def pytest_collection_modifyitems(config, items):
    """One process before children, what takes all cores last of it: ranks beside it have come to their end by then. Of
    children first the rank tests, which begin with those on one rank."""
    groups = ("starts_children", "takes_all_cores")
    items.sort(key=lambda item: (*(name in item.keywords for name in groups), item.path.name != "test_ranks.py"))
    if config.getoption("--with-mpi"):
        config.hook.pytest_deselected(items=[item for item in items if not has_turn(item)])
        items[:] = filter(has_turn, items)


def has_turn(item) -> bool:
    """One rank takes all parameters of a test; more take those that ``TURNS`` gives them, drawn by their names."""
    from battery import EVERYTHING

    from dgraph.comm import world

    turns = TURNS.get(world().size)
    if EVERYTHING or turns is None or not hasattr(item, "callspec") or "by_turns" in item.keywords:
        return True
    return zlib.crc32(item.nodeid.encode()) % 6 in turns


class Ahead:
    """The rank tests, at one number of ranks after another: as far as each rank has a core beside the tests of one
    process, which leave the others idle. Those on one rank come first: they compile what more ranks then find in the
    cache. More ranks than cores give each other the cores all the time, and would take them from who comes to an end.
    """

    def __init__(self, wanted: list[int], folder: Callable[[str], Path]):
        self.wanted, self.folder = wanted, folder
        self.begun: dict[int, Children] = {}

    def go_on(self):
        """Start the next, unless the last still runs."""
        if self.wanted and self.wanted[0] <= CORES and not any(each.runs() for each in self.begun.values()):
            self.on(self.wanted[0])

    def on(self, ranks: int) -> Children:
        """Those on so many ranks, begun."""
        if ranks not in self.begun:
            self.wanted.remove(ranks)
            self.begun[ranks] = rank_tests(ranks, self.folder(f"{ranks} ranks"))
        return self.begun[ranks]

    def end(self):
        for each in self.begun.values():
            each.end()


@pytest.fixture(scope="session")
def ahead(request, tmp_path_factory):
    asked = [item.callspec.params["ranks"] for item in request.session.items if item.name.startswith(RANK_TESTS)]
    ahead = Ahead(sorted(asked), tmp_path_factory.mktemp)
    yield ahead
    ahead.end()


@pytest.fixture(autouse=True)
def go_on(ahead):
    """Before every test, and not in a thread: some tests fork."""
    ahead.go_on()


@pytest.fixture(scope="module", autouse=True)
def settled():
    """What a file leaves stays: collections, which many tests ask for, need not walk it again in the files behind."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def launched(monkeypatch):
    """Kernels that rank 0 of several in this process launched."""
    from dgraph.backend.cuda.round_kernels.launcher import Launcher

    names, launch = [], Launcher.launch

    def noted(self, module, kernel, *args, **more):
        if self.graph.local.gids[0] == 0:
            names.append(kernel)
        return launch(self, module, kernel, *args, **more)

    monkeypatch.setattr(Launcher, "launch", noted)
    return names


class Meeting:
    """Ranks agree about every test, so that they stay at the same one and all exit alike."""

    def __init__(self, config):
        from mpi4py import MPI

        self.comm = MPI.COMM_WORLD.Dup()
        self.max = MPI.MAX
        self.maxfail = config.getvalue("maxfail")
        self.config = config
        self.failed = None
        self.status = None

    def pytest_sessionfinish(self, exitstatus):
        self.status = exitstatus

    def pytest_unconfigure(self):
        """A rank that leaves before the end, for whatever reason, would leave the others waiting."""
        if self.status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
            self.comm.Abort(int(self.status))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if report.failed:
            self.failed = report
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.failed = None
        result = yield
        if self._somewhere(item.nodeid) and self.failed is None:
            item.session.testsfailed += 1
            if self.maxfail and item.session.testsfailed >= self.maxfail:
                item.session.shouldfail = f"{item.nodeid} failed on another rank"
        return result

    def _somewhere(self, test) -> bool:
        here, anywhere = np.array([self.failed is not None], np.int64), np.zeros(1, np.int64)
        request = self.comm.Iallreduce(here, anywhere, self.max)
        end = time.monotonic() + GRACE
        while not request.Test():
            if self.failed and time.monotonic() > end:
                terminal = self.config.get_terminal_writer()
                terminal.line(f"\n{test} failed on rank {self.comm.rank}, others do not come; ending all ranks\n")
                terminal.line(self.failed.longreprtext)
                terminal.flush()
                self.comm.Abort(1)
            time.sleep(0.0002)
        return bool(anywhere[0])
