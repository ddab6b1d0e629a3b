"""Stretches of documents around chunks, to see a chunk among its neighbours."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.db.pool import Db
from app.db.sql import statement


class Neighbour(NamedTuple):
    """A chunk of the window; offsets are the document's."""

    chunk_id: int
    start_char: int
    end_char: int
    section: str


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a document: `text` begins at `start_char`; `chunks` lie whole in it, in reading order."""

    document_id: int
    start_char: int
    text: str
    chunks: tuple[Neighbour, ...]


def around(connection: Db, collection_id: int, chunk_ids: Sequence[int], reach_chars: float) -> dict[int, Window]:
    """The window of each given chunk, `reach_chars` to either side of it."""
    values = {"collection_id": collection_id, "chunk_ids": list(chunk_ids), "reach": math.ceil(reach_chars)}
    rows = connection.execute(statement("chunks", "windows"), values)
    return {row[0]: Window(row[1], row[2], row[3], tuple(map(Neighbour, *row[4:]))) for row in rows}
