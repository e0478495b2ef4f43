"""Command line before a run: parsing, error messages, help, and the display of progress."""

import io
import math
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from flat_run import flat_run

from dgraph import cli
from dgraph.algorithms import ALGORITHMS as REGISTERED
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.cli.commands import COMMANDS
from dgraph.cli.parser import RunRequest, parse
from dgraph.cli.short_help import COMMON
from dgraph.cli.sources import name_of
from dgraph.cli.terminal.terminal_progress import Plain, progress_for
from dgraph.errors import UsageError
from dgraph.report import Progress
from launch.__main__ import main as launch_main
from partitioning.__main__ import main as partitioning_main


@dataclass(frozen=True)
class Parameter:
    name: str
    type: Any
    default: Any
    help: str
    choices: Any = None
    aliases: tuple = ()


def fake(name, needs_source=False, *parameters):
    body = {
        "__doc__": f"The fake {name}.\n\nMore of it.",
        "name": name,
        "needs_source": needs_source,
        "weighted": needs_source,
        "undirected": not needs_source,
        "edge_rule": EdgeRule(),
        "parameters": {parameter.name: parameter for parameter in parameters},
    }
    return type(name, (), body)


ALGORITHMS = {
    "sssp": fake(
        "sssp",
        True,
        Parameter("source", int, None, "start"),
        Parameter("cutoff", float, float("inf"), "stop at 100 % of it"),
        Parameter("predecessors", bool, True, "find them"),
    ),
    "pagerank": fake(
        "pagerank",
        False,
        Parameter("alpha", float, 0.85, "damping", None, ("damping_factor",)),
        Parameter("max_iter", int, 100, "rounds", None, ("iterations",)),
        Parameter("norm", str, "l1", "of the change", ("l1", "linf")),
    ),
}


def ask(line):
    return parse(line.split(), ALGORITHMS)


def test_a_name_alone_is_a_request():
    assert ask("sssp") == RunRequest(
        "sssp", None, {}, {}, {}, None, None, None, False, ("python", "-m", "dgraph", "sssp")
    )


def test_every_option_arrives_where_it_belongs():
    line = (
        "sssp rmat:4 --source 1,2 --undirected --weights 1..9 --keep-loops --keep-parallel --sparse-ids --seed 3 "
        "--policy cvc --backend cpu --threads 2 --direction flip --sync full --max-iter 9 --cutoff 2.5 "
        "--schedule alb,threshold=threads --rounds local,limit=9 "
        "--no-predecessors -o out.txt --report run.json -q"
    )
    assert ask(line) == RunRequest(
        algorithm="sssp",
        graph="rmat:4",
        load={
            "directed": False,
            "weights": "1..9",
            "keep_loops": True,
            "keep_parallel": True,
            "sparse_ids": True,
            "seed": 3,
        },
        run={
            "policy": "cvc",
            "backend": "cpu",
            "threads": 2,
            "direction": "flip",
            "sync": "full",
            "max_rounds": 9,
            "schedule": "alb,threshold=threads",
            "rounds": "local,limit=9",
        },
        parameters={"cutoff": 2.5, "predecessors": False},
        sources=[1, 2],
        output=Path("out.txt"),
        report=Path("run.json"),
        quiet=True,
        command=("python", "-m", "dgraph", *line.split()),
    )


def test_the_graph_may_stand_anywhere():
    first, second = ask("sssp --weights hash rmat:4 --quiet"), ask("sssp rmat:4 --weights hash --quiet")
    assert replace(first, command=()) == replace(second, command=())
    assert first.graph == "rmat:4"


def test_max_iter_is_the_parameter_where_there_is_one():
    assert ask("pagerank --max-iter 7").parameters == {"max_iter": 7}
    assert ask("pagerank --iterations 7 --max-rounds 3").run == {"max_rounds": 3}
    assert ask("pagerank --damping-factor 0.5").parameters == {"alpha": 0.5}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ssssp", "unknown algorithm or command 'ssssp': did you mean 'sssp'?"),
        ("help", "'help': python -m dgraph --help lists the commands"),
        ("partition a.el", "'partition': a graph is partitioned by python -m partitioning GRAPH -n PARTS"),
        ("sssp --device cpu", "unknown option --device: it is called --backend; see"),
        ("--policy cvc sssp", "the algorithm comes first"),
        (
            "sssp --polcy cvc",
            "unknown option --polcy: sssp has no option of that name; did you mean --policy? "
            "See python -m dgraph sssp --help-all",
        ),
        ("sssp --polcy=cvc a.el b.el", "unknown option --polcy: "),
        ("sssp --threads two --polcy cvc", "unknown option --polcy: "),
        ("sssp --pol cvc", "unknown option --pol: options are written in full; give --policy; see"),
        ("sssp --check a", "options are written in full; give --checkpoint or --checkpoint-every"),
        ("sssp --mdt 4", "unknown option --mdt: sssp has no option of that name"),
        ("sssp -x", "unknown option -x: sssp has no option of that name; see"),
        (
            "convert a.el b.gr --too dimacs",
            "unknown option --too: convert has no option of that name; did you mean --to?",
        ),
        ("estimate --quite", "unknown option --quite: estimate has no option of that name; did you mean --quiet?"),
        ("rmat:20", "got rmat:20 first, which is a graph; write python -m dgraph ALGORITHM rmat:20 [options]"),
        ("sssp a.el b.el", "got 'b.el', beside the graph"),
        ("sssp --threads two", "--threads: invalid int value: 'two'"),
        ("sssp --threads", "--threads: expected one argument"),
        ("sssp --directed --undirected", "not allowed with"),
        ("sssp --direction sideways", "invalid choice: 'sideways'"),
        ("sssp --max-rounds 0", "it is 1 or more"),
        ("sssp --source -1", "got '-1', but a vertex id is an integer"),
        ("sssp --source=-1", "got '-1', but a vertex id is an integer"),
        ("sssp --source 1.5", "got '1.5'"),
        ("sssp --source 9223372036854775808", "2**63"),
        ("sssp --source ,", "names no vertex"),
        ("pagerank --source 1", "unknown option --source: pagerank has no option of that name"),
        ("pagerank --norm l2", "invalid choice: 'l2'"),
    ],
)
def test_mistakes_are_told_in_words(line, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        ask(line)


TWICE = [
    ("dgraph", "bfs --source 1 --source 2", "--source"),
    ("dgraph", "bfs grid:3x3 --source 1 --root=1", "--source"),
    ("dgraph", "bfs --depth-limit 3 --cutoff 4", "--depth-limit"),
    ("dgraph", "sssp --cutoff 3 --cutoff 4", "--cutoff"),
    ("dgraph", "pagerank --alpha 0.5 grid:3x3 --alpha 0.6", "--alpha"),
    ("dgraph", "pagerank --personalization 1 --personalization 2", "--personalization"),
    ("dgraph", "bfs --max-rounds 3 --max-iter 4", "--max-rounds"),
    ("dgraph", "bfs --return-predecessors --no-return-predecessors", "--return-predecessors"),
    ("dgraph", "cc --policy cvc --policy oec", "--policy"),
    ("dgraph", "cc --weights 1..9 --seed 3 --weights unit", "--weights"),
    ("dgraph", "cc -o one.txt --output two.txt", "--output"),
    ("dgraph", "cc --variant union-find --variant union-find", "--variant"),
    ("dgraph", "estimate rmat:8 -n 2 --ranks 4", "--ranks"),
    ("dgraph", "info grid:3x3 --ids string --ids integer", "--ids"),
    ("dgraph", "convert grid:3x3 a.gr --to galois --to dimacs", "--to"),
    ("dgraph", "warmup --backend cpu --backend all", "--backend"),
    ("dgraph", "balance grid:3x3 --repeat 1 --repeat 2", "--repeat"),
    ("dgraph", "fetch --to a --to b", "--to"),
    ("dgraph", "report run.json --html a.html --html b.html", "--html"),
    ("partitioning", "grid:3x3 -n 2 --parts 3", "--parts"),
    ("partitioning", "grid:3x3 --policy cvc --policy oec", "--policy"),
    ("launch", "slurm --nodes 2 --nodes 3", "--nodes"),
    ("launch", "slurm --nodes 1 --nodes 3", "--nodes"),
    ("launch", "slurm --time 30 -o a --time 40", "--time"),
]


@pytest.mark.mpi_skip
@pytest.mark.parametrize(("package", "line", "option"), TWICE)
def test_an_option_that_takes_a_value_is_given_once(package, line, option, capsys):
    commands = {"dgraph": cli.main, "partitioning": partitioning_main, "launch": launch_main}
    try:
        code = commands[package](line.split())
    except SystemExit as ended:  # raised by argparse, in launch
        code = ended.code
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert re.search(f"argument [-/a-z]*{option}(/[-/a-z]*)?: it is given twice, as '.*; give it once", said.err)


def test_what_may_be_given_twice():
    assert ask("sssp --quiet -q --directed --directed --no-predecessors --no-predecessors").quiet


@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("bfs --depth-limit -1", "depth_limit = -1 is not valid for bfs: give an integer, 0 or more"),
        ("bfs --cutoff -3", "depth_limit = -3 is not valid"),
        ("sssp --cutoff -0.5", "cutoff = -0.5 is not valid for sssp: give a number, 0 or more"),
        ("sssp --cutoff nan", "cutoff = nan is not valid"),
        ("sssp --cutoff=-inf", "cutoff = -inf is not valid"),
    ],
)
def test_limits_below_zero_are_refused(line, said, capsys):
    assert cli.main([*line.split(), "--quiet"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("bfs", {"depth_limit": -1}),
        ("bfs", {"depth_limit": 2.5}),
        ("bfs", {"depth_limit": True}),
        ("bfs", {"return_predecessors": "no"}),
        ("bfs", {"max_rounds": 0}),
        ("bfs", {"max_rounds": -3}),
        ("bfs", {"max_rounds": 2.5}),
        ("sssp", {"cutoff": -1}),
        ("sssp", {"cutoff": math.nan}),
        ("sssp", {"delta": "2"}),
        ("pagerank", {"max_iter": 2.5}),
        ("pagerank", {"alpha": True}),
        ("kcore", {"k": 1.5}),
        ("color", {"random_state": 1.5}),
        ("color", {"variant": "hybrid", "switch_round": 1.5}),
    ],
)
def test_numbers_that_make_no_sense_are_refused(algorithm, options):
    name, value = list(options.items())[-1]
    with pytest.raises(UsageError, match=re.escape(f"{name} = {value!r} is not ")):
        flat_run(algorithm, "path:3", **options)


GROUPS = [
    "options", "input", "algorithm", "partition", "device and ranks", "GPU schedules", "output and report",
    "checkpoints", "checks and debugging", "examples", "exit codes",
]  # fmt: skip


def headings(text):
    return [line[:-1] for line in text.splitlines() if re.fullmatch(r"\w[\w ]*:", line)]


def test_help_of_an_algorithm_begins_with_its_parameters():
    text = ask("sssp --help")
    for part in ("The fake sssp.", "--source ID", "--cutoff X", "100 %", "--no-predecessors", "--policy", "--help-all"):
        assert part in text
    assert headings(text) == ["algorithm", "most used options"]
    assert "--max-rounds" not in text
    assert text.count("--source ID") == 1
    assert "default 0.85" in ask("pagerank -h")


def test_all_help_has_every_group():
    text = ask("sssp --help-all")
    assert headings(text) == GROUPS
    for part in ("--cutoff X", "--max-rounds", "alb,threshold=auto|threads|N", "limit=N", "--sync"):
        assert part in text
    text = ask("--help-all")
    assert headings(text) == GROUPS
    assert "--cutoff" not in text
    assert "--schedule NAME[,option=value...]" in text


def test_help_of_the_whole_has_algorithms_commands_and_ten_options():
    text = ask("--help")
    assert ask("") == ask("-h") == text
    assert headings(text) == ["algorithms", "commands", "most used options", "examples"]
    rows = text.split("most used options:\n")[1].split("\n\n")[0].splitlines()
    assert len(rows) == 10
    for part in ("sssp, pagerank", *COMMANDS, "MODULE:CLASS"):
        assert f"  {part} " in text or part in text.split("commands:")[0]
    assert re.fullmatch(r"dgraph \d+\.\d+\.\d+", ask("--version"))


def test_the_most_used_options_are_options():
    options = set(re.findall(r"--?[a-z][a-z-]*", ask("sssp --help-all")))
    short = [name for form in COMMON for name in re.findall(r"--?[a-z][a-z-]*", form)]
    assert set(short) <= options
    assert all(len(line) <= 110 for line in ask("--help").splitlines())


@pytest.mark.parametrize("words", ["", "--help", *(f"{name} --help" for name in REGISTERED)])
def test_short_help_fits_a_screen(words):
    assert len(parse(words.split(), REGISTERED).splitlines()) <= 45


def test_help_names_the_command_that_was_called(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/opt/bin/dgraph", "sssp"])
    for words in ("", "--help-all", "sssp --help", "sssp --help-all", "estimate --help", "fetch"):
        text = ask(words)
        assert "dgraph" in text
        assert "python -m dgraph" not in text
    assert ask("sssp path:3").command == ("dgraph", "sssp", "path:3")
    with pytest.raises(UsageError, match=r"; see dgraph sssp --help-all$"):
        ask("sssp --threads")


def test_several_runs_have_several_files():
    assert name_of(Path("a/dist.txt"), 7, several=True) == Path("a/dist.7.txt")
    assert name_of(Path("a/dist.txt"), 7, several=False) == Path("a/dist.txt")


def test_a_log_has_a_line_a_phase_and_signs_of_life():
    stream = io.StringIO()
    progress = Plain(stream, time.perf_counter(), every=0.05)
    progress.phase("load", "rmat:16")
    progress.phase("solve")
    progress.round(7, 1234, 56789, "push")
    time.sleep(0.12)
    progress.close()
    lines = [line.split(" s] ")[1] for line in stream.getvalue().splitlines()]
    assert lines[:2] == ["load rmat:16", "solve"]
    assert lines[2] == "... round 7 (push): frontier of 1,234 vertices, 56,789 edges"
    assert set(lines[3:]) <= {"... no round has ended for 0 s"}
    assert len(lines) in (3, 4)


def test_a_round_that_lasts_is_named_once():
    """Check that repeated signs of life name a round once, also after another line of the same phase."""
    stream = io.StringIO()
    progress = Plain(stream, time.perf_counter(), every=60.0)
    progress.close()
    progress.phase("solve")
    progress.sign_of_life()
    progress.sign_of_life()
    for number in (7, 8):
        progress.round(number, 3)
        progress.sign_of_life()
        progress.sign_of_life()
    lines = [line.split(" s] ")[1] for line in stream.getvalue().splitlines()]
    waits = "... no round has ended for 0 s"
    rounds = [f"... round {number}: frontier of 3 vertices" for number in (7, 8)]
    assert lines == ["solve", "... solve for 0 s", "... solve for 0 s", rounds[0], waits, rounds[1], waits]


def test_only_rank_0_speaks_and_only_when_asked():
    assert type(progress_for(1, False, 0.0)) is Progress
    assert type(progress_for(0, True, 0.0)) is Progress
