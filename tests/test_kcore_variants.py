"""kcore's variants from the outside, on any number of ranks: the same columns, summaries and certificates."""

import emulated
import numpy as np
import pytest

import dgraph
from dgraph.comm import world

SPECS = ("rmat:8,symmetric", "road:18x18", "grid:9x9")


@emulated.needs_compiler
@pytest.mark.mpi
@pytest.mark.parametrize("transport", ["auto", "mpi-host"])
def test_estimates_are_the_core_numbers(transport):
    comm = world()
    backend = emulated.backend()
    transport = transport if comm.size > 1 else "auto"
    for spec in SPECS:
        graph = dgraph.Graph.load(spec, comm=comm)
        for k in (None, 2):
            known = dgraph.run("kcore", graph, k=k, backend="cpu")
            found = dgraph.run(
                "kcore", graph, k=k, backend=backend, variant="estimates", policy="hash", transport=transport,
                allow_gpu_sharing=True, validate=True,
            )  # fmt: skip
            assert found.report["outcome"]["validation"]["passed"]
            assert found.summary == known.summary
            (column,) = known.columns.keys() - {"vertex"}
            np.testing.assert_array_equal(_whole(found, column), _whole(known, column))


def _whole(result, column):
    """A column of the whole graph, by vertex, on every rank."""
    both = np.stack([np.asarray(result.columns[name], np.int64) for name in ("vertex", column)])
    parts = [part.reshape(2, -1) for part in result.comm.allgatherv(np.ascontiguousarray(both).ravel())]
    vertex, values = np.concatenate(parts, axis=1)
    return values[np.argsort(vertex)]
