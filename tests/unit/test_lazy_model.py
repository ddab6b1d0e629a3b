"""A model that is loaded once, beside those who wait for it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.clients.lazy_model import LazyModel
from app.errors import EmbedderUnavailable


def test_many_callers_wait_for_one_loading() -> None:
    loadings = []
    go_on = threading.Event()

    def load() -> object:
        go_on.wait(10)
        loadings.append(1)
        return object()

    model = LazyModel("the model m", load, EmbedderUnavailable)
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(model.get, 10) for _ in range(8)]
        go_on.set()
        found = {id(one.result()) for one in waiting}
    assert len(found) == 1
    assert loadings == [1]


def test_a_caller_waits_no_longer_than_it_will_and_the_next_finds_the_model() -> None:
    go_on = threading.Event()

    def load() -> str:
        go_on.wait(10)
        return "loaded"

    model = LazyModel("the model m", load, EmbedderUnavailable)
    with pytest.raises(EmbedderUnavailable, match=r"the model m is still being loaded after 0\.01 seconds"):
        model.get(0.01)
    go_on.set()
    assert model.get(10) == "loaded"


def test_a_vain_attempt_is_not_repeated_at_once_but_later(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []

    def load() -> str:
        attempts.append(1)
        if len(attempts) < 2:
            raise OSError("the folder is damaged")
        return "loaded"

    model = LazyModel("the model m", load, EmbedderUnavailable)
    with pytest.raises(EmbedderUnavailable, match="the model m cannot be loaded: the folder is damaged") as found:
        model.get(10)
    assert isinstance(found.value.__cause__, OSError)
    with pytest.raises(EmbedderUnavailable, match="a moment ago"):
        model.get(10)
    assert attempts == [1]
    later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert model.get(10) == "loaded"


def test_a_loader_that_times_out_itself_is_told_from_a_caller_that_does() -> None:
    def load() -> str:
        raise TimeoutError("the hub did not answer")

    with pytest.raises(EmbedderUnavailable, match="cannot be loaded: the hub did not answer"):
        LazyModel("the model m", load, EmbedderUnavailable).get(10)
