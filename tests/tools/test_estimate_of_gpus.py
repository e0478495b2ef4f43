"""Plans of GPU memory: graph, upload, messages, edges by target, and what variants and schedules add."""

import pytest
from flat_run import flat_run
from test_estimate import plan

from dgraph.backend.kernel_register import SOLVERS
from dgraph.backend.row_solver import RowSize
from dgraph.cli import main
from dgraph.comm import SerialComm
from dgraph.report import write
from dgraph.tools.estimate import estimate, machines, shape_of

OF_GPUS = [("bfs", "contract-expand"), ("bfs", "two-phase")]


def test_a_gpu_is_reckoned_as_it_will_plan(capsys):
    shape = shape_of("rmat:20", weights="1..9")
    alone, four = (plan("sssp", shape, ranks).gpu for ranks in (1, 4))
    assert alone.graph == shape.edges * 8 + (shape.n + 1) * 4 + 16 * shape.n  # rows; ids, degrees, permutations
    assert alone.graph < alone.upload < 2 * shape.edges * 8  # renumbered by degree, with scratch of a piece
    assert alone.messages == 0 < four.messages
    assert alone.incoming == shape.edges // 8 * 8 + 4 * (shape.n + 1)  # rows of light edges, an eighth of all
    assert alone.incoming > four.incoming
    assert four.peak < alone.peak
    assert plan("bfs", shape).gpu.incoming > shape.edges * 8  # a directed graph that is pulled
    even = plan("sssp", shape_of("uniform:20", weights="1..9")).gpu
    assert even.upload < 1.2 * shape.edges * 8
    assert even.incoming == 0
    few = estimate("sssp", shape, 1, parameters={"source": 0}, gpu_memory=alone.whole - 1).gpu
    assert (few.incoming, few.upload) == (0, alone.upload), "there is no room for rows of light edges"
    tight = estimate("sssp", shape, 1, parameters={"source": 0}, gpu_memory=few.whole - 1).gpu
    assert tight.upload == even.upload, "there is no room for another numbering"
    assert main(["estimate", "sssp", "rmat:30", "-n", "4", "--gpu-memory", "139GiB"]) in (0, 1)
    assert "of the GPU" in capsys.readouterr().out


def test_a_report_of_gpus_is_held_against_its_plan(tmp_path, capsys):
    report = flat_run("bfs", "rmat:8", source=0, comm=SerialComm()).report
    planned = plan("bfs", shape_of("rmat:8")).gpu.peak
    report["ranks"][0]["gpu_memory"] = {"peak_bytes": planned // 2}
    write(report, tmp_path / "run.json")
    assert main(["report", str(tmp_path / "run.json"), "--plan"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("GPU memory: ")
    assert last.endswith("at most used (+100%)")


@pytest.mark.parametrize(("spec", "ranks"), [("rmat:24", 1), ("rmat:20,symmetric", 1), ("rmat:20,symmetric", 2)])
def test_edges_lie_by_tiles_where_there_is_room(spec, ranks):
    """Binned edges take six bytes each; on several ranks the rows are transposed before binning, which takes more."""
    wide = estimate("pagerank", shape_of(spec), ranks, "oec")
    tight = estimate("pagerank", shape_of(spec), ranks, "oec", gpu_memory=wide.gpu.whole - 1)
    assert 6 * wide.edges <= wide.gpu.incoming
    assert (wide.gpu.incoming <= 6.2 * wide.edges) == (ranks == 1)
    assert tight.gpu.whole < wide.gpu.whole
    assert (tight.gpu.incoming > 0) == (spec == "rmat:24")  # a directed graph needs in-edges


@pytest.mark.parametrize("weights", [None, "1..9"])
def test_weights_of_pagerank_are_planned(weights):
    """Weights are read, each vertex stores their sum, and propagation blocking is off."""
    shape = shape_of("rmat:18", weights=weights)
    ((traced, _),) = machines.needs("pagerank", shape, {}, "auto").programs
    assert traced.weighted == ("out_weight" in traced.fields) == (weights is not None)
    planned = estimate("pagerank", shape, 1)
    assert (planned.gpu.incoming > 8 * planned.edges) == (weights is not None)


@pytest.mark.parametrize(("name", "variant"), OF_GPUS)
def test_variants_take_of_a_gpu_what_their_own_arrays_take(name, variant):
    """Check GPU-only variants: more GPU state, while the host's plan is that of the program's own rounds."""
    shape = shape_of("rmat:16,symmetric")
    parameters = {"source": 0}
    ways = [{}, {"variant": variant}]
    plain, other = (estimate(name, shape, 1, "oec", parameters=parameters | way) for way in ways)
    assert other.gpu.state > plain.gpu.state
    assert (other.gpu.graph, other.load, other.build) == (plain.gpu.graph, plain.load, plain.build)


def test_schedules_take_of_a_gpu_what_their_lists_take(capsys):
    """Check words of 000: a list of edges takes two for each, sweeps two for each vertex, children six."""
    shape = shape_of("rmat:16,edge_factor=20", weights="1..100")
    options = {"parameters": {"source": 0, "variant": "bellman-ford"}, "direction": "push"}
    schedules = ("vertex", "edge", "hierarchical", "split,mdt=50", "workload")
    base, edge, sweeps, children, runs = (estimate("sssp", shape, 1, **options, schedule=s).gpu for s in schedules)
    words = [(one.state - base.state) / 4 for one in (edge, sweeps, children, runs)]
    assert words[0] == pytest.approx(2 * shape.edges, rel=0.01)
    assert words[1] == pytest.approx(2 * shape.n, rel=0.01)
    assert words[2] == pytest.approx(2 * shape.n + 6 * shape.edges / 50, rel=0.01)
    assert 0 < words[3] < 1 << 19
    assert {one.graph for one in (edge, sweeps, children, runs)} == {base.graph}
    words = ["estimate", "sssp", "rmat:24,edge_factor=20", "--direction", "push", "--gpu-memory", "4.66e9", "-q"]
    assert [main([*words, "--schedule", name]) for name in ("hierarchical", "edge", "edgy")] == [0, 1, 2]
    assert "unknown schedule 'edgy'" in capsys.readouterr().err


def test_a_drawn_graph_and_one_from_the_host_lie_on_the_gpu_once():
    shape = shape_of("rmat:30")
    options = {"parameters": {"source": 0, "return_predecessors": False}, "direction": "push", "gpu_memory": 139 << 30}
    (brought, drawn) = (estimate("bfs", shape, 1, drawn=way, **options).gpu for way in (False, True))
    assert drawn.graph < drawn.upload < 1.1 * drawn.graph
    assert drawn.whole < 139 << 30 < 1.2 * drawn.whole
    assert drawn.incoming == 0, "rounds that only push need no edges by target"
    assert brought.graph == drawn.graph
    brought = plan("bfs", shape_of("rmat:26")).gpu
    assert brought.graph < brought.upload < 1.1 * brought.graph


@pytest.mark.parametrize("solver", sorted(SOLVERS.keys() - {"draw"}))  # a draw lists few vertices
@pytest.mark.parametrize("device", ["gpu", "gpus"])
def test_a_solver_on_gpus_counts_its_bytes_or_names_its_programs(solver, device):
    kind = SOLVERS[solver].load(device)
    assert kind is None or (kind.bytes(RowSize(4000, 64000, 3000, 33000, 2000)) > 0) != bool(kind.programs)


@pytest.mark.parametrize("name", ["bc", "closeness", "reachability", "multi_source_bfs"])
def test_programs_of_solvers_between_gpus_are_planned(name):
    shape = shape_of("rmat:10")
    plan = estimate(name, shape, 2)
    size = plan.masters + plan.mirrors
    assert plan.gpu.state > 36 * size
    assert plan.gpu.messages > 0
