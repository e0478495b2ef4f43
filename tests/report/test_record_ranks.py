"""What ranks record of their GPUs, each its own; the report has all of it."""

import pytest
from emulated import backend, needs_compiler
from report_schema import SCHEMA, violations

import dgraph
from dgraph.comm import world
from dgraph.graph.stored_graph import Graph
from dgraph.report import page
from dgraph.report.recorded import kernels, load

pytestmark = [pytest.mark.mpi, needs_compiler]


def test_every_rank_counts_its_own_edges():
    graph = Graph.load("rmat:8")
    made = backend(schedule="twc", record=True, timed=True)
    report = dgraph.run(
        "bfs", graph, source=graph.hub(), backend=made, direction="push", return_predecessors=False,
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
    assert "the least even" in load(report) or world().size == 1
    assert "edges" in kernels(report)
    assert "Load by thread block" in page([report])
