"""A service of its own processes for drills: it is killed, stopped and started again, and its ranks with it."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time

from children import environment
from ranks_served import alive

DEVICE = os.environ.get("DGRAPH_TEST_DEVICE", "cpu")
"""Where the ranks compute: cpu, or cuda, with a GPU for each."""

LOOP = """
    import signal, sys

    def loop(*_):
        while True:
            pass

    if "dgraph.service.ranks" in sys.orig_argv:
        signal.signal(signal.SIGUSR2, loop)
"""
"""``sitecustomize`` of ranks: SIGUSR2 makes one loop for ever, as a fault of a program could."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Drilled:
    """A service in a folder; a context manager that leaves no process."""

    def __init__(self, folder, ranks, *words, state=None):
        self.folder, self.ranks, self.words = folder, ranks, words
        self.state = state or folder / "state"
        (folder / "data").mkdir(exist_ok=True)
        (folder / "sitecustomize.py").write_text(textwrap.dedent(LOOP))
        self.process, self.seen = None, set()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        for pid in (self.processes() | self.seen) if self.process else ():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def start(self):
        path = os.pathsep.join([str(self.folder), environment()["PYTHONPATH"]])
        argv = [sys.executable, "-m", "dgraph", "serve", "--state-dir", self.state, "--data-root", self.folder / "data"]
        argv += ["--no-tcp", "--device", DEVICE, "--ranks", str(self.ranks), *self.words]
        with (self.folder / "service.log").open("ab") as log:
            self.process = subprocess.Popen(
                list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment({"PYTHONPATH": path, "DGRAPH_COMPILE": "never"}), cwd=self.folder,
            )  # fmt: skip
        self.ready()

    def ready(self, seconds=120):
        """Wait until the ranks are up; return the seconds that it took."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            assert self.process.poll() is None, self.log()
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.ask("GET", "/readyz")[0] == 200:
                    self.seen |= self.processes()
                    return time.monotonic() - began
            time.sleep(0.05)
        raise AssertionError(self.log())

    def log(self):
        return (self.folder / "service.log").read_text(errors="replace")[-4000:]

    def ask(self, method, path, body=None, timeout=90, **headers):
        """Return status and document of an answer."""
        connection = _Connection(self.state / "service.sock", timeout)
        text = body if isinstance(body, bytes | None) else json.dumps(body)
        headers = {"Content-Type": "application/json", **headers}
        try:
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def load(self, name, source):
        status, answer = self.ask("POST", "/v1/graphs", {"name": name, "source": source})
        assert status == 202, answer
        return self.settled(name)

    def settled(self, name, seconds=90):
        """Wait until a graph is ready or failed; return its record."""
        return self.until(
            lambda: self.ask("GET", f"/v1/graphs/{name}")[1], lambda graph: graph["state"] != "loading", seconds
        )

    def job(self, graph, query="", algorithm="bfs", parameters=None, **fields):
        body = {"graph": graph, "algorithm": algorithm, "parameters": parameters or {}, **fields}
        return self.ask("POST", f"/v1/jobs{query}", body)

    def endless(self, graph, **fields):
        """Submit a job that ends only when it is cancelled, and wait until it runs; return its id."""
        parameters = {"tol": 0.0, "max_iter": 10**9}
        id = self.job(graph, algorithm="pagerank", parameters=parameters, **fields)[1]["id"]
        self.state_of(id, "running")
        time.sleep(0.5)
        return id

    def state_of(self, id, *wanted, seconds=90):
        """Wait until a job is in one of these states; return its record."""
        return self.until(lambda: self.ask("GET", f"/v1/jobs/{id}")[1], lambda job: job["state"] in wanted, seconds)

    def until(self, value, right, seconds):
        end = time.monotonic() + seconds
        while not right(answer := value()):
            assert time.monotonic() < end, (answer, self.log())
            time.sleep(0.05)
        return answer

    def processes(self):
        """Return the pids of the service's processes, the front included."""
        pids = [self.process.pid]
        for pid in pids:
            with contextlib.suppress(OSError):
                for thread in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{thread}/children") as file:
                        pids += map(int, file.read().split())
        return set(pids)

    def rank_pids(self):
        """Return the pids of the ranks by rank."""
        pids = [pid for pid in self.processes() if self.words_of(pid)[1:4] == ["-P", "-m", "dgraph.service.ranks"]]
        return sorted(pid for pid in pids if alive(pid))

    def launcher(self):
        return next(pid for pid in self.processes() if "mpiexec" in " ".join(self.words_of(pid)[:2]))

    @staticmethod
    def words_of(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as file:
            return file.read().split("\0")
        return []

    def terminate(self, seconds=20):
        """Send SIGTERM; assert that nothing is left after ``seconds``."""
        pids = self.processes() | self.seen
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it runs {seconds} s after SIGTERM: {self.log()}") from None
        left = [(pid, self.words_of(pid)) for pid in pids if alive(pid)]
        sockets = [path.name for path in self.state.glob("*.sock")]
        assert (code, left, sockets) == (0, [], []), self.log()
        return time.monotonic() - began
