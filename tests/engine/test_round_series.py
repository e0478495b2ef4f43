"""Parts of another rank's rounds from its timers are those that this rank itself reports."""

import numpy as np
import pytest

from dgraph.engine.rounds.round_series import HIDDEN, PARTS, RoundSeries


@pytest.mark.parametrize("most", [None, 7])
def test_parts_of_another_rank_are_its_own(most):
    rng = np.random.default_rng(5)
    timers = [dict.fromkeys(PARTS, 0.0), dict.fromkeys((*PARTS, HIDDEN), 0.0)]
    mine, other = (RoundSeries(spent, most=most) for spent in timers)
    for rounds in (1, 3, 1, 20, 1, 6):
        figures = rng.integers(0, 2, (rounds, 3)) * [90, 700, 1]
        for series, spent in zip((mine, other), timers, strict=True):
            for name in rng.choice(list(spent), 3):
                spent[name] += rng.random() * rounds
            series.extend(figures, 0.5)
    times, _ = other.times()
    mine.times()
    assert mine.parts_of(times) == other.parts()
    assert len(mine.parts()["start"]) == (32 if most is None else 4)
