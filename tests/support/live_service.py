"""A service of its own processes, started by its command line."""

import signal
import subprocess
import sys
import time
from contextlib import contextmanager

from children import ROOT, environment

from dgraph.errors import OutputError
from dgraph.service.client.http_link import Link

BOOT_S = 150


class Live:
    """A running service: its addresses, and a client's link over the Unix socket."""

    def __init__(self, state):
        self.unix = f"unix:{state / 'service.sock'}"
        self.link = Link(self.unix, None, 60.0)

    def login(self):
        """Return an address of the page with a one-time login."""
        return self.link.call("POST", "/v1/login")["url"]

    @property
    def tcp(self):
        return self.login().partition("/login")[0]


@contextmanager
def started(folder, *words, launcher=(), data_root=ROOT / "tests/data"):
    """Start a service by default on ``tests/data``, and wait for its ranks."""
    state = folder / "state"
    argv = [
        *launcher,
        sys.executable,
        "-m",
        "dgraph",
        "serve",
        "--state-dir",
        state,
        "--data-root",
        data_root,
        "-q",
        *words,
    ]
    with (folder / "service.log").open("wb") as log:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(), cwd=folder
        )
    live = Live(state)
    try:
        end = time.monotonic() + BOOT_S
        while True:
            try:
                live.link.call("GET", "/readyz")
                break
            except OutputError:
                assert process.poll() is None, (folder / "service.log").read_text()
                assert time.monotonic() < end, (folder / "service.log").read_text()
                time.sleep(0.05)
        yield live
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        finally:
            process.kill()
            process.wait()
