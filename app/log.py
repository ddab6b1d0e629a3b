"""Logging: one line per event, `event key=value ... request=<id>`; never texts or keys at info level."""

import logging
from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")


class _RequestId(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


def configure(level: str) -> None:
    """Send all loggers to stderr at `level` (debug, info, warning or error)."""
    handler = logging.StreamHandler()
    handler.addFilter(_RequestId())
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s request=%(request_id)s"))
    if level != "debug":  # psycopg tells of every connection that an interrupt closed
        logging.getLogger("psycopg").setLevel(logging.ERROR)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
