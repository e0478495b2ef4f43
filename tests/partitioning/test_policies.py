"""Options of policies, streams against their definitions, parts independent of ranks, user-defined policies."""

import numpy as np
import pytest
from battery import CASES, EVERYTHING
from flat_run import flat_run
from simulated import battery, graph, grid, skewed, star, succeed

from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError
from partitioning import POLICIES, PolicyError, choose, plan
from partitioning.policies import gather_root, streaming

GRAPHS = battery()
VARIANTS = [
    *POLICIES, "hvc,threshold=3", "random,seed=9", "ldg,balance=vertices", "ldg,order=random,seed=3", "ldg,order=bfs",
    "fennel,balance=vertices,gamma=2", "fennel,order=bfs,slack=1.5", "metis,method=recursive",
    "metis,objective=volume,imbalance=0.1", "metis,weights=none,seed=2",
]  # fmt: skip


def alone(case, name, parts):
    return plan(name, case.block(SerialComm()), parts, SerialComm())


def test_options_come_from_the_signature():
    fennel = POLICIES["fennel"]
    assert str(fennel) == "fennel,gamma=1.5,alpha=0.0,balance=edges|vertices,order=natural|random|bfs,slack=1.1,seed=1"
    chosen = choose("fennel,gamma=2,balance=vertices")
    assert (chosen.given, str(chosen)) == ({"gamma": 2.0, "balance": "vertices"}, "fennel,gamma=2.0,balance=vertices")
    assert alone(GRAPHS["mesh"], "fennel,gamma=2", 3).policy == "fennel,gamma=2.0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fenel", "did you mean 'fennel'? known are auto, "),
        ("", "unknown policy ''"),
        ("fennel,gama=2", "no option 'gama': did you mean 'gamma'? known are alpha, balance, gamma"),
        ("fennel,gamma", "'gamma' is not valid; gamma is a number"),
        ("fennel,gamma=x", "'gamma=x' is not valid; gamma is a number"),
        ("fennel,balance=arcs", "balance is edges or vertices"),
        ("random,seed=1.5", "seed is an integer"),
        ("oec,seed=1", "no option 'seed': it has none"),
        ("hvc,threshold=3,threshold=4", "threshold is given twice, as 3 and 4"),
        ("no.such.module:mine", "no.such.module cannot be imported"),
        ("own/mine.py:stripes", "name the module, not the file: mine:stripes"),
        ("json:nothing", "json has no function 'nothing'"),
    ],
)
def test_what_cannot_be_chosen(text, said):
    with pytest.raises(PolicyError) as refused:
        choose(text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fennel,gamma=1", "gamma is above 1"),
        ("fennel,alpha=-1", "alpha 0 or more"),
        ("ldg,slack=0.5", "the parts cannot hold all"),
        ("hvc,threshold=-1", "is not a degree"),
        ("metis,imbalance=0", "imbalance=0.0 is not within"),
        ("metis,method=recursive,objective=volume", "needs method=kway"),
    ],
)
def test_values_that_contradict(text, said):
    with pytest.raises(PolicyError) as refused:
        alone(GRAPHS["mesh"], text, 3)
    assert said in str(refused.value)
    with pytest.raises(PolicyError, match="a graph has 1 or more"):
        alone(GRAPHS["mesh"], "oec", 0)


def owners(case, name, parts, ranks):
    """Return the owners; the test fails if ranks differ."""
    answers = succeed(ranks, lambda comm: plan(name, case.block(comm), parts, comm).owner(np.arange(case.n)))
    for other in answers[1:]:
        np.testing.assert_array_equal(other, answers[0])
    return answers[0]


@pytest.mark.parametrize("name", VARIANTS)
def test_parts_do_not_depend_on_ranks(name):
    """Blocks are excluded: they keep the load's rows if these are balanced, so they depend on the ranks."""
    for case in (GRAPHS["directed"], GRAPHS["mesh"], GRAPHS["three vertices"]):
        first = owners(case, name, 5, 1)
        assert first.min() >= 0
        assert first.max() < 5
        for ranks in (2, 3):
            np.testing.assert_array_equal(owners(case, name, 5, ranks), first)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("parts", range(1, 17) if EVERYTHING else [1, 2, 3, 4, 7, 8, 13, 16])
def test_every_policy_on_the_battery(name, parts):
    """Every vertex has one owner, every arc one holder: its owner under an edge-cut."""
    for case in CASES.values():
        n, src, dst, _ = case.arcs()
        graph_of_case = graph(n, src, dst)
        placement = alone(graph_of_case, name, parts)
        owner, holder = placement.owner(np.arange(n)), placement.edge_owner(src, dst)
        for parts_of, size in ((owner, n), (holder, len(src))):
            assert parts_of.shape == (size,)
            assert parts_of.dtype == np.int32
            assert not len(parts_of) or 0 <= parts_of.min() <= parts_of.max() < parts
        ends = {"outgoing": owner[src], "incoming": owner[dst], "vertex": holder}
        np.testing.assert_array_equal(holder, ends[placement.cut])
        assert placement.parts == parts


def streamed(case, parts, visits, balance, slack, score):
    """Compute LDG or Fennel as defined in the papers, a vertex at a time."""
    neighbours = [[] for _ in range(case.n)]
    src, dst, _ = case.arcs()
    for u, v in zip(src.tolist(), dst.tolist(), strict=True):
        neighbours[u].append(v)
        if case.directed:
            neighbours[v].append(u)
    weight = 1 + (np.bincount(src, minlength=case.n) if balance == "edges" else np.zeros(case.n, int))
    room = slack * weight.sum() / parts
    load, owner = np.zeros(parts), np.full(case.n, -1)
    for v in visits:
        near = np.bincount([owner[u] for u in neighbours[v] if owner[u] >= 0], minlength=parts)
        fits = [p for p in range(parts) if load[p] + weight[v] <= room]
        if fits:
            best = max(fits, key=lambda p: (score(near[p], load[p], room, weight.sum()), -load[p], -p))
        else:
            best = int(np.argmin(load))
        owner[v] = best
        load[best] += weight[v]
    return owner


@pytest.mark.parametrize("balance", ["edges", "vertices"])
@pytest.mark.parametrize("case", [skewed(80, 500, True), skewed(80, 400, False), grid(8, 1)], ids="abc")
@pytest.mark.parametrize("order", ["natural", "random"])
def test_streams_do_what_the_papers_say(balance, case, order):
    src = case.arcs()[0]
    visits = np.arange(case.n) if order == "natural" else np.random.default_rng(5).permutation(case.n)
    wanted = streamed(case, 4, visits, balance, 1.2, lambda near, load, room, total: near * (1 - load / room))
    owner = alone(case, f"ldg,balance={balance},slack=1.2,order={order},seed=5", 4).owner(np.arange(case.n))
    np.testing.assert_array_equal(owner, wanted)
    m = len(src) if case.directed else len(src) / 2
    alpha = m * 4**0.7 / case.n**1.7

    def fennel(near, load, room, total):
        return near - alpha * 1.7 * (load * case.n / total) ** 0.7

    wanted = streamed(case, 4, visits, balance, 1.2, fennel)
    name = f"fennel,gamma=1.7,balance={balance},slack=1.2,order={order},seed=5"
    np.testing.assert_array_equal(alone(case, name, 4).owner(np.arange(case.n)), wanted)


def test_breadth_first_streams_follow_the_arcs():
    chain = np.random.default_rng(1).permutation(50)
    case = graph(50, chain[:-1], chain[1:])
    visits = streaming._visits("bfs", 1, *_rows(case), *streaming._reversed(*_rows(case)))
    position = np.empty(50, int)
    position[chain] = np.arange(50)
    seen = position[visits]
    assert sorted(visits) == list(range(50))
    assert visits[0] == 0
    assert all(seen[: i + 1].max() - seen[: i + 1].min() == i for i in range(50))


def _rows(case):
    block = case.block(SerialComm())
    return block.offsets, block.targets


@pytest.mark.parametrize("ranks", [1, 3])
def test_arcs_that_enter_rows(ranks):
    case = GRAPHS["directed"]
    src, dst, _ = case.arcs()
    rows_of_ranks = succeed(ranks, lambda comm: streaming.in_edges(case.block(comm), comm))
    rows = [row for offsets, sources in rows_of_ranks for row in np.split(sources, offsets[1:-1])]
    for v, row in enumerate(rows):
        np.testing.assert_array_equal(np.sort(row), np.sort(src[dst == v]))


@pytest.mark.parametrize("n", [1, 2, 7, 64, 1000, 4097])
@pytest.mark.parametrize("parts", [2, 3, 16])
def test_random_deals_equal_shares(n, parts):
    owner = alone(graph(n, [], []), "random", parts).owner(np.arange(n))
    counts = np.bincount(owner, minlength=parts)
    assert counts.max() - counts.min() <= 1
    if n > 1000:
        assert np.mean(owner[1:] == owner[:-1]) < 1 / parts + 0.05
        assert not np.array_equal(owner, alone(graph(n, [], []), "random,seed=2", parts).owner(np.arange(n)))


def test_hubs_are_spread_and_the_rest_stays():
    case = star(200, directed=False)
    placement = alone(case, "hvc", 4)
    src, dst, _ = case.arcs()
    owner, holder = placement.owner(np.arange(case.n)), placement.edge_owner(src, dst)
    np.testing.assert_array_equal(holder, np.where(src == 0, owner[dst], owner[src]))
    assert np.bincount(holder).max() <= 1.1 * np.bincount(holder).mean()
    assert "1 vertices have more than 100 out-arcs, 50% of all" in placement.reason
    assert alone(case, "hvc,threshold=200", 4).cut == "outgoing"


@pytest.mark.parametrize("name", ["ldg,order=bfs", "fennel,order=random", "metis"])
def test_what_does_not_fit_is_refused_with_figures(name, monkeypatch):
    monkeypatch.setattr(gather_root, "free_memory", lambda: 3000.0)
    with pytest.raises(PolicyError) as refused:
        alone(GRAPHS["directed"], name, 3)
    assert "GiB on rank 0, which may take 0.0 GiB" in str(refused.value)
    assert "; take " in str(refused.value)


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["examples.own_policy:stripes,width=5", "hvc,threshold=3", "fennel,slack=2"])
def test_runs_under_policies_with_options(name):
    comm = world()
    result = flat_run("cc", "grid:20x20", policy=name, comm=comm)
    assert result.summary["components"] == 1
    taken = next(choice["taken"] for choice in result.report["choices"] if choice["what"] == "policy")
    spelled = {"examples.own_policy:stripes,width=5": "stripes,width=5", "fennel,slack=2": "fennel,slack=2.0"}
    assert taken == (spelled.get(name, name) if comm.size > 1 else spelled.get(name, name).partition(",")[0])


@pytest.mark.mpi
def test_a_run_refuses_what_a_policy_refuses():
    with pytest.raises(UsageError, match="did you mean 'gamma'"):
        flat_run("cc", "grid:20x20", policy="fennel,gama=2", comm=world())
