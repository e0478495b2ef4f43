"""Threads of a team that wait in compiled code: they start awake and asleep, and between functions of Python."""

import os
import time

import numpy as np
import pytest

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads import launch
from dgraph.backend.cpu.threads.atomics import OPTIONS
from dgraph.backend.cpu.threads.launch import SLEEPS, STATE, STRIDE, THREADS
from dgraph.backend.cpu.threads.team import Team


@njit(**OPTIONS)
def add(t, team, threads, sums, value):
    launch.begin(t, team, threads)
    sums[t] += value * threads
    launch.end(t, team, threads)
    return 7


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_every_thread_runs_once_a_launch(pause):
    team, sums = Team(3), np.zeros(4, np.int64)
    for _ in range(5 if pause else 500):
        assert team.launch(add, 3, sums, 1) == 7
        time.sleep(pause)
    if pause:
        deadline = time.monotonic() + 20
        while any(team._words[THREADS + STRIDE * t + STATE] != SLEEPS for t in (1, 2)):
            assert time.monotonic() < deadline, "a waiting thread keeps its core"
            time.sleep(0.01)
    assert sums.tolist() == [3 * (5 if pause else 500)] * 3 + [0]


def test_one_woken_thread_wakes_all():
    team, sums = Team(6), np.zeros(6, np.int64)
    team.launch(add, 6, sums, 1)
    states = team._words[THREADS + STRIDE + STATE :: STRIDE]
    seen, deadline, tries = set(), time.monotonic() + 20, 3
    while (states != SLEEPS).any():
        assert time.monotonic() < deadline, "a waiting thread keeps its core"
        time.sleep(0.01)
    while len(seen) < 5:
        if tries and (states == SLEEPS).all():  # they may have slept again before this thread looked
            team.rouse()
            tries -= 1
        seen |= set(np.flatnonzero(states != SLEEPS).tolist())
        assert time.monotonic() < deadline, f"awake so far: {seen}"
    assert team.launch(add, 6, sums, 1) == 7
    assert sums.tolist() == [12] * 6


def test_launches_alternate_with_functions_of_python():
    team, sums, threads_of_python = Team(3), np.zeros(3, np.int64), []
    for threads in (1, 2, 3) * 20:
        team.launch(add, threads, sums, 1)
        team.run(lambda t, threads: threads_of_python.append(t), threads)
    assert sums.tolist() == [20 * (1 + 2 + 3), 20 * (2 + 3), 20 * 3]
    assert np.bincount(threads_of_python).tolist() == [60, 40, 20]


def test_a_launch_takes_no_more_threads_than_the_team_has():
    with pytest.raises(ValueError, match="3 threads requested of a team of 2"):
        Team(2).launch(add, 3, np.zeros(3, np.int64), 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_makes_a_team_of_its_own():
    team, sums = Team(2), np.zeros(2, np.int64)
    team.launch(add, 2, sums, 1)
    child = os.fork()
    if child == 0:
        Team(2).launch(add, 2, sums, 1)
        os._exit(0 if sums.tolist() == [4, 4] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    team.launch(add, 2, sums, 10)
    assert sums.tolist() == [22, 22]
