"""How often a question's terms stand in chunks, as the inverted index has it: what an explanation is made of."""

from collections.abc import Iterable, Sequence

from app.db.pool import Db
from app.db.sql import statement
from app.records import Match


def of_terms(connection: Db, collection_id: int, chunk_ids: Sequence[int], terms: Iterable[str]) -> dict[int, Match]:
    """What the index has of given chunks, by id; one that it does not hold is left out."""
    values = {"collection_id": collection_id, "chunk_ids": list(chunk_ids), "terms": sorted(set(terms))}
    lengths: dict[int, int] = {}
    frequencies: dict[int, dict[str, int]] = {}
    for chunk_id, length, term, tf in connection.execute(statement("matches", "of_terms"), values):
        lengths[chunk_id] = length
        if term is not None:
            frequencies.setdefault(chunk_id, {})[term] = tf
    return {i: Match(length, frequencies.get(i, {})) for i, length in lengths.items()}
