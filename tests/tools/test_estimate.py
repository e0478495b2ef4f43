"""Memory plans compared with runs: a plan suffices and is not much too large."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from children import run
from flat_run import flat_run

import dgraph
from dgraph._support.sizes import parse_size
from dgraph.algorithms import ALGORITHMS
from dgraph.backend.cpu.backend import CpuBackend
from dgraph.backend.cpu.round.interpreted import InterpretedMachine
from dgraph.backend.cpu.threads.team import Team
from dgraph.cli import main
from dgraph.cli.arguments import HelpRequested
from dgraph.cli.commands import task_of
from dgraph.comm import SerialComm
from dgraph.errors import UsageError
from dgraph.graph.build.local_graph import build
from dgraph.graph.load_options import NAMES, LoadOptions
from dgraph.graph.stored_graph import Graph
from dgraph.tools.estimate import Shape, estimate, machines, shape_of
from dgraph.tools.estimate.against import against
from partitioning import plan as partition

NEEDS = {name: {"source": 0} if algorithm.needs_source else {} for name, algorithm in ALGORITHMS.items()}


def plan(name, shape, ranks=1, policy="auto"):
    return estimate(name, shape, ranks, policy, parameters=NEEDS[name], undirected=ALGORITHMS[name].undirected)


@pytest.mark.parametrize("spec", ["rmat:9", "rmat:9,symmetric", "grid:20x30", "path:50", "uniform:8"])
def test_a_recipe_tells_the_size_that_loading_finds(spec):
    shape, graph = shape_of(spec, weights="1..9"), Graph.load(spec, comm=SerialComm(), weights="1..9")
    assert (shape.n, shape.directed, shape.weight) == (graph.n, graph.directed, graph.block.weights.itemsize)
    assert graph.m <= shape.edges <= 2 * graph.m + 10


def test_counts_and_files_tell_it_too(tmp_path):
    assert shape_of("24e6,58_000_000", directed=False) == Shape(24_000_000, 58_000_000, False)
    (tmp_path / "graph.wel").write_text("0 1 5\n1 2 7\n")
    shape = shape_of(str(tmp_path / "graph.wel"))
    assert (shape.n, shape.edges, shape.weight, shape.listed_weight) == (3, 2, 4, 4)
    with pytest.raises(UsageError, match="at least one vertex"):
        shape_of("0,5")


def test_kept_columns_are_counted(tmp_path):
    """Columns of a file count with their types, where counts alone are given with 8 bytes; rows and load have them."""
    (tmp_path / "graph.csv").write_text("source,target,time,late\n0,1,2020-01-01,true\n1,2,2021-01-01,false\n")
    path = str(tmp_path / "graph.csv")
    assert shape_of(path, keep="time,late").attributes == (8, 1)
    kept = shape_of("1e6,1e7", keep=["time", "amount:sum"])
    assert kept.attributes == (8, 8)
    plain, with_columns = plan("bfs", replace(kept, attributes=()), 2), plan("bfs", kept, 2)
    assert with_columns.graph - plain.graph == 16 * plain.edges
    assert with_columns.load > plain.load
    with pytest.raises(UsageError, match="columns are kept of tables"):
        shape_of("grid:3x3", keep="time")


PEOPLE = "who|whom|how\nAnna Smith|Ben|3\nBen|Anna Smith|4\nBen|Lee, Jo|5\nLee, Jo|Lee, Jo|1\n"
READ = [
    {"ids": "string", "separator": "|", "columns": "who,whom,how"},
    {"ids": "string", "separator": "|", "header": True, "directed": False, "merge": "sum"},
    {"ids": "string", "separator": "|", "header": True, "keep_loops": True, "weights": "unit"},
]


@pytest.mark.parametrize("options", READ)
def test_every_option_of_a_load_is_taken(options, tmp_path, capsys):
    path = tmp_path / "people.txt"
    path.write_text(PEOPLE)
    graph = Graph.load(path, comm=SerialComm(), **options)
    shape = shape_of(str(path), **options)
    assert (shape.n, shape.edges, shape.directed) == (graph.n, graph.m, graph.directed)
    assert shape.weight == (0 if graph.weight_type is None else graph.weight_type.itemsize)
    words = [f"--{name.replace('_', '-')}" if value is True else f"--{name}={value}" for name, value in options.items()]
    words = ["--undirected" if word == "--directed=False" else word for word in words]
    assert main(["estimate", "bfs", str(path), *words, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["shape"] == json.loads(json.dumps(vars(shape)))


def test_options_of_a_load_are_those_of_the_register():
    """Each one is an option of ``estimate``; generators and counts take all, too."""
    with pytest.raises(HelpRequested) as told:
        task_of("estimate", ["--help"])
    for name in NAMES:
        assert re.search(f"--(no-)?{name.replace('_', '-')}", str(told.value)), name
    defaults = {name: getattr(LoadOptions(), name) for name in NAMES}
    assert shape_of("grid:3x3", **defaults) == shape_of("grid:3x3")
    assert shape_of("9,12", **defaults | {"merge": "count"}).weight == 8
    for spec, options, text in (
        ("grid:3x3", {"ids": "string"}, "names of vertices are read only from"),
        ("grid:3x3", {"separators": ";"}, "unknown option 'separators': did you mean 'separator'"),
        ("9,12", {"order": "random"}, "unknown order"),
    ):
        with pytest.raises(UsageError, match=text):
            shape_of(spec, **options)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_what_a_machine_holds_is_read_off_the_machine(name):
    """A machine's needs cover at least the program's fields."""
    shape = Shape(0, 0, not ALGORITHMS[name].undirected, 4)
    work = machines.needs(name, shape, NEEDS[name], "auto")
    assert work.needs or work.rows
    assert work.result >= 8 or any(solver.cpu for solver in work.rows)
    for needs in work.needs:
        assert needs.master >= needs.fields
        assert needs.mirror >= needs.fields


@pytest.mark.parametrize("spec", ["rmat:13", "rmat:13,symmetric"])
def test_bytes_of_a_machine_that_pulls_are_planned(spec):
    """Each array once: bitmaps and hints of pulls, too, which machines of tiny graphs do without."""
    graph = Graph.load(spec, comm=SerialComm())
    words = {"source": 0, "return_predecessors": False}
    work = machines.needs("bfs", Shape(graph.n, graph.m, graph.directed), words, "auto")
    (needs,), ((traced, direction),) = work.needs, work.programs
    local = build(graph.block, partition("oec", graph.block, 1, graph.comm), graph.comm)
    machine = InterpretedMachine(traced, local, Team(CpuBackend(None, 1).threads), direction)
    assert machine.arrays.hints.size == graph.n
    size = machine.bytes + machine.words.nbytes + sum(values.nbytes for values in machine.state.values())
    assert needs.machine(graph.n, 0) == pytest.approx(size, rel=0.01)


def test_more_ranks_need_less_each_and_policies_differ():
    shape = Shape(1 << 20, 1 << 24, True)
    plans = [plan("bfs", shape, ranks) for ranks in (1, 4, 16, 64)]
    assert sorted((p.peak for p in plans), reverse=True) == [p.peak for p in plans]
    assert plan("bfs", shape, 16, "cvc").mirrors < plan("bfs", shape, 16, "oec").mirrors
    assert plan("bfs", shape, 16, "metis").mirrors < plan("bfs", shape, 16, "cvc").mirrors
    assert plan("cc", shape).edges == 2 * plan("bfs", shape).edges
    assert plan("sssp", Shape(1 << 20, 1 << 24, True, 8)).peak > plan("sssp", shape).peak


@pytest.mark.parametrize("name", ALGORITHMS)
def test_edges_that_an_algorithm_leaves_out_are_loaded_first(name):
    """The plan has a second graph only where the run makes one."""
    shape, rule = Shape(1 << 10, 1 << 14, False, 4), ALGORITHMS[name].edge_rule
    for kept in (("loops",), ("parallel",), ("loops", "parallel")):
        more = plan(name, replace(shape, kept=kept)).rounds - plan(name, shape).rounds
        assert more == (8 * shape.n + shape.arcs * 8 if set(kept) & set(rule.stripped) else 0)
    assert replace(shape, directed=True, kept=("loops", "parallel")).undirected().kept == ("loops",)


def test_what_a_graph_keeps_is_asked_for_and_occurs(tmp_path):
    for spec in ("rmat:6", "60,200"):
        assert shape_of(spec, keep_loops=True).kept == ("loops",)
        assert shape_of(spec, keep_parallel=True).kept == ("parallel",)
    assert shape_of("rmat-alb:6").kept == ("parallel",)
    (tmp_path / "graph.el").write_text("0 1\n1 0\n1 1\n0 2\n")
    assert shape_of(str(tmp_path / "graph.el"), keep_loops=True, keep_parallel=True).kept == ("loops",)


@pytest.mark.parametrize(("ranks", "policy"), [(4, "oec"), (6, "cvc"), (4, "hash")])
def test_mirrors_are_counted_as_a_graph_without_structure_has_them(ranks, policy):
    """Check that the estimate for uniform random edges is within 10 % of the counted mirrors."""
    n, edges = 3000, 12_000
    src, dst = np.random.default_rng(1).integers(0, n, (2, edges))
    counted = mirrors(n, src, dst, ranks, policy)
    assert plan("bfs", Shape(n, edges, True), ranks, policy).mirrors == pytest.approx(counted, rel=0.1)


@pytest.mark.parametrize(("ranks", "policy"), [(2, "oec"), (4, "oec"), (6, "cvc")])
@pytest.mark.parametrize("spec", ["rmat:14", "rmat:14,symmetric", "rmat:14,a=0.6,b=0.25,c=0.1"])
def test_mirrors_are_counted_as_rmat_has_them(spec, ranks, policy):
    """The bits of ids account for hubs and isolated vertices; the uniform estimate is 30 % too large."""
    graph, shape = Graph.load(spec, comm=SerialComm()), shape_of(spec)
    counted = mirrors(graph.n, graph.block.sources(), graph.block.targets, ranks, policy)
    assert plan("bfs", shape, ranks, policy).mirrors == pytest.approx(counted, rel=0.05)
    assert plan("bfs", replace(shape, ones=None), ranks, policy).mirrors > 1.3 * counted


def mirrors(n, src, dst, ranks, policy):
    """Count the mirrors per rank, as a mean over ranks."""
    owner = np.arange(n) * ranks // n
    part = owner[src] // 2 * 2 + owner[dst] % 2 if policy == "cvc" else owner[src]
    counts = []
    for rank in range(ranks):
        here = np.unique(np.concatenate([src[part == rank], dst[part == rank]]))
        counts.append(np.count_nonzero(owner[here] != rank))
    return np.mean(counts)


@pytest.mark.exhaustive
@pytest.mark.starts_children
@pytest.mark.parametrize("words", [["bfs", "rmat:18", "--source", "0"], ["cc", "rmat:18"]])
def test_the_plan_is_the_peak_of_a_run(words, tmp_path):
    out = tmp_path / "report.json"
    ran = run([sys.executable, "-m", "dgraph", *words, "-q", "--report", out], tmp_path / "run", timeout=110)
    assert ran.code == 0, ran.story()
    peak = json.loads(out.read_text())["ranks"][0]["peak_memory_bytes"]
    told = run([sys.executable, "-m", "dgraph", "estimate", *words[:2], "--json", "-q"], tmp_path / "plan", timeout=110)
    assert told.code == 0, told.story()
    (planned,) = json.loads(told.logs()[0])["plans"]
    assert 0.9 * peak < planned["peak"] < 1.4 * peak
    told = run([sys.executable, "-m", "dgraph", "report", out, "--plan"], tmp_path / "held", timeout=110)
    assert told.code == 0, told.story()
    (estimated,) = re.findall(r"memory: (\d+) MiB a rank estimated", told.logs()[0])
    assert 0.9 * planned["peak"] < int(estimated) << 20 < 1.1 * planned["peak"]


def test_the_command(capsys):
    assert main(["estimate", "bfs", "rmat:10", "-n", "1,4", "--policy", "oec,cvc"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.split()[:1] == ["bfs"] for line in lines) == 4
    assert main(["estimate", "all", "1e6,1e7", "--memory", "16TiB", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {one["algorithm"] for one in told["plans"]} == set(ALGORITHMS)
    assert all(one["fits"] for one in told["plans"])
    assert main(["estimate", "bfs", "1e9,1e10", "-n", "4", "--gpu-memory", "1GiB"]) == 1
    assert "NO" in capsys.readouterr().out.split()
    assert main(["estimate", "bsf", "rmat:10"]) == 2
    assert "did you mean 'bfs'" in capsys.readouterr().err
    assert main(["estimate", "bfs", "rmat:10", "--policy", "ocs"]) == 2
    assert main(["estimate", "bfs", "rmat:10", "-n", "none"]) == 2
    assert main(["estimate", "bfs", "rmat:10", "--memory", "much"]) == 2


def test_sizes_are_read():
    assert [parse_size(text) for text in ("5", "1K", "16GiB", "1.5MB", "2e3")] == [5, 1024, 16 << 30, 3 << 19, 2000]


@pytest.mark.parametrize("way", [True, None])
def test_a_report_is_held_against_the_graph_as_it_was_loaded(way):
    """A generated directed graph, which cc makes undirected; and a graph from memory, planned as it was solved."""
    graph = Graph.load("rmat:8", comm=SerialComm()) if way else Graph.from_edges([0, 1], [1, 2], n=4, comm=SerialComm())
    from_report = against(dgraph.run("cc", graph).report)
    direct = plan("cc", shape_of("rmat:8") if way else Shape(4, 2, False))
    assert (from_report.load, from_report.build, from_report.rounds) == (direct.load, direct.build, direct.rounds)


def test_distances_alone_take_less(capsys):
    told = []
    for words in ([], ["--no-return-predecessors"]):
        for name in ("bfs", "all"):
            assert main(["estimate", name, "rmat:16", "--json", *words]) == 0
            plans = json.loads(capsys.readouterr().out)["plans"]
            told.append({plan["algorithm"]: plan["rounds"] for plan in plans})
    assert told[2]["bfs"] == told[3]["bfs"] < told[0]["bfs"] == told[1]["bfs"]
    assert told[3]["pagerank"] == told[1]["pagerank"]
    assert main(["estimate", "pagerank", "rmat:9", "--no-return-predecessors"]) == 2
    assert "unknown parameter of pagerank 'return_predecessors'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("spec", ["rmat:5", "path:7"])
def test_programs_that_are_not_compiled_come_to_the_same(name, spec):
    class Plain(CpuBackend):
        def machine(self, traced, local, direction):
            return InterpretedMachine(traced, local, Team(1), direction)

    graph = dgraph.Graph.load(spec, weights="1..9", comm=SerialComm())
    more = NEEDS[name] | ({"delta": 1.0} if name == "sssp" else {})  # makes vertices wait in buckets
    compiled, plain = (flat_run(name, graph, backend=backend, **more) for backend in ("cpu", Plain(1, 1)))
    assert compiled.summary == pytest.approx(plain.summary, rel=1e-6)
    for column, values in compiled.columns.items():
        assert np.allclose(values, plain.columns[column], rtol=1e-12)


@pytest.mark.compiled
@pytest.mark.starts_children
def test_nothing_is_compiled_for_a_plan(tmp_path):
    words = ["estimate", "sssp", "rmat:30", "-n", "4", "--gpu-memory", "139GiB"]
    ran = run([sys.executable, "-m", "dgraph", *words], tmp_path / "run", extra={"DGRAPH_CACHE_DIR": str(tmp_path)})
    assert "of the GPU" in ran.text, ran.story()
    assert not list(tmp_path.rglob("*.nb?"))


def test_what_takes_long_is_told(tmp_path, capsys):
    """Reading a file is reported on stderr, so that --json can be piped."""
    (tmp_path / "graph.el").write_text("0 1\n1 2\n")
    command = ["estimate", "cc", str(tmp_path / "graph.el"), "--json"]
    assert main(command) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["plans"]
    assert [line.split("] ")[1].split()[0] for line in told.err.splitlines()] == ["load"]
    assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_variant_that_is_not_known_is_refused():
    names = "known are auto, estimates, peeling, shells"
    with pytest.raises(UsageError, match=f"unknown variant of kcore 'twice': {names}"):
        estimate("kcore", shape_of("rmat:10,symmetric"), 1, parameters={"variant": "twice"})
    with pytest.raises(UsageError, match="unknown variant of kcore 'twice'"):
        flat_run("kcore", Graph.from_edges([0], [1], n=2, comm=SerialComm()), variant="twice")


def test_a_plan_that_is_asked_for_again_makes_no_machines(monkeypatch):
    monkeypatch.setattr(machines, "_measured_before", {})
    shape, parameters = Shape(1000, 5000, True), {"source": 0}
    first = estimate("bfs", shape, 1, parameters=parameters)
    monkeypatch.setattr(machines, "_measure", lambda *_: pytest.fail("measured again"))
    assert estimate("bfs", replace(shape, n=2000), 2, parameters=parameters).rounds > first.rounds / 2
    with pytest.raises(pytest.fail.Exception):
        estimate("bfs", shape, 1, parameters={"source": 0, "return_predecessors": False})


@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_algorithm_has_a_plan_with_many_sources_too(name):
    work = ALGORITHMS[name]
    parameters = {"source": 0} if work.needs_source else {"k": 40} if "k" in work.parameters else {}
    plan = estimate(name, shape_of("rmat:10"), 2, parameters=parameters)
    assert plan.rounds > 0
