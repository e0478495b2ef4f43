"""Rounds of peeling: empty levels cost none; rounds over all remaining vertices stay in the kernel if few remain."""

import itertools
from functools import cache

import networkx as nx
import numpy as np
import pytest
import simulated
from emulated import needs_compiler
from flat_run import flat_run
from gpu_ranks import field, run

import dgraph
from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.cuda.codegen import control_block, exchange_state
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.comm import world

GPUS = [GpuPlan(), GpuPlan(small=-1), GpuPlan(host_rounds=True), GpuPlan(small=-1, host_rounds=True)]


def joined(*parts):
    """Return the disjoint union of graphs, as a test graph and as NetworkX's."""
    whole = nx.disjoint_union_all(parts)
    src, dst = np.array(whole.edges, np.int64).T
    return simulated.graph(whole.number_of_nodes(), src, dst, directed=False), whole


@cache
def sparse_levels():
    """Return a clique and a path: from level 2, a bound from the path's inner vertices, to 39 all levels are empty."""
    return joined(nx.complete_graph(40), nx.path_graph(6))


ROUNDS = 1 + (3 + 1) + 1 + 1
"""Level 0; the path from its ends, and a round that drops no vertex; level 2; level 39."""

MOST = 80
"""Limit of rounds, in case a vertex is skipped and never dropped."""


@cache
def hidden_levels():
    """Return a graph with hubs that later rounds of a level leave few neighbours: k must not skip them."""
    whole = nx.Graph(itertools.combinations(range(3), 2))
    whole.add_edges_from((hub, 100 * (hub + 1) + leaf) for hub in range(3) for leaf in range(10))
    return joined(whole, nx.complete_graph(9))


def limited(context):
    context.max_rounds = MOST


def cores(whole):
    return np.array([core for _, core in sorted(nx.core_number(whole).items())])


@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["oec", "hash"])
@pytest.mark.parametrize("direction", ["push", "flip"])
def test_levels_that_nobody_is_at_take_no_rounds(policy, direction):
    comm = world()
    for graph, whole in (sparse_levels(), hidden_levels()):
        mine = slice(comm.rank, None, comm.size)
        loaded = dgraph.Graph.from_edges(graph.src[mine], graph.dst[mine], n=graph.n, directed=False, comm=comm)
        choices = {"policy": policy, "direction": direction, "max_rounds": MOST}
        result = flat_run("kcore", loaded, backend="cpu", **choices)
        with comm.together():
            np.testing.assert_array_equal(result.columns["core_number"], cores(whole)[result.columns["vertex"]])
            assert result.converged
            assert whole is hidden_levels()[1] or result.rounds == ROUNDS


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("options", GPUS)
@pytest.mark.parametrize("ranks", [2, 4])
def test_nor_between_gpus(options, ranks):
    for graph, whole in (sparse_levels(), hidden_levels()):
        (results,) = run(ranks, graph, [Peel()], policy="hash", options=options, wrapped=limited)
        np.testing.assert_array_equal(field(results, "core", graph.n), cores(whole))
        assert all(state.finished for _, state, _ in results)
        assert whole is hidden_levels()[1] or {state.rounds for _, state, _ in results} == {ROUNDS}


class Rounds(Peel):
    """Peeling without its edge kernel."""

    kernel = None


@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("ranks", [1, 3, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_the_edge_kernel_of_gpus_finds_what_the_program_finds(ranks):
    graph, whole = hidden_levels()
    for results in run(ranks, graph, [Peel(), Rounds()], policy="hash", wrapped=limited):
        np.testing.assert_array_equal(field(results, "core", graph.n), cores(whole))


@needs_compiler
@pytest.mark.mpi
def test_nor_on_gpus_of_any_number():
    from emulated import backend

    comm, (graph, whole) = world(), sparse_levels()
    mine = slice(comm.rank, None, comm.size)
    loaded = dgraph.Graph.from_edges(graph.src[mine], graph.dst[mine], n=graph.n, directed=False, comm=comm)
    result = flat_run("kcore", loaded, backend=backend(), allow_gpu_sharing=True)
    with comm.together():
        np.testing.assert_array_equal(result.columns["core_number"], cores(whole)[result.columns["vertex"]])
        assert result.rounds == ROUNDS


@pytest.fixture
def begun(monkeypatch, no_host_checks):
    """Rounds in which rank 0 launches the kernel that runs many rounds."""
    seen, launch, across = [], GpuMachine.launch, GpuMachine.run_device_rounds

    def launched(self, *calls):
        if (
            self.device_exchange
            and self.device_exchange.comm.rank == 0
            and calls[0][:2] == ("multi_gpu_rounds", "multi_gpu_rounds")
        ):
            seen.append(self.round)
        launch(self, *calls)

    def entered(self, limit):
        if self.device_exchange.comm.rank == 0:
            seen.append(self.round)
        across(self, limit)

    monkeypatch.setattr(GpuMachine, "launch", launched)
    monkeypatch.setattr(GpuMachine, "run_device_rounds", entered)
    return seen


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("host_rounds", [False, True])
def test_rounds_over_few_that_live_stay_in_the_kernel(host_rounds, begun, monkeypatch):
    """Check that rounds stay in the kernel once few vertices remain, even if the graph is larger than the bound.

    Level 1 leaves small cliques. Remaining vertices are counted in the first round of a level: of a star, that round
    drops all leaves; of a path, only the ends.
    """
    cliques = [nx.complete_graph(size) for size in range(4, 13)]
    monkeypatch.setattr(exchange_state, "WHOLE_MULTI_GPU", 20)
    later = 1 + 30 + 1
    for other, wanted in ((nx.star_graph(300), [2]), (nx.path_graph(60), [2, later + 1 + host_rounds])):
        graph, whole = joined(other, *cliques)
        begun.clear()
        (results,) = run(4, graph, [Peel()], policy="hash", options=GpuPlan(host_rounds=host_rounds))
        np.testing.assert_array_equal(field(results, "core", graph.n), cores(whole))
        assert len({state.rounds for _, state, _ in results}) == 1
        assert begun == wanted, "hosts know what lives once the kernel has sent it"


@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("host_rounds", [False, True])
def test_a_kernel_that_was_left_is_entered_again_before_a_level(host_rounds, begun, monkeypatch):
    """Check that the kernel is launched again after it leaves because its record of rounds is full.

    The record holds the rounds of one call, or those since the hosts' last allreduce. On the star, level 1 takes three
    rounds: leaves, hub, and one that drops no vertex. Level 2, a bound from the hub, costs one. Each clique takes two.
    """
    monkeypatch.setattr(exchange_state, "WHOLE_MULTI_GPU", 20)
    monkeypatch.setattr(control_block, "RING", 4)
    graph, whole = joined(nx.star_graph(300), *(nx.complete_graph(size) for size in range(4, 13)))
    (results,) = run(4, graph, [Peel()], policy="hash", options=GpuPlan(host_rounds=host_rounds))
    np.testing.assert_array_equal(field(results, "core", graph.n), cores(whole))
    assert {state.rounds for _, state, _ in results} == {1 + 3 + 1 + 2 * 8 + 1}
    assert begun == [2, *range(6 if host_rounds else 4, 22, 4)]


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("host_rounds", [False, True])
def test_rounds_over_many_that_live_do_not(host_rounds, begun, monkeypatch):
    """Check that the first round of a level has a kernel of its own until few vertices remain."""
    graph, whole = joined(*(nx.complete_graph(size) for size in range(4, 13)))
    monkeypatch.setattr(exchange_state, "WHOLE_MULTI_GPU", 15)
    (results,) = run(2, graph, [Peel()], policy="hash", options=GpuPlan(host_rounds=host_rounds))
    np.testing.assert_array_equal(field(results, "core", graph.n), cores(whole))
    left = np.cumsum(np.arange(12, 3, -1))
    many = int((left > 30).sum())
    assert begun == [2 + 2 * level for level in range(many)], "each takes a first round, and one that finds no more"


@pytest.mark.mpi_skip
@pytest.mark.compiled
def test_rounds_of_the_edge_kernel_take_all_threads_or_one(monkeypatch):
    """Vertices fall inside a round, so its frontier does not show how much it does; many levels have many barriers."""
    teams = []

    def noted(start):
        def started(self, work, threads, *rest):
            teams.append(threads)
            return start(self, work, threads, *rest)

        return started

    graphs = [dgraph.Graph.load(spec, device=dgraph.Cpu(threads=2)) for spec in ("grid:120x120", "rmat:11,symmetric")]
    for graph in graphs:
        dgraph.kcore(graph)
    for name in ("run", "launch"):
        monkeypatch.setattr(Team, name, noted(getattr(Team, name)))
    for graph, last in zip(graphs, (2, 1), strict=True):
        teams.clear()
        dgraph.kcore(graph)
        assert (teams[0], teams[-1]) == (2, last)
