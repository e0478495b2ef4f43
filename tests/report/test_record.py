"""Recordings of a GPU (``--record``): edges by thread, seconds by kernel, ranges of a profiler."""

import gc
from functools import partial

import numpy as np
import pytest
from emulated import THREADS, backend, needs_compiler
from flat_run import flat_run
from report_schema import SCHEMA, violations

import dgraph
from dgraph._support import compile_clock
from dgraph.algorithms.bfs_programs import Levels
from dgraph.backend.cuda.codegen import module_text
from dgraph.backend.round_stats import RoundStats, Spent
from dgraph.backend.schedule_options import parse_record
from dgraph.comm import SerialComm
from dgraph.engine.rounds.load_record import LoadRecord, statistics
from dgraph.errors import UsageError
from dgraph.graph.stored_graph import Graph
from dgraph.program import trace
from dgraph.report import Record
from dgraph.report.recorded import children
from dgraph.report.recorded import load as load_text

pytestmark = pytest.mark.mpi_skip


def hub(leaves=300, tail=5):
    """Return a star of ``leaves`` leaves around vertex 0 with a path of ``tail`` vertices behind one leaf."""
    src = np.concatenate([np.zeros(leaves, np.int64), leaves + np.arange(tail)])
    dst = np.concatenate([1 + np.arange(leaves), leaves + 1 + np.arange(tail)])
    return Graph.from_edges(src, dst, n=leaves + tail + 1, comm=SerialComm())


def test_compilation_is_a_phase_of_its_own_wherever_it_happens():
    record, clock = Record(SerialComm(), []), compile_clock.clock
    with record("solve"):
        with record("init"):
            clock.seconds += 50
        clock.seconds += 6
    with record("load"), compile_clock.compiling("outer"), compile_clock.compiling("inner"):
        clock.seconds += 200
    with record("compile"):
        clock.seconds += 1000
    with record("load"):
        pass
    assert record.seconds["compile"] == pytest.approx(256, abs=1)
    figures = [record.seconds[name] for name in ("solve", "init", "load")]
    assert figures == pytest.approx([0, -50, -200], abs=1)


def test_listeners_get_the_names_of_what_compiles():
    names = []
    with compile_clock.listening(names.append), compile_clock.compiling(), compile_clock.compiling("reader"):
        pass
    with compile_clock.compiling("later"):
        pass
    assert names == ["reader"]


def ran(direction="push", **options):
    return flat_run("bfs", hub(), source=0, backend=backend(**options), direction=direction).report


@needs_compiler
def test_edges_of_every_round_are_counted_once():
    report = ran(schedule="twc", record=True)
    assert list(violations(report, SCHEMA)) == []
    (rank,), kept = report["ranks"], report["rounds"]["kept"]
    load = rank["load"]
    assert {row["schedule"] for row in kept} == {"twc"}
    assert sum(rank["schedules"].values()) == report["rounds"]["count"]
    assert load["edges"] == report["rounds"]["frontier_edges"]
    assert load["rounds"][0]["edges"] == 300
    columns = rank["rounds"]
    for row in load["rounds"]:
        i = [one["round"] for one in kept].index(row["round"])
        assert columns["fullest_block"][i] == row["block"]["max"]
        assert columns["mean_block"][i] * load["blocks"] == pytest.approx(row["edges"], abs=0.01)
    # a vertex of 300 edges is large: one block of 64 threads walks all of them, every thread 4 or 5
    first = load["rounds"][0]
    assert sorted(first["by_block"]["edges"]) == [0, 300]
    assert (first["thread"]["max"], first["block"]["ratio"]) == (-(-300 // THREADS), 2.0)


@needs_compiler
def test_huge_vertices_are_told_apart():
    first = ran(schedule="alb", alb_threshold=100, record=True)["ranks"][0]["load"]["rounds"][0]
    assert first["by_block"] == {"edges_huge": [150, 150]} or sum(first["by_block"]["edges_huge"]) == 300
    assert first["block"]["ratio"] < 1.1


@needs_compiler
@pytest.mark.parametrize("schedule", ["auto", "persistent"])
def test_rounds_of_the_persistent_kernel_are_counted_one_by_one(schedule):
    report = ran(schedule=schedule, record=True)
    load = report["ranks"][0]["load"]
    kept = report["rounds"]["kept"]
    assert [row["edges"] for row in load["rounds"]][:3] == [row["frontier_edges"] for row in kept][:3]
    assert kept[0]["schedule"] == "persistent"


@needs_compiler
def test_pulls_are_counted():
    report = flat_run("pagerank", hub(), backend=backend(record=True), max_iter=2, tol=0.0).report
    load = report["ranks"][0]["load"]
    assert set(report["ranks"][0]["schedules"]) == {"pull"}
    assert load["edges"] == 2 * 305


@needs_compiler
def test_queues_of_steal_are_told():
    report = ran(schedule="steal", record=True)
    assert list(violations(report, SCHEMA)) == []
    queues = report["ranks"][0]["queues"]
    assert queues["queues"] == report["ranks"][0]["load"]["blocks"]
    assert queues["least"] <= queues["mean"] <= queues["most"] <= queues["tasks"]
    assert f"{queues['tasks']} tasks in 2 queues" in load_text(report)


@needs_compiler
def test_split_vertices_are_counted():
    report = ran(schedule="split", mdt=40)
    assert list(violations(report, SCHEMA)) == []
    counts = report["ranks"][0]["counts"]
    assert [counts[name] for name in ("mdt", "split_vertices", "child_vertices")] == [40, 1, -(-300 // 40) - 1]
    assert "MDT 40: 1 vertices (" in children(counts)


@pytest.mark.exhaustive
@needs_compiler
def test_seconds_by_kernel():
    report = ran(schedule="alb", alb_threshold=100, timed=True)
    assert list(violations(report, SCHEMA)) == []
    kernels = {(row["schedule"], row["kernel"]): row for row in report["ranks"][0]["kernels"]}
    assert kernels["alb", "edges"]["launches"] >= report["rounds"]["count"]
    assert kernels["alb", "edges"]["walks"]
    assert 1 <= kernels["alb", "edges_huge"]["launches"] <= 2, "only where there is a huge vertex"
    assert not kernels["", "rounds"]["walks"], "with a schedule of its own it only ends rounds"
    assert all(row["seconds"] > 0 for row in kernels.values())
    assert "load" not in report["ranks"][0]


@needs_compiler
def test_nothing_is_recorded_unasked():
    (rank,) = ran(schedule="alb")["ranks"]
    assert "load" not in rank
    assert "kernels" not in rank
    assert "fullest_block" not in rank["rounds"]


def test_machine_code_is_the_same_where_nothing_is_recorded():
    nvrtc = pytest.importorskip("dgraph.backend.cuda.device.nvrtc")
    pytest.importorskip("cuda.bindings.nvrtc")
    whole = module_text.edges(trace(Levels(source=0), None), module_text.ModuleFlags(), "vertex")
    bare = "".join(line for line in whole.splitlines(keepends=True) if "if (RECORD)" not in line)
    assert bare.count("\n") < whole.count("\n")
    assert nvrtc.compiled(bare, "sm_90", "bare") == nvrtc.compiled(whole, "sm_90", "bare")


@needs_compiler
def test_ranges_nest_and_name_phases_and_rounds():
    engine = backend(schedule="alb", ranges=True)
    flat_run("bfs", hub(), source=0, backend=engine, direction="push")
    names, depth = engine.device.ranges, 0
    assert {"solve", "compute", "from round 1"} <= set(names)
    for name in names:
        depth += 1 if name else -1
        assert depth >= 0
    assert depth == 0


def test_what_can_be_recorded():
    assert parse_record("load, time, residual") == {"record": True, "timed": True}
    assert parse_record(None) == {}
    with pytest.raises(UsageError, match="unknown thing to record 'tiem': did you mean 'time'"):
        parse_record("tiem")


def test_cpus_have_no_edges_by_thread_to_record():
    with pytest.raises(UsageError, match="record='load' is about GPUs"):
        flat_run("bfs", hub(), source=0, backend="cpu", record="load")


# records in the report


def note(*blocks, schedule="lb", kernel="edges"):
    return RoundStats(schedule, {kernel: np.array(blocks, np.int64).repeat(32).reshape(len(blocks), 32)})


def test_the_first_rounds_and_the_heaviest_are_kept_in_full():
    loads = LoadRecord()
    for round in range(1, 101):
        loads.add(round, note(900 if round in (50, 70) else round, 1))
    rows = loads.facts()["rounds"]
    assert [row["round"] for row in rows] == [1, 2, 3, 50, 70, 100]
    assert rows[3]["by_block"] == {"edges": [900 * 32, 32]}


def test_grids_of_different_sizes_are_added_block_by_block():
    loads = LoadRecord()
    both = RoundStats("alb", {**note(1, 2, 3).edges, **note(5, kernel="edges_huge").edges})
    assert loads.add(1, both) == (6 * 32, 11 * 32 / 3)
    loads.add(2, note(1, 1, 1, 1))
    told = loads.facts()
    assert told["by_block"] == {"edges": [64, 96, 128, 32], "edges_huge": [160]}
    assert (told["blocks"], told["edges"], told["block"]["max"]) == (4, 15 * 32, 7 * 32)


def test_statistics_are_what_they_are_called():
    told = statistics(np.array([0, 0, 1, 2, 3, 4, 1023, 1024]))
    assert told["histogram"] == [2, 1, 2, 1, 0, 0, 0, 0, 0, 0, 1, 1]
    assert (told["min"], told["max"], told["mean"]) == (0, 1024, 257.125)
    assert told["ratio"] == pytest.approx(1024 / 257.125, abs=1e-4)
    assert told["deviation"] == pytest.approx(np.std([0, 0, 1, 2, 3, 4, 1023, 1024]), abs=1e-3)
    assert statistics(np.zeros(4, np.int64))["ratio"] is None


def test_kernels_of_several_programs_add_up():
    told = Record(SerialComm(), [])
    told.spent([Spent("alb", "edges", True, 2, 0.5)])
    told.spent([Spent("alb", "edges", True, 1, 0.25), Spent("", "end_phase", False, 3, 0.1)])
    rows = told.collect()["ranks"][0]["kernels"]
    told = [(row["kernel"], row["launches"], row["seconds"]) for row in rows]
    assert told == [("edges", 3, 0.75), ("end_phase", 3, 0.1)]


@pytest.mark.parametrize("device", ["cpu", pytest.param("emulated", marks=needs_compiler)])
def test_a_run_leaves_no_cycles_for_the_collector_of_garbage(device):
    graph = hub().on(device="cpu" if device == "cpu" else backend())

    def run():
        dgraph.bfs(graph, source=0).top(3)

    run()
    gc.collect()
    run()
    assert gc.collect() == 0


def test_a_report_has_what_was_added_since_the_one_before():
    """Check a record that is gathered again after its counters and warnings grew in place."""
    record, reports = Record(SerialComm(), ["test"]), []
    for add in (*[partial(record.count, "edges", 1)] * 5, partial(record.warn, "late")):
        add()
        reports.append(record.collect())
    assert [report["ranks"][0]["counts"]["edges"] for report in reports] == [1, 2, 3, 4, 5, 5]
    assert [report["warnings"] for report in reports] == [[]] * 5 + [["late"]]
