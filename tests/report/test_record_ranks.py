"""GPU recordings of several ranks: each rank records its own GPU, and the report has them all."""

import pytest
from emulated import backend, needs_compiler
from flat_run import flat_run
from report_schema import SCHEMA, violations

from dgraph.comm import world
from dgraph.graph.stored_graph import Graph
from dgraph.report import page
from dgraph.report.recorded import kernels, load

pytestmark = [pytest.mark.mpi, needs_compiler]


def test_every_rank_counts_its_own_edges():
    graph = Graph.load("rmat:8")
    engine = backend(schedule="twc", record=True, timed=True)
    report = flat_run(
        "bfs", graph, source=graph.hub(), backend=engine, direction="push", return_predecessors=False,
        allow_gpu_sharing=True,
    ).report  # fmt: skip
    assert list(violations(report, SCHEMA)) == []
    ranks, rounds = report["ranks"], report["rounds"]
    assert [row["schedule"] for row in rounds["kept"]] == ["twc"] * rounds["count"]
    assert [rank["schedules"] for rank in ranks] == [{"twc": rounds["count"]}] * world().size
    loads = [rank["load"] for rank in ranks if "load" in rank]
    assert sum(one["edges"] for one in loads) == rounds["frontier_edges"]
    assert all(any(row["kernel"] == "edges" for row in rank["kernels"]) for rank in ranks)
    if world().size > 1:
        assert all(rank["gpu_memory"]["messages_bytes"] > 0 for rank in ranks)
    assert "most uneven" in load(report) or world().size == 1
    assert "edges" in kernels(report)
    assert "Load by thread block" in page([report])
