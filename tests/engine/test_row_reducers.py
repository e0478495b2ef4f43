"""Row reducers fold the keys of all in-edges: compared with sorting and counting in Python, on directed graphs."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_models import (
    VALUES,
    Capped,
    Folded,
    Largest,
    Smallest,
    Summed,
    Weighed,
    capped,
    edges,
    folded,
    hindex,
    mex,
    mode,
    summed,
)

import dgraph
from dgraph.backend.cpu import round as cpu_round
from dgraph.backend.cpu.round import state
from dgraph.backend.cpu.threads import stand_ins
from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError
from dgraph.program import ADD, BEST, HINDEX, MAX, MIN, MODE, Field, TraceError, trace


@pytest.mark.mpi
@pytest.mark.parametrize(("kind", "fold"), [(Folded, mode), (Largest, hindex), (Smallest, mex)])
def test_folds(kind, fold):
    n, src, dst = edges()
    comm = world()
    graph = dgraph.Graph.from_edges(src[comm.rank :: comm.size], dst[comm.rank :: comm.size], n=n, comm=comm)
    result = dgraph.run(kind(), graph.on("iec"))
    with comm.together():
        np.testing.assert_array_equal(result.columns["kept"], folded(fold, n, src, dst)[result.columns["vertex"]])


def checked(result, wanted, comm):
    keys, sums = wanted
    with comm.together():
        np.testing.assert_array_equal(result.columns["kept"], keys[result.columns["vertex"]])
        np.testing.assert_array_equal(result.columns["sum"], sums[result.columns["vertex"]])


@pytest.mark.mpi
def test_best_sums_values_by_key():
    n, src, dst = edges()
    comm = world()
    graph = dgraph.Graph.from_edges(src[comm.rank :: comm.size], dst[comm.rank :: comm.size], n=n, comm=comm)
    checked(dgraph.run(Summed(), graph.on("iec")), summed(n, src, dst, VALUES[src % 4]), comm)


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_best_sums_weights_by_key(dtype):
    n, src, dst = edges()
    comm = world()
    weights = np.random.default_rng(3).integers(-(2**30), 2**30, len(src)).astype(dtype) * (
        1 if dtype == "int32" else 3
    )
    part = slice(comm.rank, None, comm.size)
    graph = dgraph.Graph.from_edges(src[part], dst[part], weights[part], n=n, comm=comm)
    checked(dgraph.run(Weighed(), graph.on("iec")), summed(n, src, dst, weights.astype(np.int64)), comm)


@pytest.mark.mpi_skip
@pytest.mark.compiled
def test_compiled_rounds_sum_values_by_key():
    n, src, dst = edges()
    graph = dgraph.Graph.from_edges(src, dst, n=n, comm=SerialComm())
    for threads in (1, 2):
        result = dgraph.run(Summed(), graph.on(device=dgraph.Cpu(threads=threads)))
        checked(result, summed(n, src, dst, VALUES[src % 4]), SerialComm())


@pytest.mark.mpi_skip
@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(2, 40))
def test_best_of_any_weights(data, n):
    """Compare with the oracle, also where sums are equal, 0 or less, or as large as int64 holds."""
    pairs = sorted(data.draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1)))
    pairs = [(u, v) for u, v in pairs if u != v] or [(0, 1)]
    value = st.one_of(st.integers(-2, 2), st.integers(-(2**56), 2**56))
    weights = np.array(data.draw(st.lists(value, min_size=len(pairs), max_size=len(pairs))), np.int64)
    src, dst = np.array(pairs).T
    graph = dgraph.Graph.from_edges(src, dst, weights, n=n, comm=SerialComm())
    checked(dgraph.run(Weighed(), graph), summed(n, src, dst, weights), SerialComm())


@pytest.mark.mpi
def test_a_ceiling_bounds_folds():
    n, src, dst = edges()
    comm = world()
    graph = dgraph.Graph.from_edges(src[comm.rank :: comm.size], dst[comm.rank :: comm.size], n=n, comm=comm)
    result = dgraph.run(Capped(), graph.on("iec"))
    with comm.together():
        np.testing.assert_array_equal(result.columns["kept"], capped(n, src, dst)[result.columns["vertex"]])


def policy_of(result):
    return next(choice["taken"] for choice in result.report["choices"] if choice["what"] == "policy")


@pytest.mark.mpi
def test_cut_rows_are_refused():
    n, src, dst = edges()
    graph = dgraph.Graph.from_edges(src, dst, n=n, comm=SerialComm())
    assert dgraph.run(Folded(), graph).rounds == 1
    comm = world()
    if comm.size > 1:
        graph = dgraph.Graph.from_edges(src[comm.rank :: comm.size], dst[comm.rank :: comm.size], n=n, comm=comm)
        with pytest.raises(UsageError, match=r"Folded folds all in-edges of a vertex .MODE.*use policy='iec'"):
            dgraph.run(Folded(), graph.on("oec"))
        free = dgraph.run(Folded(), graph)
        assert policy_of(free) == "iec"
        whole = dgraph.Graph.from_edges(src, dst, n=n, comm=SerialComm())
        rows = dgraph.run(Folded(), whole).columns
        np.testing.assert_array_equal(
            free.columns["kept"], rows["kept"][np.searchsorted(rows["vertex"], free.columns["vertex"])]
        )
        assert policy_of(dgraph.run(Folded(), graph.undirected())) == "oec"
        spread = dgraph.run("cdlp", graph.on("iec"))
        assert any("oec is used" in warning for warning in spread.report["warnings"])


def refused(match, **changes):
    with pytest.raises((TraceError, UsageError), match=match):
        trace(type("Folded", (Folded,), changes)(), None)


@pytest.mark.mpi_skip
def test_programs_that_cannot_fold_rows_are_refused():
    refused(r'set directions = \("pull",\)', directions=("push", "pull"))
    refused("propose one field", other=Field("int64", reduce=MIN), edge=lambda self, u, e, v: {"found": 1, "other": 2})
    refused("must not read 'found'", edge=lambda self, u, e, v: {"found": u.found})
    refused("apply returns 'found', but MODE folds into it anew", apply=lambda self, v, g: {"found": 1, "active": True})
    refused("unknown ceiling of Folded 'cap'", found=Field("int64", reduce=HINDEX), ceiling="cap")
    refused("names an integer field that bounds a field of HINDEX", ceiling="key")
    refused("names an integer field that bounds", found=Field("int64", reduce=HINDEX), ceiling="found")
    refused("not integers", edge=lambda self, u, e, v: {"found": 0.5})

    def also(**values):
        return lambda self, u, e, v: {"found": u.id, **values}

    best = {"found": Field("int64", reduce=BEST)}
    total = Field("int64", reduce=ADD)
    refused("whose values BEST sums by key, and no value beside it; propose the value for one more field", **best)
    refused("and total, more beside it", **best, total=total, more=total, edge=also(total=1, more=1))
    refused("field proposed by Folded.edge 'totl'", **best, total=total, edge=also(totl=1))
    refused("and reduces int64 by MAX; make it", **best, total=Field("int64", reduce=MAX), edge=also(total=1))
    refused("and reduces float64 by ADD; make it", **best, total=Field("float64", reduce=ADD), edge=also(total=1))
    refused("sums of floats depend on their order", **best, total=total, edge=also(total=0.5))
    refused("also adds to it", **best, total=total, edge=lambda self, u, e, v: {"found": u.id, "total": u.total})
    with pytest.raises(UsageError, match="MODE folds keys of 64 bits, got a field of int32; use int64"):
        Field("int32", reduce=MODE)
    with pytest.raises(UsageError, match="BEST folds keys of 64 bits"):
        Field("int32", reduce=BEST)


@pytest.mark.mpi_skip
def test_modes_of_short_and_long_rows():
    """Rows are compared in pairs, counted in a table that is 0 after each, or hashed, by length and range of keys."""
    names = vars(stand_ins) | vars(state) | {"np": np, "LEFT_OUT": 2**62}
    exec((Path(cpu_round.__file__).parent / "row_folds.py").read_text(), names)
    rng, room = np.random.default_rng(1), 2000 + state.COUNTED
    scratch = np.zeros(room, np.int64)
    lengths = [0, *range(1, 40), 200] * 4
    for i, count in enumerate(lengths + [2, 3, 4] * 60):
        keys = (
            rng.integers(-9, 9, count) * (1, state.COUNTED // 8)[i % 2]
            if i < len(lengths)
            else rng.integers(-1, 3, count)
        )
        scratch[:count] = keys
        times = Counter(keys.tolist())
        wanted = min(times, key=lambda key: (-times[key], key)) if count else 2**62
        with np.errstate(over="ignore"):
            assert names["fold_mode"](scratch, count, room) == wanted
        assert not scratch[2000:].any()
