"""How the suite runs: rank tests under mpiexec, everything else in one process, nothing ever left hanging.

- ``mpiexec -n P python -m pytest --with-mpi``: rank tests (``@pytest.mark.mpi``) on P ranks. After every test the
  ranks meet; a rank whose test failed gives the others a moment to come, and ends the launch if they do not, because
  then they wait for a message that it will never send.
- plain ``pytest``: the tests of one process and, beside them, the above for P = 1; then ``test_ranks.py``, which starts
  the above for each other P.
"""

import os
import shutil
import tempfile
import time

import hypothesis
import numpy as np
import pytest

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


def pytest_collection_modifyitems(items):
    """One process before children, and of these first the rank tests, which begin with those on one rank."""
    items.sort(key=lambda item: ("starts_children" in item.keywords, item.path.name != "test_ranks.py"))


@pytest.fixture(scope="session", autouse=True)
def one_rank(request, tmp_path_factory):
    """The rank tests on one rank, where they are asked for: on a core of their own, beside the tests of one process.
    They compile what more ranks then find in the cache."""
    if not any(item.name == "test_the_rank_tests[1]" for item in request.session.items):
        yield None
        return
    from children import rank_tests

    begun = rank_tests(1, tmp_path_factory.mktemp("one rank"))
    yield begun
    begun.end()


@pytest.fixture
def launched(monkeypatch):
    """Kernels that rank 0 of several in this process launched."""
    from dgraph.backend.cuda.kernels import Kernels

    names, launch = [], Kernels.launch

    def noted(self, module, kernel, *args, **more):
        if self.graph.local.gids[0] == 0:
            names.append(kernel)
        return launch(self, module, kernel, *args, **more)

    monkeypatch.setattr(Kernels, "launch", noted)
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
