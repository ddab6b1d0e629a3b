"""Golden questions: those of a collection whose answers are known."""

from collections.abc import Sequence
from typing import NamedTuple

from psycopg.types.json import Jsonb

from app.db.pool import Db
from app.db.sql import statement
from app.records import Gold, GoldenQuestion


class Lost(NamedTuple):
    """A passage that answers the question `id`, and that no active document holds any more, or yet."""

    id: str
    source: str
    has_document: bool

    def __str__(self) -> str:
        return f"the quote is not a piece of {self.source!r}" if self.has_document else f"no document {self.source!r}"


def put(connection: Db, collection_id: int, questions: Sequence[GoldenQuestion]) -> int:
    """Enter questions, each with an id of its own, in the place of those with the same. Returns how many are new."""
    values = {
        "collection_id": collection_id,
        "keys": [one.id for one in questions],
        "questions": [one.question for one in questions],
        "gold": [Jsonb([{"source": gold.source, "quote": gold.quote} for gold in one.gold]) for one in questions],
        "answers": [one.answer for one in questions],
        "languages": [one.language for one in questions],
    }
    return sum(row[0] for row in connection.execute(statement("golden", "put"), values))


def listed(connection: Db, collection_id: int) -> list[GoldenQuestion]:
    """All of a collection, in the order that they were entered."""
    return [
        GoldenQuestion(key, question, tuple(Gold(g["source"], quote=g["quote"]) for g in gold), answer, language)
        for key, question, gold, answer, language in connection.execute(
            statement("golden", "list"), {"collection_id": collection_id}
        )
    ]


def remove(connection: Db, collection_id: int, ids: Sequence[str]) -> int:
    """Remove questions. Returns how many were there."""
    values = {"collection_id": collection_id, "keys": list(ids)}
    return connection.execute(statement("golden", "remove"), values).rowcount


def lost(connection: Db, collection_id: int) -> list[Lost]:
    """The passages of a collection's golden questions that its documents do not hold."""
    return [Lost(*row) for row in connection.execute(statement("golden", "lost"), {"collection_id": collection_id})]
