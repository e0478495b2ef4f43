"""Deadlines of requests on the ranks, by ticks of a clock."""

import pytest

from dgraph.service.supervisor.hang_watch import HEARTBEAT_S, LIMITS, STOPPED_S, TICK_S, HangWatch

GRACE_S = 4.0


class Ticks:
    """Ticks of a watch; ``after`` returns the seconds until it gives the ranks up, "" if it does not."""

    def __init__(self):
        self.watch, self.now = HangWatch(GRACE_S), 100.0
        self.watch.begin(self.now)

    def after(self, seconds, stopped=None):
        for count in range(1, int(seconds / TICK_S) + 1):
            self.now += TICK_S
            if why := self.watch.tick(self.now, stopped or {}):
                return count * TICK_S, why
        return seconds, ""


def test_a_stopped_rank_is_given_up_and_one_that_goes_on_is_not():
    ticks = Ticks()
    assert ticks.after(STOPPED_S - 1, {1: 77})[1] == ""
    assert ticks.after(1)[1] == ""
    seconds, why = ticks.after(60, {1: 77})
    assert seconds == STOPPED_S + TICK_S
    assert "rank 1 (process 77) was stopped" in why


@pytest.mark.parametrize("op", ["run", "load", "table", "open", "change"])
def test_a_cancelled_request_has_a_grace_and_others_have_none(op):
    ticks = Ticks()
    ticks.watch.sent(1, op)
    assert ticks.after(3600)[1] == ""
    ticks.watch.cancelled(1)
    seconds, why = ticks.after(60)
    assert seconds == GRACE_S
    assert f"did not end a cancelled {op} within 4 s" in why


def test_the_grace_begins_when_the_requests_before_are_answered():
    ticks = Ticks()
    ticks.watch.sent(1, "rows")
    ticks.watch.sent(2, "run")
    ticks.watch.cancelled(2)
    assert ticks.after(60)[1] == ""
    ticks.watch.answered(1)
    assert ticks.after(60)[0] == GRACE_S + TICK_S


def test_jobs_of_one_pass_have_their_grace_at_the_same_time():
    ticks = Ticks()
    for number in range(5):
        ticks.watch.sent(number, "run")
    assert ticks.after(60)[1] == ""
    ticks.watch.cancelled(3)
    assert ticks.after(60)[0] == GRACE_S


@pytest.mark.parametrize("op", LIMITS)
def test_short_requests_have_limits_which_begin_with_their_turn(op):
    ticks = Ticks()
    ticks.watch.sent(1, "run")
    ticks.watch.sent(2, op)
    assert ticks.after(2000)[1] == ""
    ticks.watch.answered(1)
    seconds, why = ticks.after(2000)
    assert (seconds, f"did not answer {op}" in why) == (LIMITS[op] + TICK_S, True)


def test_the_time_while_the_front_itself_was_stopped_does_not_count():
    ticks = Ticks()
    ticks.watch.sent(1, "run")
    ticks.watch.cancelled(1)
    ticks.now += 3600
    assert ticks.after(GRACE_S - 2)[1] == ""
    ticks.watch.answered(1)
    assert ticks.after(60)[1] == ""


def test_idle_ranks_are_asked_now_and_then():
    ticks = Ticks()
    assert not ticks.watch.heartbeat_due()
    ticks.after(HEARTBEAT_S)
    assert ticks.watch.heartbeat_due()
    ticks.watch.sent(1, "memory")
    assert not ticks.watch.heartbeat_due()
    ticks.watch.answered(1)
    assert not ticks.watch.heartbeat_due()
