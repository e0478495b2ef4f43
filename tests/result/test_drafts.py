"""Drafts of output files and stores that a SIGTERM would leave: they are removed, and the signal ends the process."""

import os
import signal

import pytest

import dgraph
from dgraph.comm import SerialComm
from dgraph.errors import OutputError
from dgraph.result.files.shared_file import shared_file

pytestmark = pytest.mark.mpi_skip


@pytest.fixture
def endings(monkeypatch, tmp_path):
    """List of files in the folder when a SIGTERM would end the process."""
    before, listed = signal.signal(signal.SIGTERM, signal.SIG_DFL), []
    monkeypatch.setattr("dgraph._support.termination.os.kill", lambda *_: listed.append(os.listdir(tmp_path)))
    yield listed
    signal.signal(signal.SIGTERM, before)


def terminate():
    assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL, "it would end the tests"
    signal.raise_signal(signal.SIGTERM)


def test_of_a_file(endings, tmp_path):
    def terminated():
        with shared_file(tmp_path / "out.csv", SerialComm()):
            assert len(os.listdir(tmp_path)) == 1
            terminate()

    with pytest.raises(OutputError):  # the process would have ended
        terminated()
    assert endings == [[]]
    with shared_file(tmp_path / "out.csv", SerialComm()):
        pass
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_of_a_store(endings, tmp_path, monkeypatch):
    def ended(*_):
        assert len(os.listdir(tmp_path)) == 1
        terminate()
        raise KeyboardInterrupt

    monkeypatch.setattr("dgraph.graph.stored.write.build_parts", ended)
    with pytest.raises(KeyboardInterrupt):
        dgraph.Graph.load("path:4").save_store(tmp_path / "parts")
    assert endings == [[]]


def test_a_callers_handler_stays(endings, tmp_path):
    seen = []
    signal.signal(signal.SIGTERM, lambda *_: seen.append(True))
    with shared_file(tmp_path / "out.csv", SerialComm()):
        terminate()
    assert (seen, endings, os.listdir(tmp_path)) == ([True], [], ["out.csv"])
