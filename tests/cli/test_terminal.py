"""Output of a run on a pseudo-terminal of a given width."""

import fcntl
import json
import os
import pty
import re
import struct
import sys
import termios

import pytest
from children import environment

pytestmark = pytest.mark.starts_children

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def on_a_terminal(words, columns, **variables):
    """Return the output of ``python -m dgraph words`` on a terminal of ``columns`` columns."""
    env = environment({"TERM": "xterm", **variables})
    process, terminal = pty.fork()
    if process == 0:
        os.execve(sys.executable, [sys.executable, "-m", "dgraph", *words], env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    out = b""
    try:
        while piece := os.read(terminal, 1 << 16):
            out += piece
    except OSError:  # Linux raises it once the other side is closed
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, out.decode()
    return out.decode()


RUN = ["bfs", "path:30", "--source", "0"]


@pytest.mark.parametrize("columns", [60, 200])
def test_tables_fit_the_terminal_and_headings_stand_out(columns):
    text = on_a_terminal(RUN, columns)
    lines = ESCAPES.sub("", text).replace("\r", "\n").splitlines()
    assert max(len(line) for line in lines if line.startswith("  ")) <= columns
    start = next(i for i, line in enumerate(lines) if line.startswith("round "))
    assert max(map(len, lines[start:])) <= columns
    assert sum(line.startswith("round ") for line in lines) == 1
    assert "\x1b[1mround" in text


def test_no_color_means_none():
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", on_a_terminal(RUN, 100, NO_COLOR="1"))
    assert re.search(r"\x1b\[32m", on_a_terminal(RUN, 100))


def test_quiet_is_silent_and_json_is_json_also_on_a_terminal():
    assert on_a_terminal([*RUN, "-q"], 100) == ""
    (line,) = on_a_terminal([*RUN, "-q", "--format", "json"], 100).splitlines()
    assert json.loads(line)["outcome"]["converged"]
