"""Check a question and make of it what both recalls read: tokens and a vector."""

import logging
import unicodedata

from app.errors import EmbedderUnavailable, EmbeddingFailed, InvalidInput
from app.lexical.tokens import tokens
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
    """Tokens and vector of a question. Without an embedder the search goes on by BM25 alone and says so."""
    terms = tuple(tokens(question.text))
    vector = _vector(question, collection, resources)
    return Asked(question, collection, terms, vector, () if vector is not None else ("vector",))


def _vector(question: Question, collection: Collection, resources: Resources) -> Vector | None:
    embedder = resources.embedder
    if embedder.identity != collection.space.identity:
        _LOG.warning("search.space_differs collection=%s model=%s", collection.id, embedder.identity.model)
        return None
    try:
        vector: Vector = embedder.embed_questions([question.text])[0]
    except (EmbedderUnavailable, EmbeddingFailed) as e:
        _LOG.warning("search.degraded part=vector error=%s", type(e).__name__)
        return None
    return vector
