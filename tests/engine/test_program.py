"""Tracing: properties derived from a program, and error messages for programs that are refused."""

import numpy as np
import pytest

import dgraph
from dgraph.engine.sync import plan
from dgraph.engine.sync.sync_plan import Refresh
from dgraph.errors import UsageError
from dgraph.program import (
    ADD,
    ALL,
    INF,
    MAX,
    MIN,
    OR,
    Field,
    Global,
    Program,
    TraceError,
    maximum,
    minimum,
    mixed,
    trace,
    where,
)


class Levels(Program):
    source: int = 0
    level = Field("int32", reduce=MIN)

    def init(self, v, g):
        here = v.id == self.source
        return {"level": where(here, 0, INF), "active": here}

    def cond(self, v, g):
        return v.level == INF

    def edge(self, u, e, v, g):
        return {"level": g.round + 1}


class Ranks(Program):
    domain = ALL
    rank, share = Field("float64"), Field("float64")
    inflow = Field("float64", reduce=ADD)
    change = Global("float64", reduce=ADD)

    def init(self, v, g):
        return {"rank": 1.0, "share": 1.0}

    def edge(self, u, e, v):
        return {"inflow": u.share}

    def apply(self, v, g):
        return {"rank": v.inflow, "share": v.inflow / 2.0, "change": abs(v.inflow - v.rank)}

    def step(self, g):
        return {"done": g.change < 0.1}


def variant(base, **members):
    return type(f"A{base.__name__}", (base,), members)


def traced(program, weight="int32"):
    return trace(program, None if weight is None else np.dtype(weight))


def test_what_is_read_off_a_text():
    bfs = traced(Levels(source=3))
    assert bfs.once
    assert not bfs.flagged
    assert not bfs.weighted
    assert bfs.reads_u == frozenset()
    assert not bfs.filters
    edges = (
        lambda self, u, e, v: {"level": where(u.level < v.level, u.level, INF)},
        lambda self, u, e, v: {"level": where(u.level < e.weight, u.level, INF)},
    )
    nearer, light = (traced(variant(Levels, edge=edge)()) for edge in edges)
    assert nearer.filters
    assert not nearer.prefilters
    assert light.filters
    assert light.prefilters
    ends = {"step": lambda self, g: {"done": True}}
    assert traced(variant(Levels, **ends)()).ends_at_once
    assert not traced(variant(Ranks, **ends)()).ends_at_once
    assert not bfs.ends_at_once
    ranks = traced(Ranks())
    assert ranks.reads_u == {"share"}
    assert ranks.sums == ["change"]


@pytest.mark.parametrize(
    ("program", "direction", "directed", "reduce", "broadcast"),
    [
        (Levels, "push", True, ("level",), ()),
        (Levels, "pull", False, ("level",), ()),
        (Ranks, "pull", True, ("inflow",), ("share",)),
        (Ranks, "push", True, ("inflow",), ("share",)),
    ],
)
def test_the_plan_follows_from_the_text(program, direction, directed, reduce, broadcast):
    sync_plan = plan(traced(program()), direction, directed)
    assert (sync_plan.reduce, sync_plan.broadcast) == (reduce, broadcast)
    backwards = direction == "pull" and not directed
    assert sync_plan.reduce_role == ("row" if backwards else "column")
    assert sync_plan.broadcast_role == ("column" if backwards else "row")
    assert sync_plan.frontier == (program is Levels)


def test_mirrors_hear_what_is_read_of_them():
    """Check that mirrors receive fields read at sources and destinations, a field that no round changes only once."""

    class Tight(Program):
        level = Field("int32", given=True)
        parent = Field("int64", reduce=MIN)

        def init(self, v, g):
            return {"active": v.level != INF}

        def edge(self, u, e, v):
            return {"parent": where(u.level + 1 == v.level, u.id, INF)}

    class Fenced(Tight):
        inside = Field("bool", given=True)
        monotone = True

        def cond(self, v, g):
            return v.inside

    sync_plan = plan(traced(Tight()), "push", True)
    assert sync_plan.refresh == (Refresh(("level",), "row", True), Refresh(("level",), "column", False))
    assert sync_plan.broadcast == ()
    assert sync_plan.broadcast_role == "row"
    assert plan(traced(Fenced()), "pull", False).refresh == (
        Refresh(("level",), "column", True),
        Refresh(("inside", "level"), "row", False),
    )

    class Loose(Tight):
        def apply(self, v, g):
            return {"level": v.level + 1, "active": False}

    sync_plan = plan(traced(Loose()), "push", True)
    assert (sync_plan.broadcast, sync_plan.broadcast_role) == (("level",), "any")


def test_full_elides_nothing():
    sync_plan = plan(traced(Ranks()), "push", True, full=True)
    assert set(sync_plan.broadcast) == {"rank", "share", "inflow"}
    assert sync_plan.reduce_role == sync_plan.broadcast_role == "any"


def test_sums_that_may_pass_64_bits_saturate_and_others_do_not():
    class Sums(Program):
        far, near = Field("int64", reduce=MIN), Field("int32", reduce=MIN)

        def init(self, v, g):
            return {"active": True}

        def edge(self, u, e, v):
            return {"far": u.far + e.weight, "near": u.near + e.weight}

    edge = traced(Sums()).edge
    assert edge["far"].op == "sat+"
    assert edge["near"].op == "+"


def test_random_numbers_are_of_integers():
    class Random(Levels):
        def init(self, v, g):
            return super().init(v, g) | {"level": mixed(v.id, 0.5)}

    with pytest.raises(TraceError, match=r"mixed\(x, seed\) takes int values, got weak"):
        traced(Random())


def test_a_value_written_twice_is_one_value():
    class Twice(Levels):
        def edge(self, u, e, v):
            assert (u.level + 1) is (u.level + 1)
            assert minimum(u.level, 3) is not maximum(u.level, 3)
            return {"level": u.level + 1}

    traced(Twice())


REFUSALS = {
    "truth of a value": (
        {"edge": lambda self, u, e, v: {"level": 1 if u.level < v.level else 2}}, "has no truth value .* where"),
    "a field that is not there": ({"edge": lambda self, u, e, v: {"level": u.lvel}}, "u has no 'lvel'; it has level"),
    "a proposal for no field": ({"edge": lambda self, u, e, v: {"depth": 1}}, "unknown field .* 'depth'.*level"),
    "no proposal": ({"edge": lambda self, u, e, v: {}}, "proposes nothing"),
    "not a dict": ({"edge": lambda self, u, e, v: 7}, "returned int; it returns a dict"),
    "a proposal without reduce": (
        {"plain": Field("int32"), "edge": lambda self, u, e, v: {"plain": 1},
         "init": lambda self, v, g: {"plain": 0, "active": True}}, "has no reduce="),
    "reading what is added to": (
        {"total": Field("int64", reduce=ADD), "edge": lambda self, u, e, v: {"total": u.total}},
        "the order of edges would show"),
    "adding in 32 bits": (
        {"total": Field("int32", reduce=ADD), "edge": lambda self, u, e, v: {"total": 1}}, "can overflow; use int64"),
    "a product past 64 bits": ({"edge": lambda self, u, e, v: {"level": u.id * u.id}}, "may pass 64 bits"),
    "floor division": ({"edge": lambda self, u, e, v: {"level": u.level // 2}}, "rounds differently"),
    "a number that is none": ({"edge": lambda self, u, e, v: {"level": "far"}}, "which is not a number"),
    "too large a constant": ({"edge": lambda self, u, e, v: {"level": 2**70}}, "does not fit 64 bits"),
    "and of numbers": ({"edge": lambda self, u, e, v: {"level": u.level & 1}}, "takes bool values"),
    "init without active": (
        {"init": lambda self, v, g: {"level": 0}},
        r"ALevels\.init does not say which vertices are active.*return active="),
    "init without active, in buckets": (
        {"init": lambda self, v, g: {"level": 0}, "priority": lambda self, v: v.level},
        "does not say which vertices are active"),
    "apply without active": ({"apply": lambda self, v, g: {}}, "does not say which vertices are active"),
    "cond that may change back": (
        {"heat": Field("int32"), "init": lambda self, v, g: {"level": 0, "heat": 0, "active": True},
         "cond": lambda self, v, g: v.heat > 0,
         "apply": lambda self, v, g: {"heat": v.level, "active": True}}, "monotone = True"),
    "an unset field": (
        {"heat": Field("int32"), "init": lambda self, v, g: {"level": 0, "active": True}}, "leaves 'heat' without"),
    "an unknown result of step": ({"step": lambda self, g: {"finished": True}}, "unknown name returned by .*step"),
    "float sums over changing sets": (
        {"heat": Global("float64", reduce=ADD), "apply": lambda self, v, g: {"active": True, "heat": 1.0}},
        "use domain = ALL"),
    "live without apply": ({"live": lambda self, v, g: True}, "there is no apply"),
    "all without an end": ({"domain": ALL}, "only step can end it"),
    "a sparse program whose edges change": ({"sparse": True}, "is sparse, but what its edges propose may change"),
    "an unknown direction": ({"directions": ("push", "sideways")}, "unknown direction .* 'sideways'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_refused(case):
    members, words = REFUSALS[case]
    with pytest.raises(UsageError, match=words):
        traced(variant(Levels, **members)())


def test_what_may_leave_active_out():
    """Check that ``init`` may omit ``active`` in a program of all vertices, or if ``step`` requests rounds over all."""
    assert "active" not in traced(Ranks()).init
    members = {
        "init": lambda self, v, g: {"level": 0},
        "cond": lambda self, v, g: v.level > 0,
        "apply": lambda self, v, g: {"active": v.level < 3},
        "step": lambda self, g: {"done": g.round > 3, "whole": g.active == 0},
        "monotone": True,
    }
    assert "active" not in traced(variant(Levels, **members)()).init


@pytest.mark.mpi
def test_an_empty_frontier_is_no_error():
    result = dgraph.run(Levels(source=99), "path:4")
    assert result.converged
    assert (result.columns["level"] == np.iinfo(np.int32).max).all()


def test_refused_declarations():
    with pytest.raises(UsageError, match="uint8 does not combine proposals"):
        Field("uint8", reduce=MIN)
    with pytest.raises(UsageError, match="cannot be complex128"):
        Field("complex128")
    with pytest.raises(UsageError, match="int64, float64"):
        Global("int32")
    with pytest.raises(UsageError, match="with ADD, MIN, MAX or not at all, got OR"):
        Global("int64", reduce=OR)
    with pytest.raises(UsageError, match="MIN in int64, got float64"):
        Global("float64", reduce=MIN)
    with pytest.raises(UsageError, match="keep=True is for sums"):
        Global("int64", reduce=MIN, keep=True)
    with pytest.raises(UsageError, match="'id', which is built in"):
        variant(Levels, id=Field("int32"))()
    with pytest.raises(UsageError, match="unknown parameter of Levels 'sorce': did you mean 'source'"):
        Levels(sorce=1)
    with pytest.raises(UsageError, match="unknown field of Levels 'lvl'"):
        Levels().retype(lvl="int64")
    with pytest.raises(TraceError, match="parameter source = 'home' is not a number"):
        traced(Levels(source="home"))


def test_a_method_with_nearly_the_name_of_an_operator_is_refused():
    with pytest.raises(TraceError, match=r"Levels\.aply is called by nothing: did you mean apply"):
        traced(variant(Levels, aply=lambda self, v, g: {"active": True})())
    traced(variant(Levels, helper=lambda self: 1, steps_of=lambda self: 2)())


def test_traces_of_own_programs_are_shared_and_keep_their_parameters():
    from dgraph.algorithms.bfs_programs import Levels
    from dgraph.algorithms.bfs_variants import traversal

    one, two = (trace(Levels(source=source), None) for source in (3, 7))
    assert one.edge is two.edge
    assert [traced.program.parameters["source"] for traced in (one, two)] == [3, 7]
    assert trace(Levels().retype(level="int64"), None).edge is not one.edge
    assert trace(Levels().with_traversal(traversal("queue", "")), None).rendered is not one.rendered
    with pytest.raises(TraceError, match="does not fit 64 bits"):
        trace(Levels(source=2**64), None)


def test_functions_of_users_are_traced_at_every_run():
    from dgraph.algorithms.color_parts.priorities import DegreePhase

    signatures = []
    for end in (3, 4):
        program = DegreePhase()
        program.__dict__["over"] = lambda g, end=end: g.round >= end
        signatures.append(trace(program, None).signature)
    assert signatures[0] != signatures[1]


def test_a_limit_on_rounds_goes_with_values_that_cross_one_edge_a_round():
    class Reach(Program):
        hops: int = 1
        best = Field("int64", reduce=MAX)

        def init(self, v, g):
            return {"best": v.id, "active": True}

        def edge(self, u, e, v):
            return {"best": u.best}

        def step(self, g):
            return {"done": (g.active == 0) | (g.round >= self.hops)}

    with pytest.raises(TraceError, match=r"step reads g.round, but edge forwards 'best', which may cross several"):
        trace(Reach(), None)
