"""Check a question and make of it what both recalls read: a vector, and tokens."""

import logging
import unicodedata
from dataclasses import replace

from app.db import collections
from app.db.pool import Db
from app.errors import CollectionNotFound, EmbedderUnavailable, EmbeddingFailed, InvalidInput
from app.lexical.tokens import tokens
from app.query import question_vectors
from app.records import Asked, Collection, Question, Vector
from app.resources import Resources

_LOG = logging.getLogger(__name__)


def check(question: Question, resources: Resources) -> None:
    """Raises InvalidInput naming the field that cannot be used."""
    max_chars = resources.settings.question_max_chars
    if not question.text.strip():
        raise InvalidInput("question", "is empty")
    if max(len(question.text), len(unicodedata.normalize("NFKC", question.text[: max_chars + 1]))) > max_chars:
        raise InvalidInput("question", f"is longer than {max_chars} characters")
    if "\0" in question.text:
        raise InvalidInput("question", f"contains a NUL at character {question.text.index(chr(0))}")
    ranking = question.ranking
    if ranking.vector_weight + ranking.bm25_weight <= 0:
        raise InvalidInput("vector_weight", "vector_weight and bm25_weight must not both be 0")
    resources.reranker(ranking.reranker)


def understand(question: Question, collection: Collection, resources: Resources) -> Asked:
    """The vector of a question. Without an embedder the search goes on by BM25 alone and says so."""
    vector = _vector(question, collection, resources)
    return Asked(question, collection, (), vector, () if vector is not None else ("vector",))


class OtherModelError(Exception):
    """The collection was given another model after the question's vector was made: one of its own is needed."""

    def __init__(self, collection: Collection) -> None:
        super().__init__(f"{collection.name} has another model by now")
        self.collection = collection


def tokenized(asked: Asked, snapshot: Db) -> Asked:
    """The question with its tokens, by the words that the index of this very snapshot was made with.

    Raises CollectionNotFound where its collection was deleted, also where another has its name by now, and
    OtherModelError where the question's vector is none of the snapshot's space.
    """
    now = collections.get(snapshot, asked.collection.name)
    if now.id != asked.collection.id:
        raise CollectionNotFound("the collection was deleted meanwhile")
    if now.space.id != asked.collection.space.id:
        raise OtherModelError(now)
    collection = replace(asked.collection, revision=now.revision, words=now.words)
    return replace(asked, collection=collection, tokens=tuple(tokens(asked.question.text, now.words)))


def _vector(question: Question, collection: Collection, resources: Resources) -> Vector | None:
    space = collection.space
    if question.use_cache and (kept := question_vectors.read(question.text, space, resources)) is not None:
        return kept
    try:
        vector: Vector = resources.embedder_of(space).embed_questions([question.text])[0]
    except (EmbedderUnavailable, EmbeddingFailed) as e:
        _LOG.warning("search.degraded part=vector error=%s", type(e).__name__)
        return None
    if question.use_cache:
        question_vectors.write(question.text, space, vector, resources)
    return vector
