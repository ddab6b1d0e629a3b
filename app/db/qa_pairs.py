"""Curated question/answer pairs."""

from typing import Any, cast

from app.db import collections
from app.db.pool import Db
from app.db.sql import statement
from app.errors import Conflict, NotFound
from app.records import DocumentState, QaPair


def hit(connection: Db, collection_id: int, normalized_question: str) -> QaPair | None:
    """The active pair of a normalised question, or None."""
    values = {"collection_id": collection_id, "normalized_question": normalized_question}
    row = connection.execute(statement("qa_pairs", "hit"), values).fetchone()
    return QaPair(*row) if row else None


def insert(connection: Db, collection_id: int, question: str, normalized_question: str, answer: str) -> int:
    """Insert a pair. Returns its id. Raises Conflict where the normalised question has one."""
    values = {"collection_id": collection_id, "question": question, "answer": answer}
    values |= {"normalized_question": normalized_question}
    row = connection.execute(statement("qa_pairs", "insert"), values).fetchone()
    if row is None:
        raise Conflict("this question has a pair already")
    return int(row[0])


def get(connection: Db, qa_pair_id: int) -> QaPair:
    """A pair. Raises NotFound."""
    row = connection.execute(statement("qa_pairs", "get"), {"qa_pair_id": qa_pair_id}).fetchone()
    if row is None:
        raise NotFound(f"no question/answer pair has the id {qa_pair_id}")
    return QaPair(*row)


def listed(connection: Db, collection_id: int, *, after: int, limit: int) -> list[QaPair]:
    """A page of a collection's pairs by id, after the given one."""
    values = {"collection_id": collection_id, "after": after, "limit": limit}
    return [QaPair(*row) for row in connection.execute(statement("qa_pairs", "list"), values)]


def lock(connection: Db, qa_pair_id: int) -> tuple[int, str, str, DocumentState]:
    """(collection id, question, answer, state), locked until the transaction ends, its collection held.

    Raises NotFound.
    """
    values = {"qa_pair_id": qa_pair_id}
    if found := connection.execute(statement("qa_pairs", "collection_of"), values).fetchone():
        collections.hold(connection, found[0])
        values["collection_id"] = found[0]
        if row := connection.execute(statement("qa_pairs", "lock"), values).fetchone():
            return cast("tuple[int, str, str, DocumentState]", (found[0], *row))
    raise NotFound(f"no question/answer pair has the id {qa_pair_id}")


def update(connection: Db, collection_id: int, qa_pair_id: int, values: dict[str, Any]) -> None:
    """Replace question, normalized_question, answer and state. Raises Conflict where the question has another pair."""
    scope = {"collection_id": collection_id, "qa_pair_id": qa_pair_id}
    connection.execute(statement("qa_pairs", "update"), values | scope)


def delete(connection: Db, collection_id: int, qa_pair_id: int) -> None:
    """Delete a pair."""
    connection.execute(statement("qa_pairs", "delete"), {"collection_id": collection_id, "qa_pair_id": qa_pair_id})
