"""Segments of the inverted index: written once, read by term or row by row, replaced by compaction."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from app.db import wire
from app.db.pool import Db
from app.db.sql import statement
from app.lexical.segments import NOBODY, Lengths, Ordinals, Posting, Postings, Segment
from app.records import Ints

_COPY_BUFFER_BYTES = 1 << 22

# after a restore, or when a replica took over, another segment may have the same id
Identity = tuple[int, datetime]


@dataclass(frozen=True, slots=True)
class SegmentState:
    """All that can change of a segment for a search: whether it is there, and how many tombstones it has."""

    id: int
    created_at: datetime
    chunks: int
    dead: int
    tokenizer: str

    @property
    def identity(self) -> Identity:
        return self.id, self.created_at


def segments(connection: Db, collection_id: int) -> tuple[SegmentState, ...]:
    """Every segment of a collection, oldest first."""
    rows = connection.execute(statement("postings", "segments"), {"collection_id": collection_id})
    return tuple(SegmentState(*row) for row in rows)


def chunks(connection: Db, collection_id: int, segment_ids: Sequence[int]) -> dict[int, Lengths]:
    """The chunks of segments, by segment id."""
    values = {"collection_id": collection_id, "segment_ids": list(segment_ids)}
    return {
        _int(segment_id): Lengths(wire.from_array(chunk_ids, 8), cast(NDArray[np.int32], wire.from_array(lengths, 4)))
        for segment_id, chunk_ids, lengths in _raw(connection, "chunks", values)
    }


def tombstones(connection: Db, collection_id: int, segment_ids: Sequence[int]) -> dict[int, Ordinals]:
    """The ordinals of dead chunks, ascending, of every one of the segments."""
    values = {"collection_id": collection_id, "segment_ids": list(segment_ids)}
    found = dict.fromkeys(segment_ids, NOBODY)
    for segment_id, ordinals in _raw(connection, "tombstones", values):
        found[_int(segment_id)] = cast(Ordinals, wire.from_array(ordinals, 4))
    return found


def of_terms(
    connection: Db, collection_id: int, segment_ids: Sequence[int], terms: Sequence[str]
) -> Iterator[tuple[int, str, Posting]]:
    """The postings of some terms in some segments, in no order."""
    values = {"collection_id": collection_id, "segment_ids": list(segment_ids), "terms": list(terms)}
    for segment_id, term, ordinals, frequencies in _raw(connection, "of_terms", values):
        posting = Posting(
            cast(Ordinals, wire.from_array(ordinals, 4)), cast(NDArray[np.int16], wire.from_array(frequencies, 2))
        )
        yield _int(segment_id), term.decode(), posting


def all_rows(connection: Db, collection_id: int, segment_ids: Sequence[int]) -> Iterator[tuple[Postings, Ints]]:
    """All postings of some segments, a batch of whole terms at a time, as rows and the segment's index of each row."""
    values = {"collection_id": collection_id, "segment_ids": list(segment_ids)}
    connection.execute(statement("postings", "declare_rows"), values)
    index = {segment_id: n for n, segment_id in enumerate(segment_ids)}
    kept: list[tuple[bytes, ...]] = []
    while rows := kept + (fetched := list(_raw(connection, "fetch_rows", {}))):
        kept = [row for row in rows if row[1] == rows[-1][1]] if fetched else []  # the next batch may have more of it
        whole = rows[: len(rows) - len(kept)]
        if whole:
            ordinals, lengths = wire.from_arrays([row[2] for row in whole], 4)
            frequencies, _ = wire.from_arrays([row[3] for row in whole], 2)
            starts = np.concatenate([[0], np.cumsum(lengths)])
            terms = [row[1].decode() for row in whole]
            postings = Postings(terms, starts, cast(Ordinals, ordinals), cast(NDArray[np.int16], frequencies))
            yield postings, np.array([index[_int(row[0])] for row in whole], np.int64)
    connection.execute(statement("postings", "close_rows"))


def add(connection: Db, collection_id: int, segment: Segment, tokenizer: str) -> int:
    """Write a new segment. Returns its id."""
    segment_id = insert(connection, collection_id, segment.chunks, tokenizer)
    copy(connection, collection_id, segment_id, [segment.postings])
    return segment_id


def insert(connection: Db, collection_id: int, chunks: Lengths, tokenizer: str) -> int:
    """Write a segment without postings yet. Returns its id."""
    values = {
        "collection_id": collection_id,
        "tokenizer": tokenizer,
        "chunk_ids": wire.Bigints(chunks.chunk_ids),
        "lengths": chunks.lengths.tolist(),
    }
    return cast(tuple[int], connection.execute(statement("postings", "insert_segment"), values).fetchone())[0]


def copy(connection: Db, collection_id: int, segment_id: int, postings: Iterable[Postings]) -> None:
    """Write postings of a segment."""
    with connection.cursor() as cursor, cursor.copy(statement("postings", "copy_postings")) as copying:
        copying.write(b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0))
        for each in postings:
            for block in _copy_blocks(collection_id, segment_id, each):
                copying.write(block)
        copying.write(struct.pack(">h", -1))


def bury(connection: Db, collection_id: int, chunk_ids: Sequence[int]) -> None:
    """Put a tombstone on chunks, wherever they stand. The caller holds the collection's lock."""
    if chunk_ids:
        values = {"collection_id": collection_id, "chunk_ids": list(chunk_ids)}
        connection.execute(statement("postings", "bury"), values | {"first": min(chunk_ids), "last": max(chunk_ids)})


def bury_ordinals(connection: Db, collection_id: int, segment_id: int, ordinals: Sequence[int]) -> None:
    """Put tombstones on places of one segment."""
    values = {"collection_id": collection_id, "segment_id": segment_id, "ordinals": list(ordinals)}
    connection.execute(statement("postings", "bury_ordinals"), values)


def claim_compaction(connection: Db, collection_id: int) -> bool:
    """Whether this transaction may compact; false while another one does."""
    values = {"collection_id": collection_id}
    return cast(tuple[bool], connection.execute(statement("postings", "claim_compaction"), values).fetchone())[0]


def retire(connection: Db, collection_id: int, segment_ids: Sequence[int]) -> None:
    """Take segments out of the index at once, whatever their size; `delete_postings` and `delete_retired` follow."""
    values = {"collection_id": collection_id, "segment_ids": list(segment_ids)}
    connection.execute(statement("postings", "retire"), values)


def retired(connection: Db, collection_id: int) -> dict[int, int]:
    """The segments that were retired and are still there, with their number of chunks."""
    return dict(connection.execute(statement("postings", "retired"), {"collection_id": collection_id}).fetchall())


def delete_postings(connection: Db, collection_id: int, segment_id: int, after: str, limit: int) -> str | None:
    """Delete the postings of the next `limit` terms. Returns the last of these, None when all are gone."""
    values = {"collection_id": collection_id, "segment_id": segment_id, "after": after, "limit": limit}
    row = connection.execute(statement("postings", "delete_postings"), values).fetchone()
    return row[0] if row else None


def delete_retired(connection: Db, collection_id: int, segment_ids: Sequence[int]) -> None:
    """Delete retired segments with all that is left of them."""
    values = {"collection_id": collection_id, "segment_ids": list(segment_ids)}
    connection.execute(statement("postings", "delete_retired"), values)


def _int(value: bytes) -> int:
    return int.from_bytes(value, "big")


def _raw(connection: Db, name: str, values: dict[str, Any]) -> Iterator[tuple[bytes, ...]]:
    """The rows of a statement as the server sent them: psycopg would make a Python list of every array."""
    cursor = connection.cursor(binary=True)
    cursor.execute(statement("postings", name), values)
    result: Any = cursor.pgresult
    for row in range(result.ntuples):
        yield tuple(result.get_value(row, column) for column in range(result.nfields))


def _copy_blocks(collection_id: int, segment_id: int, postings: Postings) -> Iterator[bytes]:
    """Rows of PostgreSQL's binary COPY format."""
    block: list[bytes] = []
    size = 0
    head = struct.pack(">hiqiq", 5, 8, collection_id, 8, segment_id)
    ordinals = wire.to_arrays(postings.ordinals, postings.starts)
    frequencies = wire.to_arrays(postings.frequencies, postings.starts)
    for term, *arrays in zip(map(str.encode, postings.terms), ordinals, frequencies, strict=True):
        fields = (term, *arrays)
        block += [head, *(struct.pack(">i", len(value)) + value for value in fields)]
        size += sum(map(len, fields))
        if size > _COPY_BUFFER_BYTES:
            yield b"".join(block)
            block, size = [], 0
    yield b"".join(block)
