"""Sphinx extension: blocks of ``docs/start/`` run when the site is built, and their output follows them.

A block of ``python`` or ``sh`` runs in an empty folder of its page; blocks of Python share a namespace. A block that
fails is a warning, which ``-W`` makes an error.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
SECONDS = 180
"""Limit of a shell block."""


def output_of_python(text, namespace):
    """Execute Python, and return what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "block", "exec"), namespace)
    return printed.getvalue()


def output_of_shell(text, _):
    """Run a script with the Python of this process, and return its standard output."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ended = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text], text=True, timeout=SECONDS, env={**os.environ, "PATH": path},
        capture_output=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if ended.returncode:
        raise RuntimeError(f"exit code {ended.returncode}: {ended.stdout}{ended.stderr}")
    return ended.stdout


def executed(page, text):
    """Return a page with the output behind each block."""
    namespace = {"__name__": "page"}

    def with_output(hit):
        run = output_of_python if hit[1] == "python" else output_of_shell
        try:
            printed = run(hit[2], namespace)
        except Exception as failure:
            from sphinx.util import logging  # not at the top: tests execute blocks without Sphinx

            logging.getLogger(__name__).warning("a block fails: %r", failure, location=page)
            return hit[0]
        return f"{hit[0]}\n```text\n{printed.rstrip()}\n```\n" if printed.strip() else hit[0]

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return BLOCK.sub(with_output, text)


def on_source(app, page, source):
    """Replace the text of a page of ``docs/start/``."""
    if page.startswith("docs/start/"):
        source[0] = executed(page, source[0])


def setup(app):
    """Register the extension."""
    app.connect("source-read", on_source)
    return {"parallel_read_safe": True}
