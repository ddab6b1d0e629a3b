"""The cache of answers and question vectors, in Redis or Valkey. Its absence is no error: callers go on without it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.clients.breaker import Breaker
from app.errors import CacheUnavailable

_LOG = logging.getLogger(__name__)
_PREFIX = "ragledger:"
_PAUSE_SECONDS = 5.0


class Cache:
    """Bytes by key with a time to live. After a failure it stays closed for five seconds, so that a Redis that hangs
    costs one timeout and not one for each question."""

    def __init__(self, url: str | None, *, timeout_seconds: float) -> None:
        self._client = None if url is None else _client(url, timeout_seconds)
        self._breaker = Breaker(_PAUSE_SECONDS)

    def read(self, key: str) -> bytes | None:
        """The value, or None. Raises CacheUnavailable."""
        with self._asking() as client:
            value = client.get(_PREFIX + key)
        return value if isinstance(value, bytes) else None

    def write(self, key: str, value: bytes, *, seconds: int) -> None:
        """Keep a value for some seconds. Raises CacheUnavailable."""
        with self._asking() as client:
            client.set(_PREFIX + key, value, ex=seconds)

    def ping(self) -> None:
        """Raises CacheUnavailable where Redis does not answer; asks even while paused."""
        try:
            self._known().ping()
        except redis.RedisError as e:
            raise CacheUnavailable(f"Redis does not answer: {e}") from e

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()

    @contextmanager
    def _asking(self) -> Iterator[redis.Redis]:
        client = self._known()
        if not self._breaker.admits():
            raise CacheUnavailable("Redis did not answer a moment ago")
        try:
            yield client
            self._breaker.answered()
        except redis.RedisError as e:
            self._breaker.silent()
            _LOG.warning("cache.unavailable pause_seconds=%s error=%s", _PAUSE_SECONDS, type(e).__name__)
            raise CacheUnavailable(f"Redis does not answer: {e}") from e
        finally:
            self._breaker.undecided()

    def _known(self) -> redis.Redis:
        if self._client is None:
            raise CacheUnavailable("there is no Redis: it could not be started")
        return self._client


def _client(url: str, timeout_seconds: float) -> redis.Redis:
    # no retries: redis-py would wait for seconds between them, and an answer without a cache is better than a late one
    return redis.Redis.from_url(
        url,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
        retry_on_error=[],
    )
