"""Segments of the inverted index: written once, read by term, kept decoded in a bounded cache."""

import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from app.db import wire
from app.db.pool import Db
from app.db.sql import statement
from app.lexical.segments import NOTHING, Lengths, Posting, Segment

_COPY_BUFFER_BYTES = 1 << 22
_ENTRY_BYTES = 400  # measured: keys, tuples, two array objects of one cached posting


class SegmentCache:
    """Decoded parts of segments, which never change, in a least-recently-used order bounded by bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._kept: LRUCache[tuple[int, str | None], Posting | Lengths] = LRUCache(max_bytes, getsizeof=_bytes)
        self._lock = threading.Lock()

    def get(self, segment_id: int, term: str | None) -> Posting | Lengths | None:
        """A posting, or with term None the lengths of a segment; None where it is not kept."""
        with self._lock:
            return self._kept.get((segment_id, term))

    def put(self, segment_id: int, term: str | None, value: Posting | Lengths) -> None:
        """Keep a decoded value; one that is larger than the whole cache is not kept."""
        with self._lock:
            if self._kept.maxsize >= _bytes(value):
                self._kept[segment_id, term] = value


def _bytes(value: Posting | Lengths) -> int:
    arrays = (value.ordinals, value.frequencies) if isinstance(value, Posting) else (value.chunk_ids, value.lengths)
    return _ENTRY_BYTES + sum(array.nbytes for array in arrays)


def load(connection: Db, collection_id: int, terms: Iterable[str], cache: SegmentCache) -> list[Segment]:
    """Every segment of a collection, with its tombstones and the postings of `terms` only."""
    ids = segment_ids(connection, collection_id)
    lengths = _lengths(connection, collection_id, ids, cache)
    dead = _tombstones(connection, collection_id)
    postings = _postings(connection, collection_id, ids, sorted(set(terms)), cache)
    nothing = np.empty(0, np.int32)
    return [Segment(lengths[i], postings[i], dead.get(i, nothing)) for i in ids]


def load_whole(
    connection: Db, collection_id: int, ids: Sequence[int], cache: SegmentCache, *, with_postings: bool = True
) -> list[Segment]:
    """Those of some segments that still exist, in the order of `ids`, with all their postings or with none.

    Their postings are not put into the cache: nobody asked for them.
    """
    present = set(segment_ids(connection, collection_id))
    ids = [i for i in ids if i in present]
    lengths = _lengths(connection, collection_id, ids, cache)
    dead = _tombstones(connection, collection_id)
    postings: dict[int, dict[str, Posting]] = {i: {} for i in ids}
    if with_postings:
        values = {"collection_id": collection_id, "segment_ids": list(ids)}
        for segment_id, term, posting in _decoded(connection, "whole", values):
            postings[segment_id][term] = posting
    nothing = np.empty(0, np.int32)
    return [Segment(lengths[i], postings[i], dead.get(i, nothing)) for i in ids]


def segment_ids(connection: Db, collection_id: int) -> list[int]:
    """The segments of a collection, oldest first."""
    rows = connection.execute(statement("postings", "segments"), {"collection_id": collection_id})
    return [row[0] for row in rows]


@dataclass(frozen=True, slots=True)
class SegmentSize:
    """How many chunks a segment lists, how many of them are dead, and which tokenizer made it."""

    id: int
    chunks: int
    dead: int
    tokenizer: str


def sizes(connection: Db, collection_id: int) -> list[SegmentSize]:
    """Every segment's size, oldest first."""
    rows = connection.execute(statement("postings", "sizes"), {"collection_id": collection_id})
    return [SegmentSize(*row) for row in rows]


def claim_compaction(connection: Db, collection_id: int) -> bool:
    """Whether this transaction may compact; false while another one does."""
    values = {"collection_id": collection_id}
    return cast(tuple[bool], connection.execute(statement("postings", "claim_compaction"), values).fetchone())[0]


def add(connection: Db, collection_id: int, segment: Segment, tokenizer: str) -> int:
    """Write a new segment. Returns its id."""
    values = {
        "collection_id": collection_id,
        "tokenizer": tokenizer,
        "chunk_ids": segment.chunks.chunk_ids.tolist(),
        "lengths": segment.chunks.lengths.tolist(),
    }
    row = cast(tuple[int], connection.execute(statement("postings", "insert_segment"), values).fetchone())
    with connection.cursor() as cursor, cursor.copy(statement("postings", "copy_postings")) as copy:
        for block in _copy_blocks(collection_id, row[0], segment):
            copy.write(block)
    return row[0]


def bury(connection: Db, collection_id: int, chunk_ids: Sequence[int], cache: SegmentCache) -> None:
    """Put a tombstone on chunks, wherever they stand. The caller holds the collection's lock."""
    if not chunk_ids:
        return
    wanted = np.array(sorted(chunk_ids), np.int64)
    segments, ordinals = [], []
    for segment_id, lengths in _lengths(
        connection, collection_id, segment_ids(connection, collection_id), cache
    ).items():
        found = np.flatnonzero(np.isin(lengths.chunk_ids, wanted))
        segments += [segment_id] * len(found)
        ordinals += found.tolist()
    bury_ordinals(connection, collection_id, segments, ordinals)


def bury_ordinals(connection: Db, collection_id: int, segment_ids: Sequence[int], ordinals: Sequence[int]) -> None:
    """Put tombstones on places given as pairs of segment and ordinal."""
    values = {"collection_id": collection_id, "segment_ids": list(segment_ids), "ordinals": list(ordinals)}
    connection.execute(statement("postings", "bury"), values)


def drop(connection: Db, collection_id: int, ids: Sequence[int]) -> None:
    """Delete segments with their postings and tombstones."""
    connection.execute(
        statement("postings", "drop_segments"), {"collection_id": collection_id, "segment_ids": list(ids)}
    )


def _lengths(connection: Db, collection_id: int, ids: Sequence[int], cache: SegmentCache) -> dict[int, Lengths]:
    kept = {i: cast(Lengths | None, cache.get(i, None)) for i in ids}
    if missing := [i for i, value in kept.items() if value is None]:
        cursor = connection.cursor(binary=True)
        cursor.execute(statement("postings", "lengths"), {"collection_id": collection_id, "segment_ids": missing})
        for segment_id, chunk_ids, lengths in _raw(cursor):
            value = Lengths(wire.from_array(chunk_ids, 8), cast(NDArray[np.int32], wire.from_array(lengths, 4)))
            kept[int.from_bytes(segment_id, "big")] = value
            cache.put(int.from_bytes(segment_id, "big"), None, value)
    return cast(dict[int, Lengths], kept)


def _tombstones(connection: Db, collection_id: int) -> dict[int, NDArray[np.int32]]:
    dead: dict[int, list[int]] = {}
    for segment_id, ordinal in connection.execute(
        statement("postings", "tombstones"), {"collection_id": collection_id}
    ):
        dead.setdefault(segment_id, []).append(ordinal)
    return {segment_id: np.array(ordinals, np.int32) for segment_id, ordinals in dead.items()}


def _postings(
    connection: Db, collection_id: int, ids: Sequence[int], terms: Sequence[str], cache: SegmentCache
) -> dict[int, dict[str, Posting]]:
    found: dict[int, dict[str, Posting]] = {i: {} for i in ids}
    missing: set[tuple[int, str]] = set()
    for i in ids:
        for term in terms:
            if (kept := cache.get(i, term)) is None:
                missing.add((i, term))
            else:
                found[i][term] = cast(Posting, kept)
    if missing:
        values = {
            "collection_id": collection_id,
            "segment_ids": sorted({i for i, _ in missing}),
            "terms": sorted({term for _, term in missing}),
        }
        for segment_id, term, posting in _decoded(connection, "of_terms", values):
            found[segment_id][term] = posting
        for i, term in missing:  # that a term does not occur is worth keeping too
            cache.put(i, term, found[i].setdefault(term, NOTHING))
    return found


def _decoded(connection: Db, name: str, values: dict[str, Any]) -> Iterator[tuple[int, str, Posting]]:
    cursor = connection.cursor(binary=True)
    cursor.execute(statement("postings", name), values)
    for segment_id, term, ordinals, frequencies in _raw(cursor):
        posting = Posting(
            cast(NDArray[np.int32], wire.from_array(ordinals, 4)),
            cast(NDArray[np.int16], wire.from_array(frequencies, 2)),
        )
        yield int.from_bytes(segment_id, "big"), term.decode(), posting


def _raw(cursor: Any) -> Iterator[tuple[bytes, ...]]:
    """The rows as the server sent them: psycopg would make a Python list of every array."""
    result = cursor.pgresult
    for row in range(result.ntuples):
        yield tuple(result.get_value(row, column) for column in range(result.nfields))


def _copy_blocks(collection_id: int, segment_id: int, segment: Segment) -> Iterator[bytes]:
    """The postings in PostgreSQL's binary COPY format."""
    block = [b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)]
    size = 0
    head = struct.pack(">hiqiq", 5, 8, collection_id, 8, segment_id)
    for term, posting in segment.postings.items():
        fields = (term.encode(), wire.to_array(posting.ordinals), wire.to_array(posting.frequencies))
        block += [head, *(struct.pack(">i", len(value)) + value for value in fields)]
        size += sum(map(len, fields))
        if size > _COPY_BUFFER_BYTES:
            yield b"".join(block)
            block, size = [], 0
    yield b"".join(block) + struct.pack(">h", -1)
