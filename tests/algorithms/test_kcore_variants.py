"""Variants of kcore on any number of ranks find the same columns, summaries and certificates as peeling."""

from functools import cache

import emulated
import networkx as nx
import numpy as np
import oracles
import pytest
from battery import by_turns
from flat_run import flat_run

import dgraph
from dgraph.algorithms import kcore
from dgraph.algorithms.kcore_parts import shells
from dgraph.backend.cuda.memory import work_arrays
from dgraph.cli import warmup
from dgraph.comm import world

SPECS = ("rmat:8,symmetric", "road:18x18", "grid:9x9")


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_estimates_are_the_core_numbers(device):
    comm = world()
    more = {"backend": "cpu"} if device == "cpu" else {"backend": emulated.backend(), "allow_gpu_sharing": True}
    for spec in SPECS:
        graph = dgraph.Graph.load(spec, comm=comm)
        for k in (None, 0, 1, 2):
            by_peeling = flat_run("kcore", graph, k=k, backend="cpu")
            result = flat_run("kcore", graph, k=k, variant="estimates", policy="hash", validate=True, **more)
            assert result.report["outcome"]["validation"]["passed"]
            assert result.summary == by_peeling.summary
            (column,) = by_peeling.columns.keys() - {"vertex"}
            np.testing.assert_array_equal(_whole(result, column), _whole(by_peeling, column))


@pytest.mark.mpi
def test_estimates_start_from_degrees_and_fall():
    """Check that a round limit leaves upper bounds, and that isolated vertices and hubs get their core numbers."""
    n, src, dst = layered()
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    graph = dgraph.Graph.from_edges(src[mine], dst[mine], n=n, directed=False, comm=comm)
    wanted = oracles.core_numbers(n, src, dst)
    whole = flat_run("kcore", graph, backend="cpu", variant="estimates")
    np.testing.assert_array_equal(_whole(whole, "core_number"), wanted)
    limited = flat_run("kcore", graph, backend="cpu", variant="estimates", max_rounds=2)
    early = _whole(limited, "core_number")
    assert not limited.converged
    assert (early >= wanted).all()
    assert (early > wanted).any()


@cache
def layered():
    """Return n, sources, targets of connected cliques, random edges and isolated vertices.

    The cliques have 2 to 24 vertices, so that some vertex is at every level.
    """
    rng = np.random.default_rng(4)
    ends, first = [rng.integers(0, 300, (500, 2))], 0
    for size in range(2, 25):
        clique = first + np.array([(a, b) for a in range(size) for b in range(a)])
        ends += [clique, np.array([[first, (7 * first + 13) % 300]])]
        first += size
    src, dst = np.concatenate(ends).T
    apart = src != dst
    return 330, src[apart], dst[apart]


def by_shells(backend, **more):
    """Return a validated run on the layered graph."""
    n, src, dst = layered()
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    graph = dgraph.Graph.from_edges(src[mine], dst[mine], n=n, directed=False, comm=comm)
    more = {"allow_gpu_sharing": True} | more if backend != "cpu" else more
    result = flat_run("kcore", graph, backend=backend, variant="shells", validate=True, **more)
    assert result.report["outcome"]["validation"]["passed"]
    return result


ROUNDS: dict[int, int] = {}
"""Levels per step → rounds of the first run, which all others must need, too."""


@emulated.needs_compiler
@pytest.mark.mpi
@by_turns("step, policy, how", [1, 3, 16, 64], ["oec", "iec", "hash", "cvc"], [
    None, {}, {"small": -1}, {"host_rounds": True}, {"small": -1, "host_rounds": True}, {"schedule": "alb"},
], of=6)  # fmt: skip
def test_shells_are_peeled_side_by_side(step, policy, how, monkeypatch):
    """Check core numbers and rounds; ``how``: options of an emulated GPU, None: a CPU."""
    monkeypatch.setattr(shells, "STEP", step)
    monkeypatch.setattr(work_arrays, "KEPT", 1)
    result = by_shells("cpu" if how is None else emulated.backend(**how), policy=policy)
    np.testing.assert_array_equal(_whole(result, "core_number"), oracles.core_numbers(*layered()))
    assert result.rounds == ROUNDS.setdefault(step, result.rounds), "rounds depend on the graph alone"


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["oec", "hash"])
def test_edges_into_other_steps_are_left_out(policy, monkeypatch):
    """Check the edges walked with steps of one level.

    The first program walks each edge; the second one only those whose ends have equal core numbers.
    """
    monkeypatch.setattr(shells, "STEP", 1)
    n, src, dst = layered()
    core, once = oracles.core_numbers(n, src, dst), np.unique(np.sort([src, dst], axis=0), axis=1)
    arcs, alike = 2 * once.shape[1], 2 * int((core[once[0]] == core[once[1]]).sum())
    walked = []
    for kept in (1, 10**9):
        monkeypatch.setattr(work_arrays, "KEPT", kept)
        result = by_shells(emulated.backend(), policy=policy)
        np.testing.assert_array_equal(_whole(result, "core_number"), core)
        walked.append(result.report["rounds"]["frontier_edges"])
    assert walked[0] <= arcs + alike < walked[1] <= 2 * arcs, "but for those of the last that are dropped"


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.parametrize("backend", ["cpu", "gpu"])
def test_levels_of_a_step_are_not_jumped_past(backend):
    """Check that the second step's levels are not skipped.

    Twenty vertices joined to all others put the levels into the second step. Its first level drops the leaves of hubs;
    the hubs are then at the next level, at which no vertex was counted before.
    """
    whole = nx.complete_graph(3)
    whole.add_edges_from((hub, 100 * (hub + 1) + leaf) for hub in range(3) for leaf in range(10))
    whole = nx.disjoint_union(whole, nx.complete_graph(9))
    whole = nx.convert_node_labels_to_integers(nx.full_join(whole, nx.complete_graph(20), rename=("a", "b")))
    comm = world()
    src, dst = np.array(whole.edges, np.int64)[comm.rank :: comm.size].T
    graph = dgraph.Graph.from_edges(src, dst, n=len(whole), directed=False, comm=comm)
    more = {"backend": "cpu"} if backend == "cpu" else {"backend": emulated.backend(), "allow_gpu_sharing": True}
    result = flat_run("kcore", graph, variant="shells", max_rounds=80, **more)
    assert result.converged
    cores = np.array([core for _, core in sorted(nx.core_number(whole).items())])
    np.testing.assert_array_equal(_whole(result, "core_number"), cores)


@pytest.mark.mpi
@pytest.mark.parametrize("direction", ["push", "pull", "flip"])
@pytest.mark.parametrize("sync", ["full", "poison"])
def test_shells_in_every_direction(direction, sync, monkeypatch):
    monkeypatch.setattr(shells, "STEP", 4)
    result = by_shells("cpu", direction=direction, sync=sync, policy="hash")
    np.testing.assert_array_equal(_whole(result, "core_number"), oracles.core_numbers(*layered()))


@emulated.needs_compiler
@pytest.mark.mpi
def test_several_gpus_take_shells_where_many_levels_may_be(monkeypatch):
    comm = world()
    graph = dgraph.Graph.load("rmat:8,symmetric", comm=comm)
    backend = emulated.backend()

    def taken(backend):
        result = flat_run("kcore", graph, backend=backend, allow_gpu_sharing=backend != "cpu")
        return [choice["taken"] for choice in result.report["choices"] if choice["what"] == "variant"]

    assert taken(backend) == [], "no vertex has so many edges"
    monkeypatch.setattr(kcore, "HUB", 16)
    assert taken(backend) == ["shells"] * (comm.size > 1)
    assert taken("cpu") == []
    monkeypatch.setattr(kcore, "MEAN", 100)
    assert taken(backend) == []


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.parametrize(("backend", "wanted"), [("cpu", [None]), ("cuda", [None, "shells"])])
def test_warmup_runs_what_several_gpus_take(backend, wanted, monkeypatch):
    seen, run = [], warmup.run

    def running(name, graph, **settings):
        seen.append(settings.get("variant"))
        return run(name, graph.on(device=emulated.backend() if backend == "cuda" else backend), **settings)

    monkeypatch.setattr(warmup, "run", running)
    monkeypatch.setattr(warmup, "_run_drawn", lambda *_: None)  # GPUs draw those graphs
    warmup._compile_on_all_ranks("kcore", backend, world())
    assert seen == wanted[: 1 + (world().size > 1)]


def _whole(result, column):
    """Return a column of the whole graph, by vertex, on every rank."""
    both = np.stack([np.asarray(result.columns[name], np.int64) for name in ("vertex", column)])
    parts = [part.reshape(2, -1) for part in result.comm.allgatherv(np.ascontiguousarray(both).ravel())]
    vertex, values = np.concatenate(parts, axis=1)
    return values[np.argsort(vertex)]
