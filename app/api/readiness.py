"""Ask every part of the service whether it answers."""

import logging
from collections.abc import Callable
from typing import Literal

from app.api.replies import ReadyReply
from app.db import health
from app.errors import DatabaseUnavailable, RagledgerError
from app.resources import Resources

_LOG = logging.getLogger(__name__)
_NEEDED = {"database", "migrations"}

State = Literal["ok", "unavailable"]


def check(resources: Resources) -> ReadyReply:
    """The state of each part. Database and tables are needed; without cache or embedder the service degrades."""
    migrations = _state("migrations", lambda: _migrated(resources))
    parts: dict[str, State] = {
        "database": "ok" if migrations == "ok" else _state("database", lambda: _reached(resources)),
        "migrations": migrations,
        "cache": _state("cache", resources.cache.ping),
        "embedder": _state("embedder", lambda: resources.embedder.embed_questions(["ready"])),
    }
    away = {name for name, state in parts.items() if state != "ok"}
    return ReadyReply(status="unavailable" if away & _NEEDED else "degraded" if away else "ok", parts=parts)


def _migrated(resources: Resources) -> None:
    with resources.database.read() as connection:
        if not health.migrated(connection):
            raise DatabaseUnavailable("the tables are not those of this version, run `ragledger migrate`")


def _reached(resources: Resources) -> None:
    with resources.database.read():
        pass


def _state(part: str, ask: Callable[[], object]) -> State:
    try:
        ask()
    except RagledgerError as e:
        _LOG.warning("health.unavailable part=%s error=%s", part, type(e).__name__)
        return "unavailable"
    return "ok"
