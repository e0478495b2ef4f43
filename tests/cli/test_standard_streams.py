"""Standard output that is closed, full or without a reader, and environment variables with which nothing can run."""

import sys

import pytest
from children import run

import dgraph
from dgraph.comm.environment import check_environment
from dgraph.errors import UsageError

pytestmark = [pytest.mark.mpi_skip, pytest.mark.starts_children]

WORDS = "bfs grid:3x3 --source 0 -q -o levels.txt --format table"
FULL, CLOSED = ">/dev/full", ">&-"
UNWRITTEN = "dgraph: error: standard output cannot be written: {}; give it a file or pipe that takes it\n"


def command(folder, words, redirection, ranks=None, **variables):
    """Run a command line, the output of each rank redirected; return the run."""
    shell = f'exec "{sys.executable}" -m dgraph {words} {redirection}'
    return run(["sh", "-c", shell], folder / "logs", ranks=ranks, cwd=folder, extra=variables)


@pytest.mark.parametrize("ranks", [None, 2])
@pytest.mark.parametrize(("redirection", "why"), [(FULL, "No space left on device"), (CLOSED, "Bad file descriptor")])
def test_output_that_cannot_be_written_is_one_line(ranks, redirection, why, tmp_path):
    """The run still writes its file; all ranks end with one code."""
    ran = command(tmp_path, WORDS, redirection, ranks)
    assert set(ran.codes()) == {74}
    assert "".join(ran.logs()) == UNWRITTEN.format(why)
    assert (tmp_path / "levels.txt").read_text().splitlines()[-1] == "8 4"


@pytest.mark.parametrize(
    "words", ["list", "--help", "estimate all 100,200 -q", "doctor -q", "serve --help", "mcp --help"]
)
def test_every_command_reports_it(words, tmp_path):
    ran = command(tmp_path, words, FULL)
    assert ran.code == 74, ran.story()
    assert ran.text == UNWRITTEN.format("No space left on device")


@pytest.mark.parametrize(("redirection", "code"), [("2>&-", 2), ("2>/dev/full", 2), (">&- 2>&-", 2), ("<&- >&-", 2)])
def test_streams_that_are_not_written_change_no_code(redirection, code, tmp_path):
    ran = command(tmp_path, "bfs grid:3x3 --source 99 -q", redirection)
    assert ran.code == code
    assert "Traceback" not in ran.text
    assert command(tmp_path, WORDS.replace("--format table", ""), redirection).code == 0


def test_a_reader_that_has_ended_is_no_error(tmp_path):
    shell = f'"{sys.executable}" -m dgraph list | head -n 0; echo "${{PIPESTATUS[0]}}"'
    ran = run(["bash", "-c", shell], tmp_path / "logs")
    assert ran.text == "141\n"


def test_characters_that_the_output_lacks_are_escaped(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9 caf\xc3\xa9\n")
    ran = command(tmp_path, "bfs a.txt --ids string --target café -q --format table", "", PYTHONIOENCODING="ascii")
    assert ran.code == 0, ran.story()
    assert "caf\\xe9" in ran.text


WRONG = [
    ("NUMBA_DISABLE_JIT", "1", "NUMBA_DISABLE_JIT=1 switches off the compiler"),
    ("NUMBA_DISABLE_JIT", "yes", "NUMBA_DISABLE_JIT=yes switches off the compiler"),
    ("NUMBA_NUM_THREADS", "many", "NUMBA_NUM_THREADS=many is not a number of threads"),
    ("NUMBA_NUM_THREADS", "0", "NUMBA_NUM_THREADS=0 is not a number of threads"),
    ("NUMBA_THREADING_LAYER", "fast", "NUMBA_THREADING_LAYER=fast is none of default"),
    ("DGRAPH_COMPILE", "sometimes", "DGRAPH_COMPILE=sometimes is none of never, always"),
    ("DGRAPH_LOOP", "curio", "DGRAPH_LOOP=curio is none of asyncio, uvloop"),
]


@pytest.mark.parametrize(("name", "value", "text"), WRONG)
def test_environment_with_which_nothing_can_run(name, value, text, monkeypatch):
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=text):
        check_environment()
    monkeypatch.setattr(sys.modules["dgraph.comm.world"], "_world", None)
    with pytest.raises(UsageError, match=text):
        dgraph.Graph.load("path:3")


@pytest.mark.parametrize("name", ["NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS", "DGRAPH_COMPILE", "NUMBA_THREADING_LAYER"])
def test_an_empty_variable_is_as_not_set(name, monkeypatch):
    monkeypatch.setenv(name, "")
    check_environment()


@pytest.mark.parametrize("ranks", [None, 2])
@pytest.mark.parametrize(("name", "value"), [("NUMBA_DISABLE_JIT", "1"), ("NUMBA_OPT", "9x")])
def test_environment_is_refused_in_one_line(ranks, name, value, tmp_path):
    ran = command(tmp_path, WORDS, "", ranks, **{name: value})
    assert set(ran.codes()) == {2}
    assert "".join(ran.logs()).startswith("dgraph: error: ")
    assert "".join(ran.logs()).count("\n") == 1
    assert name in ran.text
