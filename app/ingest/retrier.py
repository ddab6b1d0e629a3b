"""The service's thread that embeds what waited, when an embedder answers again."""

import logging
import threading

from app.db import pending
from app.errors import CollectionNotFound, RagledgerError
from app.ingest.retry import retry
from app.resources import Resources

_LOG = logging.getLogger(__name__)
LEAST_SECONDS = 2.0  # between two rounds; twice as long after each in vain
MOST_SECONDS = 60.0
_STOP_SECONDS = 2.0  # an embedder that does not answer is not waited for: what was under way still waits


class Retrier:
    """Looks for waiting documents, of all collections, until it is stopped."""

    def __init__(
        self, resources: Resources, *, least_seconds: float = LEAST_SECONDS, most_seconds: float = MOST_SECONDS
    ) -> None:
        self._resources = resources
        self._least_seconds, self._most_seconds = least_seconds, most_seconds
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retrier", daemon=True)

    def start(self) -> None:
        """Begin, once."""
        self._thread.start()

    def stop(self) -> None:
        """End it between two documents, and wait a moment for that."""
        self._ending.set()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        pause = self._least_seconds
        while not self._ending.wait(pause):
            try:
                got_through = self._round()
            except Exception as e:  # whatever an embedder raises: the next round tries again
                if not self._ending.is_set():
                    _LOG.warning("retry.failed error=%s", type(e).__name__, exc_info=not isinstance(e, RagledgerError))
                got_through = False
            pause = self._least_seconds if got_through else min(2 * pause, self._most_seconds)

    def _round(self) -> bool:
        """Try all that waits. Returns whether some of it does so no more."""
        got_through = False
        with self._resources.database.read() as connection:
            names = pending.collections(connection)
        for name in names:
            try:
                for outcome in retry(name, self._resources, every=False, go_on=self._goes_on):
                    got_through |= outcome.outcome not in {"pending", "failed"}
            except CollectionNotFound:
                continue
        return got_through

    def _goes_on(self) -> bool:
        return not self._ending.is_set()
