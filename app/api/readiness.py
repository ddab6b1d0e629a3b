"""Ask every part of the service whether it answers."""

import logging
from collections.abc import Callable

from app.api.replies import PartState, ReadyReply
from app.clients import deadline
from app.db import server
from app.errors import RagledgerError
from app.resources import Resources

_LOG = logging.getLogger(__name__)
_NEEDED = {"database", "migrations"}
_EMBEDDER_SECONDS = 1.0  # whoever asks has a timeout of their own, often of few seconds


def check(resources: Resources) -> ReadyReply:
    """The state of each part. Database and tables are needed; without another one the service degrades."""
    migrated = False

    def reach() -> None:
        nonlocal migrated
        with resources.database.read() as connection:
            migrated = server.migrated(connection)

    parts: dict[str, PartState] = {
        "database": _state("database", reach),
        "migrations": "ok" if migrated else "unavailable",
        "cache": _state("cache", resources.cache.ping),
        "embedder": _state("embedder", lambda: _embed(resources)),
        **resources.database.replica_states(),
    }
    away = {name for name, state in parts.items() if state == "unavailable"}
    return ReadyReply(status="unavailable" if away & _NEEDED else "degraded" if away else "ok", parts=parts)


def _embed(resources: Resources) -> None:
    with deadline.within(_EMBEDDER_SECONDS):
        resources.embedder.embed_questions(["ready"])


def _state(part: str, ask: Callable[[], object]) -> PartState:
    try:
        ask()
    except RagledgerError as e:
        _LOG.warning("health.unavailable part=%s error=%s", part, type(e).__name__)
        return "unavailable"
    return "ok"
