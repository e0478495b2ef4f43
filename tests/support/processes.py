"""A front with fake ranks as a process of its own."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

HERE = Path(__file__).parent


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def serving_process(tmp_path, code=0):
    """Run a front; yield its address, a token and a client; end it by SIGTERM, and check its exit code."""
    tokens = tmp_path / "tokens"
    tokens.write_text("secret\n")
    tokens.chmod(0o600)
    port = free_port()
    path = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    words = [sys.executable, HERE / "serve_fake.py", tmp_path / "state", str(port), tokens]
    with open(tmp_path / "log", "w") as log:
        child = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": path}, stdout=log, stderr=log)
    address, headers = f"http://127.0.0.1:{port}", {"Authorization": "Bearer secret"}
    try:
        with httpx.Client(base_url=address, headers=headers, timeout=20) as http:
            for _ in range(400):
                with contextlib.suppress(httpx.TransportError):
                    if http.get("/readyz").status_code == 200:
                        break
                assert child.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.05)
            yield address, "secret", http
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
        assert child.wait(20) == code, (tmp_path / "log").read_text()
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
