"""Leave a server that does not answer alone for a moment: every thread would wait out the same timeout."""

import threading
import time


class Breaker:
    """Open after no answer; when the pause is over, one request may try, and the others go on without until it is
    answered."""

    def __init__(self, pause_seconds: float) -> None:
        self._pause_seconds = pause_seconds
        self._open_until: float | None = None
        self._tried_by: int | None = None  # thread
        self._lock = threading.Lock()

    def admits(self) -> bool:
        """Whether the calling thread may ask. It then has to say what came of it: one of the three below."""
        with self._lock:
            if self._open_until is None:
                return True
            if self._tried_by is not None or time.monotonic() < self._open_until:
                return False
            self._tried_by = threading.get_ident()
            return True

    def answered(self) -> None:
        with self._lock:
            self._open_until = self._tried_by = None

    def silent(self) -> None:
        with self._lock:
            self._open_until = time.monotonic() + self._pause_seconds
            self._tried_by = None

    def undecided(self) -> None:
        """The caller gave up before it could know."""
        with self._lock:
            if self._tried_by == threading.get_ident():
                self._tried_by = None

    @property
    def trying(self) -> bool:
        """Whether the calling thread is the one that may try."""
        return self._tried_by == threading.get_ident()
