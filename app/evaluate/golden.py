"""A collection's own golden questions: what it is measured by, and what a new model for it is compared by."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from app.db import collections, golden
from app.db.golden import Lost
from app.errors import InvalidInput
from app.evaluate.datasets import read_golden_questions
from app.records import Collection, GoldenQuestion
from app.resources import Resources


class Golden(NamedTuple):
    """The golden questions of a collection, and those of their passages that no active document holds by now."""

    collection: Collection
    questions: list[GoldenQuestion]
    lost: list[Lost]

    @property
    def answerable(self) -> bool:
        """Whether a ranking can be measured by them."""
        return any(question.answerable for question in self.questions)


def put(path: Path, collection: str, resources: Resources) -> tuple[int, int]:
    """Enter the questions of a `golden.jsonl`, all or none. Returns how many are new and how many take another's place.

    Raises InvalidInput with the line of a question whose passage no active document holds; CollectionNotFound.
    """
    questions = read_golden_questions(path)
    places = {question.id: where for where, question in questions.items()}
    with resources.database.write() as connection:
        found = collections.get(connection, collection)
        new = golden.put(connection, found.id, list(questions.values()))
        for passage in golden.lost(connection, found.id):
            if passage.id in places:
                raise InvalidInput(places[passage.id], str(passage))
    return new, len(questions) - new


def remove(ids: Sequence[str], collection: str, resources: Resources) -> int:
    """Remove questions by their ids. Returns how many were there. Raises CollectionNotFound."""
    with resources.database.write() as connection:
        return golden.remove(connection, collections.get(connection, collection).id, ids)


def read(collection: str, resources: Resources) -> Golden:
    """What a collection has of them. Raises CollectionNotFound."""
    with resources.database.read() as connection:
        found = collections.get(connection, collection)
        return Golden(found, golden.listed(connection, found.id), golden.lost(connection, found.id))
