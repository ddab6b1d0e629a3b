"""Answers kept in Redis under a digest of everything they depend on, so that nothing stale can be served."""

import json
import logging
from dataclasses import asdict, replace
from hashlib import sha256
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from app.errors import CacheUnavailable
from app.lexical.fold import normalize
from app.lexical.tokens import TOKENIZER
from app.query.timing import Timings
from app.records import Answer, Collection, Question
from app.resources import Resources

_LOG = logging.getLogger(__name__)
_ANSWER = TypeAdapter(Answer)
_FORMAT = 2  # raise it when an answer is made or serialised otherwise


def key(question: Question, collection: Collection, revision: int, resources: Resources) -> str:
    """The digest of collection, revision, space, normalised question, parameters and the way answers are made."""
    reranker = resources.reranker(question.ranking.reranker)
    parts = [
        _FORMAT,
        TOKENIZER,
        str(collection.cache_scope),
        revision,
        collection.space.id,
        normalize(question.text),
        asdict(question.ranking),
        question.filters.given(),
        reranker.identity if reranker else None,
    ]
    return "answer:" + sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def read(question: Question, collection: Collection, resources: Resources) -> Answer | None:
    """The kept answer, or None. Raises CacheUnavailable. What cannot be read counts as absent."""
    if not question.use_cache or not resources.settings.answer_cache_seconds:
        return None
    if (value := resources.cache.read(key(question, collection, collection.revision, resources))) is None:
        return None
    try:
        return _ANSWER.validate_json(value)
    except ValidationError:
        _LOG.warning("cache.garbage collection=%s", collection.id)
        return None


def served(kept: Answer, timings: Timings) -> Answer:
    """A kept answer as this question's own."""
    return replace(kept, query_id=uuid4(), cached=True, timings_ms=timings.total())


def write(answer: Answer, question: Question, collection: Collection, resources: Resources) -> None:
    """Keep an answer under the revision it was made from. One made without a part of the service is not kept."""
    if answer.degraded or not question.use_cache or not resources.settings.answer_cache_seconds:
        return
    try:
        place = key(question, collection, answer.revision, resources)
        resources.cache.write(place, _ANSWER.dump_json(answer), seconds=resources.settings.answer_cache_seconds)
    except CacheUnavailable:
        _LOG.debug("cache.not_written collection=%s", collection.id)
