"""Vectors of questions kept in Redis: bit for bit what was computed, of one space, and nothing without it."""

import time
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest
import redis

from app.clients.cache import Cache
from app.clients.embedder import Embedder
from app.db import collections
from app.ingest import pipeline as ingest
from app.query import pipeline, question_vectors
from app.query.understand import understand
from app.records import Collection, Question, Source, Vector
from app.resources import Resources
from app.services import Endpoints
from tests.embedders import Away, Watched, put


@pytest.fixture
def caching(resources: Resources) -> Resources:
    """A collection k with a document, and a cache of question vectors."""
    made = replace(resources, settings=resources.settings.model_copy(update={"question_cache_seconds": 60}))
    vars(made)["backends"] = resources.backends
    ingest.ingest(Source("kettle.txt", "Kettle", "text/plain", "The copper kettle holds 12 litres."), "k", made)
    return made


@pytest.fixture
def question() -> str:
    """One that no other test asks: they share one Valkey."""
    return f"How many litres does the copper kettle {uuid4()} hold? 铜壶"


def vector_of(text: str, resources: Resources, *, use_cache: bool = True) -> Vector | None:
    with resources.database.read() as connection:
        collection = collections.get(connection, "k")
    return understand(Question(text, "k", use_cache=use_cache), collection, resources).vector


def test_a_question_is_embedded_once_and_its_vector_is_the_same_to_the_bit(
    caching: Resources, embedder: Embedder, question: str
) -> None:
    watched = Watched(embedder)
    put(caching, watched)
    computed, kept = (vector_of(question, caching) for _ in range(2))
    assert computed is not None
    assert kept is not None
    assert watched.asked == [question]
    assert kept.tobytes() == computed.tobytes() == embedder.embed_questions([question])[0].tobytes()
    assert kept.dtype == np.float32
    assert kept.flags.writeable


def test_what_a_search_folds_is_another_question_to_the_model(
    caching: Resources, embedder: Embedder, question: str
) -> None:
    watched = Watched(embedder)
    put(caching, watched)
    variants = [question, question.upper(), f"{question} ", question.replace("壶", "壺")]
    for text in variants:
        kept = (vector_of(text, caching), vector_of(text, caching))[1]
        assert kept is not None
        assert (kept == embedder.embed_questions([text])[0]).all()
    assert watched.asked == variants


def test_a_search_by_a_kept_vector_has_the_scores_of_one_without(caching: Resources, question: str) -> None:
    first, second = (pipeline.search(Question(question, "k"), caching).hits for _ in range(2))
    assert first == second


def test_a_known_question_is_searched_by_its_vector_when_the_embedder_is_away(
    caching: Resources, embedder: Embedder, question: str
) -> None:
    vector_of(question, caching)
    put(caching, Away(embedder.identity))
    assert pipeline.search(Question(question, "k"), caching).degraded == ()
    assert pipeline.search(Question(question, "k", use_cache=False), caching).degraded == ("vector",)
    assert pipeline.search(Question(question + "?", "k"), caching).degraded == ("vector",)


@pytest.mark.parametrize(
    "change",
    [
        "model = 'another'",
        "query_prefix = 'question: '",
        "fingerprint = (SELECT array_agg(x * 0.999) FROM unnest(fingerprint) x)",
        "fingerprint = NULL",
    ],
)
def test_a_vector_is_never_used_in_another_space(
    caching: Resources, embedder: Embedder, question: str, change: str
) -> None:
    vector_of(question, caching)
    put(caching, Away(embedder.identity))
    with caching.database.write() as connection:
        connection.execute(f"UPDATE embedding_space SET {change}")  # noqa: S608
    assert vector_of(question, caching) is None


@pytest.mark.parametrize(
    "garbage",
    [b"", b"\0", b"\0" * 1536, b"\xff" * 1536, np.ones(384, "<f4").tobytes(), np.ones(96, "<f4").tobytes() * 2],
    ids=["nothing", "a byte", "zeros", "NaN", "no unit vector", "too short"],
)
def test_garbage_counts_as_absent_and_is_replaced(
    caching: Resources, embedder: Embedder, question: str, garbage: bytes
) -> None:
    place = question_vectors._key(question, space_of(caching).space, caching)
    assert place
    caching.cache.write(place, garbage, seconds=60)
    for _ in range(2):
        vector = vector_of(question, caching)
        assert vector is not None
        assert (vector == embedder.embed_questions([question])[0]).all()
    assert caching.cache.read(place) != garbage


def space_of(resources: Resources) -> Collection:
    with resources.database.read() as connection:
        return collections.get(connection, "k")


def test_without_redis_a_question_is_embedded_and_nothing_is_said(
    caching: Resources, embedder: Embedder, question: str
) -> None:
    watched = Watched(embedder)
    alone = replace(caching, cache=Cache("redis://127.0.0.1:1/0", timeout_seconds=0.05))
    put(alone, watched)
    started = time.perf_counter()
    for _ in range(5):
        assert pipeline.search(Question(question, "k"), alone).degraded == ()
    assert time.perf_counter() - started < 5
    assert watched.asked == [question] * 5


@pytest.mark.usefixtures("caching")
def test_a_setting_of_zero_keeps_nothing(resources: Resources, embedder: Embedder) -> None:
    watched = Watched(embedder)
    put(resources, watched)
    assert resources.settings.question_cache_seconds == 0
    vector_of("the kettle", resources)
    vector_of("the kettle", resources)
    assert watched.asked == ["the kettle", "the kettle"]


def test_a_kept_vector_has_an_end_and_its_key_does_not_tell_the_question(
    caching: Resources, question: str, servers: Endpoints
) -> None:
    vector_of(question, caching)
    with redis.Redis.from_url(servers.redis_url) as client:
        keys = list(client.scan_iter("ragledger:question:*"))
        assert keys
        assert all(0 < client.ttl(key) <= 60 for key in keys)
        assert not any(b"kettle" in key for key in keys)
