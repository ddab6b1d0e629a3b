"""Curated pairs: a direct hit on the exact normalised question. Only the question is matched, never the answer."""

from uuid import uuid4

from app.db import collections, qa_pairs
from app.db.pool import Db
from app.errors import InvalidInput
from app.lexical.fold import normalize
from app.query.timing import Timings
from app.records import Answer, Collection, DocumentState, QaPair, Question
from app.resources import Resources

QUESTION_MAX_BYTES = 2_000  # an index entry of PostgreSQL holds 2,704


def hit(question: Question, collection: Collection, snapshot: Db) -> QaPair | None:
    """The active pair whose normalised question is this one, or None.

    None for a question with filters: they say which documents may speak, and a pair comes from none.
    """
    if question.filters.given():
        return None
    return qa_pairs.hit(snapshot, collection.id, normalize(question.text))


def answer(pair: QaPair, collection: Collection, timings: Timings) -> Answer:
    """The curated answer, as it is."""
    return Answer(
        query_id=uuid4(),
        collection=collection.name,
        revision=collection.revision,
        text=pair.answer,
        source="qa",
        generator="curated",
        cached=False,
        confidence=1.0,
        citations=(),
        hits=(),
        degraded=(),
        timings_ms=timings.total(),
    )


def add(name: str, question: str, answer: str, resources: Resources) -> QaPair:
    """Add a pair to a collection. Raises CollectionNotFound, InvalidInput, Conflict."""
    normalized = _checked(question, answer)
    with resources.database.write() as connection:
        collection = collections.get(connection, name)
        pair_id = qa_pairs.insert(connection, collection.id, question, normalized, answer)
        collections.bump(connection, collection.id)
        return qa_pairs.get(connection, pair_id)


def change(
    qa_pair_id: int, resources: Resources, *, question: str | None, answer: str | None, state: DocumentState | None
) -> QaPair:
    """Change what is given of a pair. Raises NotFound, InvalidInput, Conflict."""
    with resources.database.write() as connection:
        collection_id, old_question, old_answer, old_state = qa_pairs.lock(connection, qa_pair_id)
        question, answer = question or old_question, answer or old_answer
        values = {"question": question, "normalized_question": _checked(question, answer), "answer": answer}
        qa_pairs.update(connection, collection_id, qa_pair_id, {**values, "state": state or old_state})
        collections.bump(connection, collection_id)
        return qa_pairs.get(connection, qa_pair_id)


def delete(qa_pair_id: int, resources: Resources) -> None:
    """Delete a pair. Raises NotFound."""
    with resources.database.write() as connection:
        collection_id, *_ = qa_pairs.lock(connection, qa_pair_id)
        qa_pairs.delete(connection, collection_id, qa_pair_id)
        collections.bump(connection, collection_id)


def _checked(question: str, answer: str) -> str:
    for field, value in (("question", question), ("answer", answer)):
        if not value.strip():
            raise InvalidInput(field, "is empty")
        if "\0" in value:
            raise InvalidInput(field, f"contains a NUL at character {value.index(chr(0))}")
    if not (normalized := normalize(question)):
        raise InvalidInput("question", "has nothing but punctuation")
    if len(normalized.encode()) > QUESTION_MAX_BYTES:
        raise InvalidInput("question", f"is longer than {QUESTION_MAX_BYTES} bytes")
    return normalized
