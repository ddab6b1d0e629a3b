"""Ask an embedding server as often as patience allows: a question has seconds, an ingest has minutes."""

import logging
import random
import re
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from urllib3.exceptions import InvalidHeader
from urllib3.util import Retry

from app.clients import deadline
from app.clients.breaker import Breaker
from app.clients.transport import NoAnswer, Reply, TooLarge, Transport
from app.errors import EmbedderUnavailable, EmbeddingFailed

_LOG = logging.getLogger(__name__)
_PAUSE_SECONDS = 5.0  # after no answer
_BACKOFF_SECONDS, _LONGEST_BACKOFF_SECONDS = 0.5, 20.0
_LONGEST_RETRY_AFTER_SECONDS = 60.0  # a server that asks for more has no quota left: it is not waited for
_AWAY = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
_PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
_REFUSALS = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.INTERNAL_SERVER_ERROR)
# What Ollama, OpenAI, TEI, vLLM, Infinity and llama.cpp say of a text, or of a request, that is too long. Some versions
# of Ollama and llama.cpp say so with status 500.
_TOO_LONG = re.compile(
    rb"context (length|size|window)|too (long|large|many)|must have less than|maximum (context|sequence|allowed|batch)"
    rb"|exceed\w* .*(length|size|limit|tokens)|at most \d+|longer than",
    re.IGNORECASE,
)
_NO_NUMBER = b"unsupported value"  # Ollama, status 500, of a vector with NaN: asking again gives it again
_MESSAGE_BYTES = 4_000


class TooLong(Exception):
    """The server refuses a request for its length."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds for one request with passages, for all of a question, and how often passages are sent again."""

    passages_seconds: float
    question_seconds: float
    retries: int


class Calls:
    """What is asked of one server, all models together. Safe to use from several threads.

    Questions give up sooner than passages, so either has a breaker of its own: that a busy server had no time for a
    question does not say that it has none for a document.
    """

    def __init__(self, name: str, key: str | None, patience: Patience) -> None:
        self._name, self._patience = name, patience
        self._transport = Transport(key)
        self._questions, self._passages = Breaker(_PAUSE_SECONDS), Breaker(_PAUSE_SECONDS)

    def post(self, url: str, body: Any, *, max_bytes: int) -> bytes:
        """The content of a reply. Raises EmbedderUnavailable, EmbeddingFailed where it was refused, and TooLong."""
        hurried = deadline.seconds_left() is not None
        breaker = self._questions if hurried else self._passages
        if not breaker.admits():
            raise EmbedderUnavailable(f"{self._name} did not answer a moment ago")
        try:
            retries = 0 if breaker.trying else min(1, self._patience.retries) if hurried else self._patience.retries
            reply = self._answered(url, body, max_bytes, retries, breaker)
        finally:
            breaker.undecided()
        return self._content(reply)

    def _answered(self, url: str, body: Any, max_bytes: int, retries: int, breaker: Breaker) -> Reply:
        """The first reply that is not one of a server in trouble."""
        for attempt in range(retries + 1):
            outcome = self._outcome(url, body, max_bytes)
            if isinstance(outcome, Reply) and not _is_trouble(outcome):
                breaker.answered()
                if attempt:
                    self._questions.answered()
                return outcome
            if _is_away(outcome):
                self._questions.silent()
            pause = _pause_seconds(outcome, attempt)
            left = deadline.seconds_left()
            longest = _LONGEST_RETRY_AFTER_SECONDS if left is None else left
            if attempt == retries or pause >= longest:
                break
            _LOG.info("embedder.again backend=%s attempt=%d wait_seconds=%.1f", self._name, attempt + 1, pause)
            time.sleep(pause)
        if _is_away(outcome):
            breaker.silent()
        elif isinstance(outcome, Reply):
            breaker.answered()
        raise EmbedderUnavailable(f"{self._name} {_reason(outcome)}")

    def _outcome(self, url: str, body: Any, max_bytes: int) -> Reply | NoAnswer:
        left, seconds = deadline.seconds_left(), self._patience.passages_seconds
        seconds = seconds if left is None else min(seconds, left)
        try:
            return self._transport.post(url, body, seconds=seconds, max_bytes=max_bytes)
        except NoAnswer as error:
            # one who had hardly time to ask, as a health check, says nothing about the server
            cut_short = left is not None and not error.in_time and seconds < self._patience.question_seconds / 2
            return NoAnswer(str(error), in_time=error.in_time, cut_short=cut_short)
        except TooLarge as error:
            raise EmbeddingFailed(f"the answer of {self._name} is {error}") from error

    def _content(self, reply: Reply) -> bytes:
        if reply.ok:
            return reply.content
        if _is_too_long(reply):
            raise TooLong
        _LOG.debug("embedder.refusal backend=%s status=%d said=%r", self._name, reply.status, reply.content[:500])
        if reply.status in _REFUSALS:
            raise EmbeddingFailed(f"{self._name} refused the texts with status {reply.status}")
        raise EmbedderUnavailable(f"{self._name} {_reason(reply)}")


def _is_trouble(reply: Reply) -> bool:
    """Whether the same request may be answered a little later."""
    if _is_too_long(reply) or _NO_NUMBER in reply.content[:_MESSAGE_BYTES]:
        return False
    return reply.status in _PASSING or reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _is_away(outcome: Reply | NoAnswer) -> bool:
    return outcome.status in _AWAY if isinstance(outcome, Reply) else not outcome.cut_short


def _is_too_long(reply: Reply) -> bool:
    if reply.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return True
    return reply.status in _REFUSALS and _TOO_LONG.search(reply.content[:_MESSAGE_BYTES]) is not None


def _pause_seconds(outcome: Reply | NoAnswer, attempt: int) -> float:
    """As the server asks, else twice as long each time; a part of it by chance, so that not all come back at once."""
    chance = random.random()  # noqa: S311  nothing secret
    if isinstance(outcome, Reply) and (asked := _retry_after(outcome)) is not None:
        return asked * (1 + 0.1 * chance)
    return min(_BACKOFF_SECONDS * 2.0**attempt, _LONGEST_BACKOFF_SECONDS) * (0.5 + 0.5 * chance)


def _retry_after(reply: Reply) -> float | None:
    """Seconds, given as such or as a date; None where neither can be read."""
    try:
        return float(Retry(retry_after_max=10**9).parse_retry_after(reply.headers["Retry-After"]))
    except (KeyError, InvalidHeader, ValueError, OverflowError):
        return None


def _reason(outcome: Reply | NoAnswer) -> str:
    if isinstance(outcome, NoAnswer):
        return f"does not answer: {outcome}"
    hints: dict[int, str] = {
        HTTPStatus.UNAUTHORIZED: ": the key is missing or wrong",
        HTTPStatus.FORBIDDEN: ": the key does not allow it",
        HTTPStatus.NOT_FOUND: ": it does not have the model, or its address is another",
        HTTPStatus.TOO_MANY_REQUESTS: ": too many requests",
    }
    return f"answered with status {outcome.status}{hints.get(outcome.status, '')}"
