"""The service's thread that makes indexes anew when words changed, or when it starts with a newer tokenizer."""

import logging
import threading

from app.db import lexicon
from app.errors import CollectionNotFound, RagledgerError
from app.ingest.retokenize import retokenize
from app.resources import Resources

_LOG = logging.getLogger(__name__)
_PAUSE_SECONDS = 30.0  # after a failure
_STOP_SECONDS = 10.0  # a batch takes one or two; who still waits for another process then is left to the exit


class _StoppedError(Exception):
    """The process ends; what was under way leaves no trace and begins anew in the next one."""


class Retokenizer:
    """Nothing runs until `wake`, nor when every index is up to date."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._woken = False
        self._ending = threading.Event()

    def wake(self) -> None:
        """Look for indexes that are not up to date, soon and once for many calls."""
        with self._lock:
            self._woken = True
            if self._thread is None and not self._ending.is_set():
                self._thread = threading.Thread(target=self._run, name="retokenizer", daemon=True)
                self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether it is at work."""
        with self._lock:
            return self._thread is not None

    def stop(self) -> None:
        """End the work between two batches, and wait for that. It cannot be woken again."""
        self._ending.set()
        with self._lock:
            thread = self._thread
        if thread:
            thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        while self._takes_work():
            try:
                self._bring_all_up_to_date()
            except _StoppedError:
                continue
            except RagledgerError as e:
                _LOG.warning("retokenize.failed error=%s", type(e).__name__)
                self._ending.wait(_PAUSE_SECONDS)
                self._woken = True

    def _takes_work(self) -> bool:
        with self._lock:
            woken, self._woken = self._woken and not self._ending.is_set(), False
            if not woken:
                self._thread = None
            return woken

    def _bring_all_up_to_date(self) -> None:
        with self._resources.database.read() as connection:
            states = lexicon.states(connection)
        for state in states:
            if not state.current:
                try:
                    retokenize(state.collection_id, self._resources, self._go_on)
                except CollectionNotFound:
                    continue

    def _go_on(self, _done: int, _known: int) -> None:
        if self._ending.is_set():
            raise _StoppedError
