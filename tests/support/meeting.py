"""Agreement of ranks on the outcome of each test, as a plugin of pytest."""

import os
import sys
import time

import numpy as np
import pytest

GRACE = float(os.environ.get("DGRAPH_TEST_GRACE", 10))
"""Seconds that the other ranks have to finish a test that failed on one rank."""


class Meeting:
    """Plugin that lets ranks agree on every test's outcome: they stay at the same test and exit with the same code."""

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

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self):
        """Abort all ranks if this one ends early, for any reason: the others would wait for it."""
        if self.status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
            sys.stdout.flush()
            time.sleep(0.5)  # launchers drop output that they have not forwarded when a rank aborts
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
            time.sleep(0.001)
        return bool(anywhere[0])
