"""A reranker behind `POST /rerank`, in the two forms that servers speak.

tei: {"query", "texts"} -> [{"index", "score"}] (Text Embeddings Inference).
jina: {"model", "query", "documents", "top_n"} -> {"results": [{"index", "relevance_score"}]} (vLLM, Infinity, Jina,
Cohere). Both give a relevance, for the usual models between 0 and 1.
"""

import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter, ValidationError

from app.clients.breaker import Breaker
from app.clients.transport import NoAnswer, Reply, TooLarge, Transport
from app.errors import RerankerUnavailable, RerankingFailed
from app.records import Floats

Protocol = Literal["tei", "jina"]
_BATCH_TEXTS = 32  # the most that Text Embeddings Inference takes unless told otherwise
_REPLY_MAX_BYTES = 1_000_000
_PAUSE_SECONDS = 2.0
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
# no model means more, and differences of the largest numbers overflow
_Score = Annotated[FiniteFloat, Field(ge=-1e9, le=1e9)]


class _Scored(BaseModel):
    """One text's score; servers add fields of their own."""

    model_config = ConfigDict(strict=True)

    index: int
    score: Annotated[_Score, Field(validation_alias="score")]


class _Relevance(_Scored):
    score: Annotated[_Score, Field(validation_alias="relevance_score")]


class _Results(BaseModel):
    results: list[_Relevance]


_TEI = TypeAdapter(list[_Scored])


class HttpReranker:
    """A Reranker. `timeout_seconds` is for a whole question, however many requests it takes."""

    def __init__(
        self, url: str, *, protocol: Protocol, model: str | None, api_key: str | None, timeout_seconds: float
    ) -> None:
        self._url, self._protocol, self._model = url, protocol, model
        self._timeout_seconds = timeout_seconds
        self._breaker = Breaker(_PAUSE_SECONDS)
        self._transport = Transport(api_key)

    @property
    def identity(self) -> str:
        return f"{self._model} at {self._url}" if self._model else self._url

    def score(self, question: str, texts: Sequence[str]) -> Floats:
        if not self._breaker.admits():
            raise RerankerUnavailable("the reranker did not answer a moment ago")
        deadline = time.monotonic() + self._timeout_seconds
        batches = [texts[start : start + _BATCH_TEXTS] for start in range(0, len(texts), _BATCH_TEXTS)]
        try:
            scores = [self._scored(question, batch, deadline) for batch in batches]
        finally:
            self._breaker.undecided()
        return np.concatenate([np.empty(0), *scores])

    def _scored(self, question: str, texts: Sequence[str], deadline: float) -> Floats:
        reply = self._asked(self._body(question, texts), deadline)
        if reply.status in _BUSY:
            self._breaker.silent()
        else:
            self._breaker.answered()
        if not reply.ok:
            raise RerankerUnavailable(f"the reranker answered with status {reply.status}")
        return _in_order(self._parsed(reply.content), len(texts))

    def _asked(self, body: dict[str, Any], deadline: float) -> Reply:
        seconds = deadline - time.monotonic()
        try:
            return self._transport.post(self._url, body, seconds=seconds, max_bytes=_REPLY_MAX_BYTES)
        except NoAnswer as error:
            self._breaker.silent()
            raise RerankerUnavailable(f"the reranker does not answer: {error}") from error
        except TooLarge as error:
            raise RerankingFailed(f"the reranker's answer is {error}") from error

    def _body(self, question: str, texts: Sequence[str]) -> dict[str, Any]:
        if self._protocol == "tei":
            return {"query": question, "texts": list(texts), "truncate": True}
        return {"model": self._model, "query": question, "documents": list(texts), "top_n": len(texts)}

    def _parsed(self, content: bytes) -> Sequence[_Scored]:
        try:
            if self._protocol == "tei":
                return _TEI.validate_json(content)
            return _Results.model_validate_json(content).results
        except ValidationError as error:
            raise RerankingFailed(f"the reranker's answer cannot be read: {error.errors()[0]['msg']}") from None


def _in_order(scored: Sequence[_Scored], count: int) -> Floats:
    """Scores (count,) by index. Raises RerankingFailed unless every index occurs once."""
    if sorted(one.index for one in scored) != list(range(count)):
        raise RerankingFailed(f"the reranker scored other texts than the {count} it was given")
    scores = np.empty(count)
    scores[[one.index for one in scored]] = [one.score for one in scored]
    return scores
