"""Policies: look-ups equal on all ranks, balanced shares, policies of users, correct figures."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from children import ROOT
from placements import balance, placed
from simulated import battery, graph, on_ranks, skewed, succeed

from dgraph.comm import world
from partitioning import POLICIES, Placement, Policy, PolicyError, plan, quality
from partitioning.__main__ import main as command
from partitioning.arrays import arcs
from partitioning.arrays.gidset import GidSet
from partitioning.policies.cvc import grid as shape

RANKS = [1, 2, 3, 4, 5, 8]
GRAPHS = battery()
ACROSS = ["directed", "undirected hub", "three vertices", "no vertices", "mesh"]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("policy", POLICIES)
def test_look_ups(policy, ranks, name):
    case = GRAPHS[name]
    src, dst, _ = case.arcs()
    gids = np.arange(case.n)
    first, *others = placed(case, policy, ranks)
    owner, edge_owner = first.owner(gids), first.edge_owner(src, dst)
    for ranks_of in (owner, edge_owner):
        assert ranks_of.dtype == np.int32
        assert np.all((ranks_of >= 0) & (ranks_of < ranks))
    for other in others:
        assert (other.policy, other.reason, other.cut) == (first.policy, first.reason, first.cut)
        assert np.array_equal(other.owner(gids), owner)
        assert np.array_equal(other.edge_owner(src, dst), edge_owner)
    assert np.array_equal(first.owner(gids[::-1].astype(np.uint32)), owner[::-1])
    assert np.array_equal(first.edge_owner(src[::2].astype(np.uint32), dst[::2].astype(np.uint32)), edge_owner[::2])
    assert first.policy in POLICIES
    assert first.reason
    ends = {"outgoing": owner[src], "incoming": owner[dst]}
    assert first.cut == "vertex" or np.array_equal(edge_owner, ends[first.cut])


@pytest.mark.parametrize("policy", ["oec", "iec"])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_blocks_are_contiguous_and_even(policy, ranks, name):
    case = GRAPHS[name]
    first = placed(case, policy, ranks)[0]
    bounds = first.owner.bounds
    assert bounds.shape == (ranks + 1,)
    assert (bounds[0], bounds[-1]) == (0, case.n)
    assert np.all(np.diff(bounds) >= 0)
    src, dst, _ = case.arcs()
    cost = 1 + np.bincount(src if policy == "oec" else dst, minlength=case.n)
    costs = np.bincount(first.owner(np.arange(case.n)), cost, minlength=ranks)
    assert costs.max() <= max(1.05 * costs.mean(), costs.mean() + cost.max(initial=0))


def test_rows_that_lie_well_are_left_where_they_are():
    bounds = [0, 26, 50, 74, 100]
    chain = graph(100, np.arange(100), (np.arange(100) + 1) % 100)
    assert list(placed(chain, "oec", 4, bounds=bounds)[0].owner.bounds) == bounds
    assert list(placed(chain, "oec", 4, bounds=[0, 40, 50, 74, 100])[0].owner.bounds) == [0, 25, 50, 75, 100]


def test_in_degrees_are_counted_piece_by_piece(monkeypatch):
    case = GRAPHS["directed"]
    whole = placed(case, "iec", 4)[0].owner.bounds
    monkeypatch.setattr(arcs, "CHUNK", 11)
    assert np.array_equal(placed(case, "iec", 4, bounds=[0, 0, 0, 90, 90])[0].owner.bounds, whole)


def test_the_grid_is_as_square_as_it_can_be():
    shapes = {1: (1, 1), 2: (1, 2), 4: (2, 2), 6: (2, 3), 7: (1, 7), 8: (2, 4), 9: (3, 3), 12: (3, 4), 16: (4, 4)}
    assert {size: shape(size) for size in shapes} == shapes


@pytest.mark.parametrize("ranks", [4, 6, 8, 9])
def test_cvc_stays_in_the_row_of_the_source_and_the_column_of_the_target(ranks):
    case = skewed(300, 3000, directed=True)
    first = placed(case, "cvc", ranks)[0]
    rows, columns = shape(ranks)
    src, dst, _ = case.arcs()
    owner, holder = first.owner(np.arange(case.n)), first.edge_owner(src, dst)
    assert first.cut == "vertex"
    assert f"{rows} × {columns}" in first.reason
    assert np.array_equal(holder // columns, owner[src] // columns)
    assert np.array_equal(holder % columns, owner[dst] % columns)
    assert len(set(holder.tolist())) == ranks


def test_cvc_on_a_prime_number_of_ranks_says_what_it_is():
    first = placed(GRAPHS["directed"], "cvc", 5)[0]
    assert first.cut == "incoming"
    assert "5 is prime" in first.reason
    assert "1 × 5" in first.reason


@pytest.mark.parametrize("ranks", [2, 3, 7, 64])
def test_hash_deals_evenly_and_breaks_up_runs(ranks):
    owner = placed(graph(64_000, [], []), "hash", ranks)[0].owner(np.arange(64_000))
    assert balance(np.bincount(owner, minlength=ranks)) < 1.12
    same_as_before = np.mean(owner[1:] == owner[:-1])
    assert abs(same_as_before - 1 / ranks) < 0.02


def figures(case, placement, parts):
    """Return the expected result of ``quality``, computed from the whole graph."""
    src, dst, _ = case.arcs()
    owner, holder = placement.owner(np.arange(case.n)), placement.edge_owner(src, dst)
    left, entered = (
        {(h, v) for h, v in zip(holder.tolist(), ends.tolist(), strict=True) if owner[v] != h} for ends in (src, dst)
    )
    mirrors = len(left | entered)
    masters, arcs_of_parts = np.bincount(owner, minlength=parts), np.bincount(holder, minlength=parts)
    return {
        "cut": np.mean(owner[src] != owner[dst]) if len(src) else 0.0,
        "mirrors": mirrors,
        "mirrors_left": len(left),
        "mirrors_entered": len(entered),
        "replication_factor": (case.n + mirrors) / max(case.n, 1),
        "vertex_balance": balance(masters) if case.n else 1.0,
        "edge_balance": balance(arcs_of_parts) if len(src) else 1.0,
    }


def told(edges, placement, comm):
    """Return the result of ``quality`` without the predictions, which follow from the rest."""
    figures_of_plan = quality(edges, placement, comm)
    figures_of_plan.pop("round_bytes")
    return figures_of_plan


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_quality(policy, ranks, monkeypatch):
    """Figures are computed in pieces; on three ranks also with the marks of a few parts at a time."""
    monkeypatch.setattr(arcs, "CHUNK", 100)
    if ranks == 3:
        monkeypatch.setattr(sys.modules["partitioning.quality"], "ROOM", 50)
    for case in GRAPHS.values():

        def work(comm, case=case):
            block = case.block(comm)
            placement = plan(policy, block, comm.size, comm)
            return placement, told(block, placement, comm)

        for placement, figures_of_plan in succeed(ranks, work):
            assert figures_of_plan == pytest.approx(figures(case, placement, ranks))


WIDE = 300_000
"""Factor of a gid in a user's policy: with 32-bit gids the product would wrap."""


def wide_owner(gids):
    assert gids.dtype == np.int64
    return gids * WIDE // 7 % 5


def wide_holder(src, dst):
    assert src.dtype == dst.dtype == np.int64
    return (src * WIDE + dst * WIDE) // 7 % 5


def by_wide_numbers(cut):
    """User-defined policy that computes with large numbers."""

    def place(edges, parts, comm):
        return Placement("wide", cut, parts, wide_owner, wide_holder if cut == "vertex" else None)

    return Policy("wide", "", place, {})


@pytest.mark.parametrize("cut", ["outgoing", "incoming", "vertex"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_policy_of_a_users_gets_gids_in_64_bits(cut, ranks, monkeypatch):
    monkeypatch.setitem(POLICIES, "wide", by_wide_numbers(cut))
    case = skewed(20_000, 400, True)
    assert case.n * WIDE > 1 << 32
    src, dst, _ = case.arcs()
    owner, holder = wide_owner(np.arange(case.n)), wide_holder(src, dst)

    def work(comm):
        block = case.block(comm)
        assert block.targets.dtype == np.uint32
        placement = plan("wide", block, 5, comm)
        return placement, told(block, placement, comm)

    for placement, figures_of_plan in succeed(ranks, work):
        assert np.array_equal(placement.owner(np.arange(case.n, dtype=np.uint32)), owner)
        holders = placement.edge_owner(src.astype(np.uint32), dst.astype(np.uint32))
        assert np.array_equal(holders, {"outgoing": owner[src], "incoming": owner[dst], "vertex": holder}[cut])
        assert holders.dtype == np.int32
        assert figures_of_plan == pytest.approx(figures(case, placement, 5))


@pytest.mark.mpi_skip
def test_the_command_gives_a_policy_gids_in_64_bits(monkeypatch, capsys):
    monkeypatch.setitem(POLICIES, "wide", by_wide_numbers("vertex"))
    assert command(["rmat:15", "-n", "5", "--policy", "wide", "--json", "-q"]) == 0
    [row] = json.loads(capsys.readouterr().out)["policies"]
    owner = wide_owner(np.arange(1 << 15))
    assert row["vertex_balance"] == pytest.approx(balance(np.bincount(owner, minlength=5)))


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        (lambda gids: np.where(gids == 7, 9, 0), "gives a vertex, 7, to part 9, but parts are 0 .. 2"),
        (lambda gids: gids / 40000, "gives float64 of shape"),
        (lambda gids: 0, r"of shape \(\) for .* gids; give an integer for each"),
    ],
)
def test_what_is_no_part_is_refused_on_every_rank(owner, said, monkeypatch, capsys):
    monkeypatch.setitem(
        POLICIES, "mine", Policy("mine", "", lambda edges, parts, comm: Placement("mine", "outgoing", parts, owner), {})
    )

    def work(comm):
        block = GRAPHS["directed"].block(comm)
        return quality(block, plan("mine", block, 3, comm), comm)

    for error in on_ranks(3, work):
        assert isinstance(error, PolicyError)
        assert re.search(said, str(error))
    if world().size > 1:
        return
    assert command(["path:9", "-n", "3", "--policy", "mine", "-q"]) == 2
    assert re.search(f"error: policy 'mine' .*{said}", capsys.readouterr().err)


@pytest.mark.mpi
@pytest.mark.parametrize("policy", POLICIES)
def test_ranks_plan_what_threads_plan(policy):
    comm = world()
    for case in map(GRAPHS.get, ACROSS):
        block = case.block(comm)
        placement = plan(policy, block, comm.size, comm)
        twin = placed(case, policy, comm.size)[0]
        assert (placement.policy, placement.reason, placement.cut) == (twin.policy, twin.reason, twin.cut)
        assert np.array_equal(placement.owner(np.arange(case.n)), twin.owner(np.arange(case.n)))
        assert told(block, placement, comm) == pytest.approx(figures(case, placement, comm.size))


def test_unknown_policy():
    for error in on_ranks(2, lambda comm: plan("mets", GRAPHS["path"].block(comm), comm.size, comm)):
        assert isinstance(error, PolicyError)
        assert "did you mean 'metis'?" in str(error)
        assert "cvc, fennel, hash, hvc, iec" in str(error)


def test_the_policy_in_the_documentation(monkeypatch):
    monkeypatch.setattr("partitioning.policy_register.POLICIES", dict(POLICIES))
    text = (ROOT / "docs" / "guide" / "write-a-policy.md").read_text()
    exec(text.split("```python")[1].split("```")[0], {})
    first = placed(GRAPHS["path"], "modulo", 3)[0]
    assert first.edge_owner(np.array([4, 5]), np.array([0, 0])).tolist() == [1, 2]


@pytest.mark.parametrize("wrong", [{"cut": "diagonal"}, {"cut": "vertex"}, {"holder": len}])
def test_a_placement_that_contradicts_itself(wrong):
    with pytest.raises(ValueError, match="cut"):
        Placement(**({"policy": "mine", "cut": "outgoing", "parts": 2, "owner": len} | wrong))


def test_gid_set():
    rng = np.random.default_rng(0)
    for n in (1, 63, 64, 65, 5000):
        inserted = rng.integers(0, n, n // 2 + 1)
        members = np.unique(inserted)
        here = GidSet(n)
        here.add(inserted.astype(np.uint32))
        assert here.seal() == len(here) == len(members)
        assert np.array_equal(here.members(), members)
        table = rng.integers(0, 1 << 32, len(members), dtype=np.uint32)
        wanted = table[np.searchsorted(members, inserted)]
        assert np.array_equal(here.translate(inserted, table), wanted)
        gids = inserted.astype(np.uint32)
        assert here.translate(gids, table, in_place=True) is gids
        assert np.array_equal(gids, wanted)
        flags = np.zeros(len(members), bool)
        here.mark(members[::2], flags)
        assert np.array_equal(np.flatnonzero(flags), np.arange(0, len(members), 2))


def test_import_brings_neither_dgraph_nor_anything_heavy():
    code = "import partitioning, sys; print([m for m in ('dgraph', 'numba', 'pymetis', 'mpi4py') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
