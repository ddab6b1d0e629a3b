"""A server that does not answer is left alone, and then asked by one."""

import time
from concurrent.futures import ThreadPoolExecutor

from app.clients import deadline
from app.clients.breaker import Breaker

PAUSE_SECONDS = 0.05


def test_nobody_asks_during_the_pause_and_then_one_until_it_is_answered() -> None:
    breaker = Breaker(PAUSE_SECONDS)
    assert breaker.admits()
    breaker.silent()
    assert not breaker.admits()
    time.sleep(PAUSE_SECONDS)
    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(lambda _: breaker.admits(), range(8))) == 1
    breaker.answered()
    assert breaker.admits()
    assert breaker.admits()


def test_a_trial_in_vain_begins_another_pause() -> None:
    breaker = Breaker(PAUSE_SECONDS)
    breaker.silent()
    time.sleep(PAUSE_SECONDS)
    assert breaker.admits()
    breaker.silent()
    assert not breaker.admits()
    time.sleep(PAUSE_SECONDS)
    assert breaker.admits()


def test_who_gave_up_leaves_the_trial_to_the_next() -> None:
    breaker = Breaker(PAUSE_SECONDS)
    breaker.silent()
    time.sleep(PAUSE_SECONDS)
    assert breaker.admits()
    assert breaker.trying
    assert not breaker.admits()
    breaker.undecided()
    assert not breaker.trying
    assert breaker.admits()


def test_of_nested_deadlines_the_nearest_holds() -> None:
    assert deadline.seconds_left() is None
    with deadline.within(1):
        with deadline.within(60):
            assert 0 < (deadline.seconds_left() or 0) <= 1
        with deadline.within(-1):
            assert deadline.seconds_left() == 0
        assert 0 < (deadline.seconds_left() or 0) <= 1
    assert deadline.seconds_left() is None
