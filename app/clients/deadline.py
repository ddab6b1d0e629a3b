"""By when what is asked of servers has to end, all requests, waits and fallbacks together: set where it is known, and
read where it is waited."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_MOMENT: ContextVar[float | None] = ContextVar("moment", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let what this thread asks inside end in time. Of nested ones the nearest moment holds."""
    moment, outer = time.monotonic() + seconds, _MOMENT.get()
    token = _MOMENT.set(moment if outer is None else min(moment, outer))
    try:
        yield
    finally:
        _MOMENT.reset(token)


def seconds_left() -> float | None:
    """Until the moment, 0 where it has passed; None where there is none."""
    return None if (moment := _MOMENT.get()) is None else max(0.0, moment - time.monotonic())
