"""Row reducers fold the keys of all in-edges: compared with sorting and counting in Python, on directed graphs."""

import numpy as np
import pytest
from row_models import Capped, Folded, Largest, Smallest, capped, edges, folded, hindex, mex, mode

import dgraph
from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError
from dgraph.program import HINDEX, MIN, MODE, Field, TraceError, trace


@pytest.mark.mpi
@pytest.mark.parametrize(("kind", "fold"), [(Folded, mode), (Largest, hindex), (Smallest, mex)])
def test_folds(kind, fold):
    n, src, dst = edges()
    comm = world()
    graph = dgraph.Graph.from_edges(src[comm.rank :: comm.size], dst[comm.rank :: comm.size], n=n, comm=comm)
    result = dgraph.run(kind(), graph.on("iec"))
    with comm.together():
        np.testing.assert_array_equal(result.columns["kept"], folded(fold, n, src, dst)[result.columns["vertex"]])


@pytest.mark.mpi
def test_a_ceiling_bounds_folds():
    n, src, dst = edges()
    comm = world()
    graph = dgraph.Graph.from_edges(src[comm.rank :: comm.size], dst[comm.rank :: comm.size], n=n, comm=comm)
    result = dgraph.run(Capped(), graph.on("iec"))
    with comm.together():
        np.testing.assert_array_equal(result.columns["kept"], capped(n, src, dst)[result.columns["vertex"]])


@pytest.mark.mpi
def test_cut_rows_are_refused():
    n, src, dst = edges()
    graph = dgraph.Graph.from_edges(src, dst, n=n, comm=SerialComm())
    assert dgraph.run(Folded(), graph).rounds == 1
    comm = world()
    if comm.size > 1:
        graph = dgraph.Graph.from_edges(src[comm.rank :: comm.size], dst[comm.rank :: comm.size], n=n, comm=comm)
        with pytest.raises(UsageError, match=r"Folded folds all in-edges of a vertex .MODE.*use --policy iec"):
            dgraph.run(Folded(), graph.on("oec"))
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
    refused("unknown ceiling of Folded 'cap'", found=Field("int64", reduce=HINDEX), ceiling="cap")
    refused("names an integer field that bounds a field of HINDEX", ceiling="key")
    refused("names an integer field that bounds", found=Field("int64", reduce=HINDEX), ceiling="found")
    refused("not integers", edge=lambda self, u, e, v: {"found": 0.5})
    with pytest.raises(UsageError, match="MODE folds keys of 64 bits, got a field of int32; use int64"):
        Field("int32", reduce=MODE)
