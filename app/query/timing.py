"""How long each step of a question took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timings(dict[str, float]):
    """Milliseconds by step. `with timings("recall"): ...` measures one; `total()` all since the start."""

    def __init__(self) -> None:
        super().__init__()
        self._started = time.perf_counter()

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self[step] = round((time.perf_counter() - started) * 1000, 3)

    def total(self) -> "Timings":
        """Write the time since the start as `total`."""
        self["total"] = round((time.perf_counter() - self._started) * 1000, 3)
        return self
