"""Models that sentence-transformers runs (the extra `st`; it brings torch): loaded at the first use, for all."""

import importlib.util
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from app.errors import RagledgerError

Model = TypeVar("Model")

_LOG = logging.getLogger(__name__)
_PAUSE_SECONDS = 60.0  # after a vain attempt, which may have asked the network


def is_installed() -> bool:
    """Whether the extra is there, found without the seconds that an import takes."""
    return importlib.util.find_spec("sentence_transformers") is not None


class LazyModel(Generic[Model]):
    """A model that one thread loads while its callers wait, each as long as it will."""

    def __init__(self, name: str, load: Callable[[], Model], unavailable: type[RagledgerError]) -> None:
        """`name` begins the error texts; whatever `load` raises becomes an error of the type `unavailable`."""
        self._name, self._load, self._unavailable = name, load, unavailable
        self._attempt: Future[Model] | None = None
        self._closed_until = 0.0
        self._lock = threading.Lock()

    def get(self, seconds: float | None = None) -> Model:
        """The model, waited for `seconds` at most; it goes on loading afterwards, for the next caller.

        Raises the error where the model is not there in time, cannot be loaded, or could not be a moment ago.
        """
        try:
            return self._current().result(seconds)
        except TimeoutError:
            raise self._unavailable(f"{self._name} is still being loaded after {seconds:g} seconds") from None

    def _current(self) -> "Future[Model]":
        with self._lock:
            attempt = self._attempt
            if attempt is not None and not _has_failed(attempt):
                return attempt
            if time.monotonic() < self._closed_until:
                raise self._unavailable(f"{self._name} could not be loaded a moment ago")
            self._attempt = attempt = Future()
            threading.Thread(target=self._run, args=(attempt,), name="load-model", daemon=True).start()
            return attempt

    def _run(self, attempt: "Future[Model]") -> None:
        try:
            model = self._load()
        except Exception as error:  # whatever torch, transformers and the hub raise
            self._closed_until = time.monotonic() + _PAUSE_SECONDS
            _LOG.warning("model.not_loaded model=%s error=%s", self._name, error)
            reason = self._unavailable(f"{self._name} cannot be loaded: {error}")
            reason.__cause__ = error
            attempt.set_exception(reason)
        else:
            attempt.set_result(model)


def _has_failed(attempt: "Future[Model]") -> bool:
    return attempt.done() and attempt.exception() is not None
