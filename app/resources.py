"""Every long-lived client of a process, built once from Settings. Build after a fork, not before."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from app import services
from app.clients.cache import Cache
from app.clients.embedder import Embedder
from app.clients.embedder.backends import Backends
from app.clients.lazy_model import is_installed
from app.clients.reranker import Reranker
from app.clients.reranker.cross_encoder import CrossEncoderReranker
from app.clients.reranker.http import HttpReranker
from app.db import migrate, replicas, server
from app.db.pool import Database
from app.db.replicas import Replica
from app.db.segment_cache import SegmentCache
from app.errors import InvalidInput, ServiceFailed
from app.records import Ranking, RerankerName, Space, Splitting
from app.settings import Settings

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Resources:
    """What the pipelines need of the outside."""

    settings: Settings
    database: Database
    cache: Cache
    segments: SegmentCache

    @cached_property
    def backends(self) -> Backends:
        """Every embedder; the built-in one converts its weights at the first use."""
        return Backends(self.settings)

    @property
    def embedder(self) -> Embedder:
        """The embedder of new collections."""
        return self.backends.configured

    def embedder_of(self, space: Space) -> Embedder:
        """The embedder whose vectors a space holds, whatever the settings say by now."""
        return self.backends.of(space.identity, space.fingerprint)

    def reranker(self, name: RerankerName) -> Reranker | None:
        """The model behind a method, None where the method has none. Raises InvalidInput where it is not set up."""
        if name == "cross-encoder":
            return self._cross_encoder
        return self._http_reranker if name == "http" else None

    @cached_property
    def _cross_encoder(self) -> Reranker:
        s = self.settings
        if s.reranker_model is None:
            raise InvalidInput("reranker", "cross-encoder needs the setting RERANKER_MODEL")
        if not is_installed():
            raise InvalidInput("reranker", "cross-encoder needs sentence-transformers: pip install -e '.[st]'")
        return CrossEncoderReranker(
            s.reranker_model, max_tokens=s.reranker_max_tokens, timeout_seconds=s.reranker_timeout_seconds
        )

    @cached_property
    def _http_reranker(self) -> Reranker:
        s = self.settings
        if s.reranker_url is None:
            raise InvalidInput("reranker", "http needs the setting RERANKER_URL")
        return HttpReranker(
            s.reranker_url,
            protocol=s.reranker_protocol or ("jina" if s.reranker_model else "tei"),
            model=s.reranker_model,
            api_key=s.reranker_api_key.get_secret_value() if s.reranker_api_key else None,
            timeout_seconds=s.reranker_timeout_seconds,
        )

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
            reranker=s.reranker,
            rerank_depth=s.rerank_depth,
            rerank_weight=s.rerank_weight,
            rerank_coverage_weight=s.rerank_coverage_weight,
            rerank_min_score=s.rerank_min_score,
            expand_tokens=s.expand_tokens,
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
    cache = Cache(_redis_url(settings), timeout_seconds=settings.redis_timeout_seconds)
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
