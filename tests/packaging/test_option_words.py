"""Errors below the command line write options by ``errors.option``: keywords in Python, options on the command line."""

import ast
import re
from pathlib import Path

import pytest

import dgraph
from dgraph.cli import main
from dgraph.errors import UsageError, command_line, option

PACKAGE = Path(dgraph.__file__).parent
BESIDE = ("cli/", "report/", "tools/", "service/")
"""Packages of commands, which speak to the command line alone."""
FOREIGN = {
    "_support/affinity.py", "_support/cuda_start.py", "backend/cuda/device/nvrtc.py", "errors.py",
    "backend/cuda/transports/choice.py", "backend/cuda/exchange/mailbox_session.py", "graph/formats/foreign.py",
    "result/files/graph_writers.py", "backend/schedule_options.py",
}  # fmt: skip
"""Files whose texts name options of other programs, or of the command ``convert``."""


def texts(tree):
    """Yield line and text of every string that is not a docstring, with {} for replaced fields."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings | inside:
            yield node.lineno, node.value


def test_no_text_below_the_command_line_names_an_option_without_its_keyword():
    bare = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(BESIDE) and name not in FOREIGN:
            for line, text in texts(ast.parse(path.read_text())):
                if re.search(r"(?<![\w-])--[a-z{]", text) and not re.search(r"[a-z_]+=", text):
                    bare.append(f"{name}:{line}: {text}")
    assert not bare, "\n".join(bare)


def test_an_option_is_written_as_the_caller_writes_it():
    forms = [("variant", "queue"), ("backend", "cuda"), ("header", False), ("allow_gpu_sharing", True), ("delta",)]
    assert [option(*form) for form in forms] == [
        "variant='queue'",
        "device='cuda'",
        "header=False",
        "share=True",
        "delta=",
    ]
    with command_line():
        written = [option(*form) for form in forms]
    assert written == ["--variant queue", "--backend cuda", "--no-header", "--allow-gpu-sharing", "--delta"]
    assert option("variant", "queue") == "variant='queue'"


def test_errors_of_python_and_of_the_command_line(capsys):
    """The same refusal names the keyword in Python, and the option on the command line, one after the other."""
    graph = dgraph.Graph.from_edges([0, 1], [1, 2])
    for _ in range(2):
        with pytest.raises(UsageError, match="variant='h-bf' has no buckets; leave delta out") as refusal:
            dgraph.sssp(graph, 0, variant="h-bf", delta=3)
        assert "--" not in str(refusal.value)
        assert main(["sssp", "path:9", "--variant", "h-bf", "--delta", "3", "--quiet"]) == 2
        assert "--variant h-bf has no buckets; leave delta out" in capsys.readouterr().err
