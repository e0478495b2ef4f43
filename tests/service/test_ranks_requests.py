"""Requests to one and two ranks, each started once; answers are compared with runs in this process."""

import gc
import json
import threading
import time
import weakref

import numpy as np
import pyarrow.ipc as ipc
import pytest
from kept_edges import Kept, between, cores
from ranks_served import Served, cpu_seconds

import dgraph
from dgraph.service.ranks.held_results import HeldResults, NotFound
from dgraph.service.supervisor.supervisor import RankError

pytestmark = [pytest.mark.mpi_skip, pytest.mark.starts_children, pytest.mark.interpreted]

GRAPH = "rmat:8,seed=3"
ENDLESS = {"tol": 0.0, "max_iter": 10**9}


@pytest.fixture(scope="module", params=[1, 2])
def served(request, tmp_path_factory):
    server = Served(tmp_path_factory.mktemp("state"), request.param)
    server.load("web", GRAPH, weights="1..9")
    yield server
    server.stop()
    assert server.ranks.condition == "stopped"


@pytest.fixture(scope="module")
def local():
    return dgraph.Graph.load(GRAPH, weights="1..9", device="cpu")


def refused(served, kind, *words, **fields):
    with pytest.raises(RankError) as caught:
        served.call(**fields)
    assert caught.value.kind == kind, caught.value.message
    assert all(word in caught.value.message for word in words), caught.value.message


def read(path):
    with ipc.open_file(str(path)) as file:
        return file.read_all()


def test_the_top_rows_and_the_summary_are_those_of_a_run_here(served, local):
    here = dgraph.bfs(local, source=1)
    there = served.run("web", "bfs", parameters={"source": 1}, top=5)
    assert there["summary"] == json.loads(json.dumps(here.summary))
    assert there["top"] == {name: values.tolist() for name, values in here.top(5).items()}
    assert (there["rows"], there["columns"]) == (local.n, ["vertex", "distance", "predecessor"])
    assert there["converged"]
    assert "report" not in there
    report = served.run("web", "bfs", parameters={"source": 1}, report=True)["report"]
    assert [len(report["ranks"]), report["algorithm"]["name"]] == [served.ranks.ranks, "bfs"]


def test_the_spooled_file_has_all_rows_in_order(served, local):
    path = served.state / "all.arrow"
    served.run("web", "bfs", parameters={"source": 1}, spool=str(path))
    assert read(path).equals(dgraph.bfs(local, source=1).to_arrow())
    assert [file.name for file in served.state.glob(".*.part")] == []


def test_rows_of_a_held_result(served, local):
    path = served.state / "rows.arrow"
    served.run("web", "pagerank", job="held", keep=True)
    whole = dgraph.pagerank(local).to_arrow()
    for offset, limit in [(0, None), (100, 50), (250, 50), (1000, 10)]:
        wanted = whole.slice(offset, limit).select(["pagerank"])
        answer = served.call("rows", job="held", spool=str(path), columns=["pagerank"], offset=offset, limit=limit)
        rows = read(path)
        assert answer == {"rows": wanted.num_rows}
        np.testing.assert_allclose(rows["pagerank"], wanted["pagerank"], rtol=1e-12)
    refused(served, "UsageError", "rank", op="rows", job="held", spool=str(path), columns=["rank"])


def test_lookup_keeps_the_order_asked_and_shows_missing_values_as_none(served, local):
    served.run("web", "bfs", job="look", parameters={"source": 1}, keep=True)
    here = dgraph.bfs(local, source=1).to_arrow().to_pylist()
    asked = [200, 1, 3, 200, 0]
    table = served.call("lookup", job="look", vertices=asked)["columns"]
    assert [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)] == [here[v] for v in asked]
    refused(served, "UsageError", "256", op="lookup", job="look", vertices=[1, 256])
    refused(served, "UsageError", "'a'", op="lookup", job="look", vertices=["a"])
    assert served.call("release", job="look") == {}
    refused(served, "NotFound", "run the job again", op="lookup", job="look", vertices=[1])


def test_the_oldest_held_results_are_dropped(local):
    result = dgraph.cc(local)
    results = HeldResults(most=3, most_bytes=100 * local.n)
    for job in "abcd":
        results.hold(job, result, local.n)
    with pytest.raises(NotFound, match="last 3"):
        results.find("a")
    assert results.find("b") is result
    for job in "efghijk":
        results.hold(job, dgraph.bfs(local, source=1), 2 * local.n)  # 48 bytes a vertex: two fit
    assert len(results) == 2
    results.hold("large", result, 100 * local.n)
    assert (len(results), results.find("large")) == (1, result)
    results.release("large")
    results.release("never")
    assert not results.clear()


@pytest.mark.exhaustive
def test_the_ranks_drop_the_oldest_held_results(served):
    served.run("web", "cc", job="oldest", keep=True)
    for number in range(256):
        served.run("web", "cc", job=f"later-{number}", keep=True)
    refused(served, "NotFound", "256", op="lookup", job="oldest", vertices=[1])
    assert served.call("lookup", job="later-0", vertices=[1])["columns"]["vertex"] == [1]


def test_refused_requests_leave_the_ranks_in_step(served, local):
    run = {"op": "run", "graph": "web", "version": 1, "job": "no"}
    refused(served, "UsageError", "nope", **run, algorithm="nope")
    refused(served, "UsageError", "alpha", **run, algorithm="pagerank", parameters={"alpha": "x"})
    refused(served, "UsageError", "63 bits", **run, algorithm="bfs", parameters={"source": 10**30})
    refused(served, "UsageError", "source", **run, algorithm="bfs", parameters={"source": [1]})
    refused(served, "UsageError", "personalization", **run, algorithm="pagerank", parameters={"personalization": "x"})
    walks = {"personalizations": {"1": 2}}
    refused(served, "UsageError", "list of which", **run, algorithm="multi_source_pagerank", parameters=walks)
    refused(served, "UsageError", "999", **run, algorithm="bfs", parameters={"source": 999})
    refused(served, "UsageError", "variant", **run, algorithm="cc", parameters={"variant": 7})
    refused(served, "UsageError", "mode", **run, algorithm="cc", mode="walk")
    refused(served, "UsageError", "column", **run, algorithm="cc", mode="mutate")
    refused(served, "UsageError", "algorithm", **run)
    refused(served, "UsageError", "dance", op="dance")
    refused(served, "NotFound", "load it first", **(run | {"graph": "other"}), algorithm="cc")
    refused(served, "NotFound", "1", **(run | {"version": 9}), algorithm="cc")
    store = str(served.state / "none")
    refused(
        served,
        "UsageError",
        "colour",
        op="load",
        graph="x",
        version=1,
        source=GRAPH,
        store=store,
        options={"colour": 1},
    )
    refused(
        served,
        "UsageError",
        "header",
        op="load",
        graph="x",
        version=1,
        source=GRAPH,
        store=store,
        options={"header": "no"},
    )
    refused(served, "DataError", "load the graph again", op="open", graph="x", version=1, store=store)
    assert served.run("web", "cc")["summary"] == dgraph.cc(local).summary


def test_a_cancelled_run_ends_within_a_round_and_the_next_is_right(served, local):
    seen = threading.Event()
    future, ticket = served.begin(
        "run", graph="web", version=1, job="long", algorithm="pagerank", parameters=ENDLESS,
        on_event=lambda event: "round" in event and seen.set(),
    )  # fmt: skip
    assert seen.wait(20)
    waiting, second = served.begin("run", graph="web", version=1, job="next", algorithm="cc")
    served.cancel(second)
    began = time.monotonic()
    served.cancel(ticket)
    for request in (future, waiting):
        with pytest.raises(RankError) as caught:
            request.result(20)
        assert caught.value.kind == "Cancelled"
    assert time.monotonic() - began < 10
    served.cancel(ticket)  # without effect
    there = served.run("web", "bfs", parameters={"source": 1}, top=3)
    assert there["top"] == {name: values.tolist() for name, values in dgraph.bfs(local, source=1).top(3).items()}


def test_an_error_is_gone_when_nobody_holds_it(served):
    async def refused_once():
        try:
            await served.ranks.call("dance")
        except RankError as error:
            return weakref.ref(error)

    gc.disable()
    try:
        assert served.on_loop(refused_once())() is None, "a cycle keeps it until garbage is collected"
    finally:
        gc.enable()


def test_a_time_limit_ends_a_run(served):
    refused(
        served, "TimedOut", "0.2 s", op="run", graph="web", version=1, job="long", algorithm="pagerank",
        parameters=ENDLESS, timeout_s=0.2,
    )  # fmt: skip
    assert served.run("web", "cc", timeout_s=60.0)["converged"]


def test_a_run_that_a_limit_ended_says_so(served):
    answer = served.run("web", "pagerank", parameters={"tol": 1e-30, "max_iter": 3})
    assert (answer["converged"], "3" in answer["limit"], answer["rounds"]) == (False, True, 3)


def test_a_kept_column_selects_the_vertices_of_the_next_job(served, local):
    served.run("web", "kcore", mode="mutate", column="core")
    served.call("drop", graph="web")
    assert served.reopen("web")["columns"] == ["core"]
    where = {"column": "core", "is": ">=", "value": 5}
    there = served.run("web", "cc", where=where, job="inner", keep=True)
    inner = local.with_columns(core=dgraph.kcore(local)).filter_vertices(lambda v: v.core >= 5)
    assert (there["rows"], there["summary"]) == (inner.n, dgraph.cc(inner).summary)
    refused(served, "UsageError", "comparison", op="run", graph="web", version=1, job="x", algorithm="cc",
            where={"column": "core", "is": "like", "value": 5})  # fmt: skip
    refused(served, "UsageError", "colour", op="run", graph="web", version=1, job="x", algorithm="cc",
            where={"column": "colour", "value": 5})  # fmt: skip


def test_unreached_vertices_are_not_selected_by_a_kept_distance(served, local):
    """Nor are they after the graph was opened again: the column's file has no value for them."""
    distance = dgraph.bfs(local, 1).to_pandas().distance
    reached = int(distance.notna().sum())
    assert reached < local.n
    for opened in (False, True):
        if opened:
            served.call("drop", graph="web")
            served.reopen("web")
        else:
            served.run("web", "bfs", parameters={"source": 1}, mode="mutate", column="hops")
        for compared, rows in ((">=", reached), ("<=", 1), ("!=", local.n)):
            value = 0 if compared != "!=" else 10**6
            there = served.run("web", "cc", where={"column": "hops", "is": compared, "value": value}, job=f"c{opened}")
            assert there["rows"] == rows


def test_mode_write_writes_the_file(served, local):
    path = served.state / "cores.csv"
    served.run("web", "kcore", mode="write", write=str(path))
    dgraph.kcore(local).save(path.with_name("here.csv"))
    assert path.read_bytes() == path.with_name("here.csv").read_bytes()


def test_path(served, local):
    local_result = dgraph.sssp(local, source=1)
    assert served.call("path", graph="web", version=1, source=1, target=7) == {
        "vertices": local_result.path(7), "length": local_result.value(7),
    }  # fmt: skip
    refused(served, "UsageError", "999", op="path", graph="web", version=1, source=1, target=999)


def test_memory_and_estimates(served):
    size = served.ranks.ranks
    memory = served.call("memory")["by_rank"]
    assert len(memory) == size
    assert all(rank["host_used"] > 10 << 20 and rank["device_total"] == 0 for rank in memory)
    small = served.call("estimate", graph="web", version=1, algorithm="bfs", parameters={"source": 1})
    huge = served.call("estimate", source="rmat:34", algorithm="bfs")
    assert (small["fits"], huge["fits"]) == (True, False)
    assert len(small["bytes_by_rank"]) == len(small["available_by_rank"]) == size
    assert max(small["bytes_by_rank"]) < 1 << 20 < max(huge["available_by_rank"]) < max(huge["bytes_by_rank"])


@pytest.mark.parametrize("directed", [True, False])
def test_graphs_that_keep_loops_and_parallel_edges(served, directed):
    kept, name, upload = Kept(directed), f"kept-{directed}", served.state / "kept"
    np.savetxt(upload, np.stack(kept.edges, axis=1), fmt="%d", delimiter=",")
    options = {"directed": directed, "keep_loops": True, "keep_parallel": True, "header": False}
    store = str(served.state / "graphs" / name / "1")
    served.call("table", graph=name, version=1, path=str(upload), format="csv", options=options, store=store)
    for reopened in (False, True):
        if reopened:
            served.call("drop", graph=name)
            served.reopen(name)
        for algorithm, more, column, wanted in (
            ("kcore", {}, "core_number", cores(kept)),
            ("bc", {"normalized": False}, "bc", between(kept, normalized=False)),
        ):
            top = served.run(name, algorithm, job=f"{name}-{algorithm}-{reopened}", parameters=more, top=kept.n)["top"]
            answers = dict(zip(top["vertex"], top[column], strict=True))
            assert {vertex: answers.get(vertex, 0) for vertex in wanted} == pytest.approx(wanted)
    planned = [
        served.call("estimate", graph=graph, version=1, algorithm="kcore")["bytes_by_rank"][0]
        for graph in (name, "web")
    ]
    assert min(planned) > 0


def test_a_generator_that_cannot_fit_is_refused_with_figures(served):
    graph = {"graph": "x", "version": 1, "store": str(served.state / "none")}
    refused(served, "OutOfMemory", "rmat:34 needs up to", op="load", **graph, source="rmat:34")


def test_names_weights_and_a_received_table_survive_a_reopening(served):
    table = served.state / "upload"
    table.write_text("who,whom,minutes\nann,bob,3\nbob,cy,4\nann,cy,9\ndee,eve,1\n")
    store = str(served.state / "graphs" / "calls" / "1")
    options = {"ids": "string", "columns": "who,whom,minutes", "directed": False, "header": True}
    loaded = served.call("table", graph="calls", version=1, path=str(table), format="csv", options=options, store=store)
    table.unlink()
    assert (loaded["facts"]["n"], loaded["facts"]["ids"]) == (5, "string")
    for _ in range(2):
        answer = served.run("calls", "sssp", parameters={"source": "ann"}, job="names", keep=True, top=1)
        assert answer["top"] == {"vertex": ["cy"], "distance": [7]}
        looked = served.call("lookup", job="names", vertices=["eve", "cy"])["columns"]
        assert looked == {"vertex": ["eve", "cy"], "distance": [None, 7], "predecessor": [None, "bob"]}
        ranked = served.run("calls", "pagerank", parameters={"personalization": {"dee": 1.0}}, top=2)
        assert set(ranked["top"]["vertex"]) == {"dee", "eve"}
        walks = {"personalizations": [{"ann": 1, "bob": 2.0}, ["dee"]]}
        served.run("calls", "multi_source_pagerank", parameters=walks, job="walks", keep=True)
        looked = served.call("lookup", job="walks", vertices=["dee", "cy"])["columns"]
        assert looked["pagerank_0"][0] < 1e-4 < looked["pagerank_0"][1]
        assert looked["pagerank_1"][1] < 1e-4 < looked["pagerank_1"][0]
        served.call("drop", graph="calls")
        assert served.reopen("calls")["facts"] == loaded["facts"]
    assert served.call("path", graph="calls", version=1, source="ann", target="cy")["vertices"] == ["ann", "bob", "cy"]


def test_a_table_that_is_refused_leaves_no_folder(served):
    table, store = served.state / "upload", served.state / "graphs" / "bad" / "1"
    table.write_text("1 2\n3 four\n")
    fields = {"graph": "bad", "version": 1, "path": str(table), "options": {}, "store": str(store)}
    refused(served, "DataError", "table.csv:2", op="table", format="csv", **fields)
    assert not store.exists()
    table.write_bytes(b"ARROW")
    refused(served, "DataError", "not an Arrow", op="table", format="arrow", **fields)
    refused(served, "UsageError", "yaml", op="table", format="yaml", **fields)
    assert not store.exists()


def test_reopened_graphs_have_the_same_edges(served, local):
    first = served.load("again", GRAPH, weights="1..9")["facts"]
    served.call("drop", graph="again", version=1)
    assert served.reopen("again")["facts"]["fingerprint"] == first["fingerprint"]
    here = dgraph.sssp(dgraph.Graph.load(GRAPH, weights="1..9", device="cpu"), source=1)
    assert served.run("again", "sssp", parameters={"source": 1}, top=4)["top"] == {
        name: values.tolist() for name, values in here.top(4).items()
    }


def test_idle_ranks_cost_less_than_three_percent_of_a_core(served):
    served.call("memory")
    time.sleep(0.2)
    pids, seconds = served.ranks.processes(), 0.7
    before = [cpu_seconds(pid) for pid in pids]
    time.sleep(seconds)
    used = [(cpu_seconds(pid) - start) / seconds for pid, start in zip(pids, before, strict=True)]
    assert max(used) <= 0.03, used


def test_cancelled_runs_leave_nothing_behind(served):
    files = sorted(path.name for path in served.state.iterdir())
    for number in range(20):
        future, ticket = served.begin(
            "run", graph="web", version=1, job=f"gone-{number}", algorithm="pagerank", parameters=ENDLESS, keep=True,
            spool=str(served.state / "gone.arrow"),
        )  # fmt: skip
        served.cancel(ticket)
        with pytest.raises(RankError):
            future.result(20)
    assert sorted(path.name for path in served.state.iterdir()) == files
    refused(served, "NotFound", op="lookup", job="gone-0", vertices=[1])
