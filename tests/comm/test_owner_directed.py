"""Rows of equal keys are reduced on the owners of the keys: sums, or the best row; arrays of names are sent."""

import numpy as np
import pytest
import simulated

from dgraph.comm.owner_directed import contract, swap

pytestmark = pytest.mark.mpi_skip


def rows(rank):
    """Return keys, weights and values of one rank; rank 1 has none."""
    draw = np.random.default_rng(rank)
    count = 0 if rank == 1 else 200
    weight = np.round(draw.random(count), 1)
    return draw.integers(-5, 40, count), weight, draw.integers(0, 9, count), draw.integers(0, 9, count)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("best", [0, 1, 3])
def test_rows_of_a_key_become_one(ranks, best):
    everywhere = [row for rank in range(ranks) for row in zip(*(column.tolist() for column in rows(rank)), strict=True)]
    wanted: dict = {}
    for key, *values in everywhere:
        best_values = wanted.setdefault(key, values if best else [0, 0, 0])
        if not best:
            wanted[key] = [a + b for a, b in zip(best_values, values, strict=True)]
        elif values[:best] < best_values[:best]:
            wanted[key] = values

    def work(comm):
        keys, *columns = rows(comm.rank)
        return contract(comm, keys % comm.size, keys, *columns, best=best)

    rows_by_key = {}
    for rank, (keys, *columns) in enumerate(simulated.succeed(ranks, work)):
        assert (np.diff(keys) > 0).all()
        assert (keys % ranks == rank).all()
        rows_by_key |= {key: list(values) for key, *values in zip(keys.tolist(), *columns, strict=True)}
    assert rows_by_key.keys() == wanted.keys()
    for key, values in wanted.items():
        assert rows_by_key[key][: best or 3] == pytest.approx(values[: best or 3])


def test_no_rows():
    def work(comm):
        nothing = np.zeros(0, np.int64)
        return [contract(comm, nothing, nothing, nothing.astype(float), best=best) for best in (0, 1)]

    for (keys, values), (best_keys, _) in simulated.succeed(2, work):
        assert keys.size == values.size == best_keys.size == 0
        assert values.dtype == np.float64


@pytest.mark.parametrize("ranks", [1, 3])
def test_names_go_to_the_rank_of_their_place(ranks):
    def work(comm):
        return swap(comm, [np.array([f"{comm.rank} to {r}"] * comm.rank, "S9") for r in range(ranks)])

    for rank, received in enumerate(simulated.succeed(ranks, work)):
        assert {part.dtype for part in received} == {np.dtype("S9")}
        assert [part.tolist() for part in received] == [[f"{r} to {rank}".encode()] * r for r in range(ranks)]
