"""The tuner of threads tries each number once a size, then takes the quickest, and measures the others again."""

from collections import Counter

import pytest

from dgraph.backend.cpu.threads.tuner import PROBE, ROUNDS, TRIAL, ThreadTuner

pytestmark = pytest.mark.mpi_skip

SIZE = 4000
NUMBERS = {2: [2, 1], 4: [4, 2, 1], 8: [8, 4, 2, 1], 16: [16, 8, 4, 1]}
PROBES = 12


@pytest.mark.parametrize("team", NUMBERS)
@pytest.mark.parametrize("place", range(4))
def test_the_quickest_number_of_threads_is_taken(team, place):
    numbers = NUMBERS[team]
    quickest, tuner = numbers[place % len(numbers)], ThreadTuner(team)
    choices = []
    for _ in range(len(numbers) + PROBES * PROBE):
        threads, rounds = tuner.choose(SIZE)
        choices.append((threads, rounds))
        tuner.record(threads, SIZE, 1e-3 if threads == quickest else 2e-3, SIZE * rounds)
    assert choices[: len(numbers)] == [(threads, TRIAL) for threads in numbers]
    later = Counter(choices[len(numbers) :])
    assert later.pop((quickest, ROUNDS)) == PROBES * (PROBE - 1)
    others = [threads for threads in numbers if threads != quickest]
    assert later == {(threads, TRIAL): PROBES // len(others) for threads in others}


def test_sizes_are_tuned_apart():
    tuner = ThreadTuner(16)
    for size, quickest in ((SIZE, 4), (16 * SIZE, 16)):
        for _ in range(4):
            threads, rounds = tuner.choose(size)
            tuner.record(threads, size, 1e-3 if threads == quickest else 2e-3, size * rounds)
    assert tuner.choose(SIZE) == (4, ROUNDS)
    assert tuner.choose(16 * SIZE) == (16, ROUNDS)
