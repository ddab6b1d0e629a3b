"""Places in the primary's write-ahead log, by which it is known whether a replica has replayed enough.

PostgreSQL calls one an LSN: 64 bits, told as two hexadecimal halves ("0/16B3748"). A request may ask to see all up to
a position; what a request wrote is told to its client, so that another process can be asked to show it.
"""

import re
from contextvars import ContextVar

_FORM = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")

# of the request that this thread serves; 0 where there is none
asked: ContextVar[int] = ContextVar("position_asked", default=0)
written: ContextVar[int] = ContextVar("position_written", default=0)


def parse(text: str) -> int:
    """A position as a number. Raises ValueError."""
    if (found := _FORM.fullmatch(text)) is None:
        raise ValueError("is no position such as 0/16B3748")
    return int(found[1], 16) << 32 | int(found[2], 16)


def tell(position: int) -> str:
    """A position as PostgreSQL writes it."""
    return f"{position >> 32:X}/{position & 0xFFFF_FFFF:X}"
