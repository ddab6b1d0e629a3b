"""Every long-lived client of a process, built once from Settings. Build after a fork, not before."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from app import services
from app.clients.cache import AnswerCache
from app.clients.embedder import Embedder
from app.clients.embedder.builtin import BuiltinEmbedder
from app.db import migrate, replicas, server
from app.db.pool import Database
from app.db.postings import SegmentCache
from app.db.replicas import Replica
from app.errors import ServiceFailed
from app.records import Ranking, Splitting
from app.settings import Settings

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Resources:
    """What the pipelines need of the outside."""

    settings: Settings
    database: Database
    cache: AnswerCache
    segments: SegmentCache

    @cached_property
    def embedder(self) -> Embedder:
        """The configured embedder; the built-in one converts its weights at the first use."""
        return BuiltinEmbedder(self.settings.ragledger_home / "models", self.settings.embed_threads)

    @property
    def splitting(self) -> Splitting:
        """How a new collection splits its documents."""
        s = self.settings
        return Splitting(s.splitter, s.chunk_chars, s.chunk_overlap_chars)

    @property
    def ranking(self) -> Ranking:
        """The configured defaults of a search."""
        s = self.settings
        return Ranking(
            top_k=s.top_k,
            candidates=s.candidates,
            fusion=s.fusion,
            vector_weight=s.vector_weight,
            bm25_weight=s.bm25_weight,
            rerank_depth=s.rerank_depth,
            rerank_weight=s.rerank_weight,
        )

    def ranking_with(self, **changes: float | str | None) -> Ranking:
        """The configured defaults with the changes that are not None."""
        given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
        return replace(self.ranking, **given)

    def close(self) -> None:
        """Close every connection."""
        self.database.close()
        self.cache.close()


@contextmanager
def opened(settings: Settings) -> Iterator[Resources]:
    """Start what must be started, connect, and close again at the end."""
    resources = build(settings)
    try:
        yield resources
    finally:
        resources.close()


def build(settings: Settings) -> Resources:
    """Connect to the configured or embedded PostgreSQL and Valkey; tables of the embedded one are brought up to date.

    Raises ServiceFailed, UnsupportedServer, DatabaseUnavailable. Without a Valkey the answers come uncached, without
    the replicas the primary answers.
    """
    url = services.database_url(settings)
    if settings.database_url is not None:
        server.require_ready(url)
    elif not server.is_current(url):
        migrate.upgrade(url)
    database = _database(url, settings)
    cache = AnswerCache(_redis_url(settings), timeout_seconds=settings.redis_timeout_seconds)
    return Resources(settings, database, cache, SegmentCache(settings.postings_cache_bytes))


def _database(url: str, settings: Settings) -> Database:
    connections, seconds = settings.database_pool_max, settings.database_timeout_seconds
    standbys: Sequence[Replica] = ()
    if (read_url := settings.database_read_url) is not None:
        cluster = server.cluster(url)
        standbys = replicas.opened(
            read_url.get_secret_value(), cluster, max_connections=connections, timeout_seconds=seconds
        )
    return Database(url, max_connections=connections, timeout_seconds=seconds, replicas=standbys)


def _redis_url(settings: Settings) -> str | None:
    try:
        return services.redis_url(settings)
    except ServiceFailed as e:
        _LOG.warning("cache.not_started reason=%s", e)
        return None
