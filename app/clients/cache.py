"""The cache of answers and question vectors, in Redis or Valkey. Its absence is no error: callers go on without it."""

import logging
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.errors import CacheUnavailable

_LOG = logging.getLogger(__name__)
_PREFIX = "ragledger:"
_PAUSE_SECONDS = 5.0


class AnswerCache:
    """Bytes by key with a time to live. After a failure it stays closed for five seconds, so that a Redis that hangs
    costs one timeout and not one for each question."""

    def __init__(self, url: str | None, *, timeout_seconds: float) -> None:
        self._client = None if url is None else _client(url, timeout_seconds)
        self._closed_until = 0.0

    def read(self, key: str) -> bytes | None:
        """The value, or None. Raises CacheUnavailable."""
        try:
            value = self._open().get(_PREFIX + key)
        except redis.RedisError as e:
            raise self._pause(e) from e
        return value if isinstance(value, bytes) else None

    def write(self, key: str, value: bytes, *, seconds: int) -> None:
        """Keep a value for some seconds. Raises CacheUnavailable."""
        try:
            self._open().set(_PREFIX + key, value, ex=seconds)
        except redis.RedisError as e:
            raise self._pause(e) from e

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

    def _open(self) -> redis.Redis:
        if time.monotonic() < self._closed_until:
            raise CacheUnavailable("Redis did not answer a moment ago")
        return self._known()

    def _known(self) -> redis.Redis:
        if self._client is None:
            raise CacheUnavailable("there is no Redis: it could not be started")
        return self._client

    def _pause(self, error: redis.RedisError) -> CacheUnavailable:
        self._closed_until = time.monotonic() + _PAUSE_SECONDS
        _LOG.warning("cache.unavailable pause_seconds=%s error=%s", _PAUSE_SECONDS, type(error).__name__)
        return CacheUnavailable(f"Redis does not answer: {error}")


def _client(url: str, timeout_seconds: float) -> redis.Redis:
    # no retries: redis-py would wait for seconds between them, and an answer without a cache is better than a late one
    return redis.Redis.from_url(
        url,
        socket_timeout=timeout_seconds,
        socket_connect_timeout=timeout_seconds,
        retry=Retry(NoBackoff(), 0),
        retry_on_error=[],
    )
