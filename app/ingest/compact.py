"""Merge small segments and drop tombstones, so that a search reads few segments however documents come and go.

Tiers as Lucene's: a tier's segments are at most eight times as large as those of the one below, and eight of them
become one of the next. So a chunk is written again once per tier, and there are at most 7 segments per tier.
"""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from app.db import collections, postings
from app.db.pool import Db
from app.db.postings import SegmentState
from app.errors import Conflict, RagledgerError
from app.lexical import segments
from app.lexical.segments import Ordinals, Postings
from app.resources import Resources

_LOG = logging.getLogger(__name__)
TIER = 8  # a tier's segments are merged when there are this many; each tier is this many times larger
DEAD_SHARE = 0.25  # a segment with more tombstones than this is written anew
INLINE_CHUNKS = 128  # merged while the writer waits, for half a second; larger merges are made behind its back
_MERGE_BYTES = 1 << 22  # of postings that are merged before they are written
_PURGE_POSTINGS = 20_000  # deleted in one transaction

_running = threading.Lock()


@dataclass(frozen=True, slots=True)
class Work:
    """Segments to be replaced by one, made by one tokenizer."""

    segment_ids: tuple[int, ...]
    tokenizer: str
    chunks: int  # live ones


def tidy(collection_id: int, resources: Resources) -> None:
    """Compact after a change that is already committed: a failure here is logged and left to the next change.

    A merge of many chunks takes minutes, which no request should: it is left to one thread of the process, which may
    die with it. A merge is one transaction, so then nothing has happened, and the next change starts it again.
    """
    with _logged(collection_id):
        compact(collection_id, resources, at_most=INLINE_CHUNKS)
        if any(_found(collection_id, resources)) and _running.acquire(blocking=False):
            thread = threading.Thread(target=_in_background, args=(collection_id, resources), daemon=True)
            try:
                thread.start()
            except RuntimeError as e:  # the system has no more of them
                _running.release()
                _LOG.warning("compact.failed collection=%s error=%s", collection_id, e)


def finish() -> None:
    """Wait for what `tidy` left to the background; for a process that would end before it."""
    with _running:
        pass


def compact(collection_id: int, resources: Resources, *, at_most: int | None = None) -> int:
    """Do all that `works` finds, of at most so many chunks each. Returns how many segments were replaced.

    Nothing that a search sees changes, and no writer waits for longer than a swap takes.
    """
    replaced = 0
    while True:
        found, retired = _found(collection_id, resources)
        work = next((w for w in found if at_most is None or w.chunks <= at_most), None)
        if work is None or not _replace(collection_id, work, resources):  # or another process is at it
            break
        replaced += len(work.segment_ids)
    _purge(collection_id, {i: n for i, n in retired.items() if at_most is None or n <= at_most}, resources)
    return replaced


def merge_all(collection_id: int, resources: Resources) -> int:
    """Make one segment, without tombstones, of all that one tokenizer made. Returns how many were replaced.

    Raises Conflict while another process compacts the collection.
    """
    with resources.database.read() as connection:
        state = postings.segments(connection, collection_id)
    replaced = 0
    for tokenizer in {segment.tokenizer for segment in state}:
        same = [segment for segment in state if segment.tokenizer == tokenizer]
        if len(same) > 1 or same[0].dead:
            if not _replace(collection_id, _work(same), resources):
                raise Conflict("another process compacts the collection; try again")
            replaced += len(same)
    _purge(collection_id, _found(collection_id, resources)[1], resources)
    return replaced


def works(state: Sequence[SegmentState]) -> list[Work]:
    """Segments with many tombstones, each for itself, then full tiers, the smallest first."""
    dead = [_work([segment]) for segment in state if segment.dead > DEAD_SHARE * segment.chunks]
    tiers: dict[tuple[int, str], list[SegmentState]] = {}
    for segment in state:
        tiers.setdefault((tier(segment.chunks), segment.tokenizer), []).append(segment)
    return dead + [_work(tiers[key]) for key in sorted(tiers) if len(tiers[key]) >= TIER]


def tier(chunks: int) -> int:
    """0 below 64 chunks, one more for each eight times as many."""
    number = 0
    while chunks >= TIER * TIER:
        chunks //= TIER
        number += 1
    return number


def _work(same: Sequence[SegmentState]) -> Work:
    return Work(tuple(s.id for s in same), same[0].tokenizer, sum(s.chunks - s.dead for s in same))


def _found(collection_id: int, resources: Resources) -> tuple[list[Work], dict[int, int]]:
    """What is to be merged, and which segments (id -> chunks) are to be deleted."""
    with resources.database.read() as connection:
        return works(postings.segments(connection, collection_id)), postings.retired(connection, collection_id)


@contextmanager
def _logged(collection_id: int) -> Iterator[None]:
    try:
        yield
    except RagledgerError as e:
        _LOG.warning("compact.failed collection=%s error=%s", collection_id, type(e).__name__)


def _in_background(collection_id: int, resources: Resources) -> None:
    try:
        with _logged(collection_id):
            compact(collection_id, resources)
    finally:
        _running.release()


def _replace(collection_id: int, work: Work, resources: Resources) -> bool:
    """Merge without holding up writers, then swap under the collection's lock. False where another process is at it."""
    ids = work.segment_ids
    with _claimed(collection_id, resources) as connection:
        # some may have been replaced since they were chosen
        if connection is None or not {s.id for s in postings.segments(connection, collection_id)}.issuperset(ids):
            return False
        chunks = postings.chunks(connection, collection_id, ids)
        dead = postings.tombstones(connection, collection_id, ids)
        merged, moved = segments.merge_chunks([chunks[i] for i in ids], [dead[i] for i in ids])
        new_id = None
        if len(merged.chunk_ids):
            new_id = postings.insert(connection, collection_id, merged, work.tokenizer)
            _copy_merged(connection, collection_id, new_id, ids, moved)
        collections.lock(connection, collection_id)
        if new_id is not None:
            _carry_over(connection, collection_id, new_id, dead, dict(zip(ids, moved, strict=True)))
        postings.retire(connection, collection_id, ids)
    return True


def _copy_merged(
    connection: Db, collection_id: int, new_id: int, old_ids: Sequence[int], moved: Sequence[Ordinals]
) -> None:
    """Stream the postings of the old segments into the new one; memory is that of the longest, or a few megabytes."""
    waiting: list[Postings] = []
    size = 0
    for rows, part_of_row in postings.all_rows(connection, collection_id, old_ids):
        waiting.append(segments.merge_postings(rows, part_of_row, moved))
        size += waiting[-1].nbytes
        if size > _MERGE_BYTES:
            postings.copy(connection, collection_id, new_id, waiting)
            waiting, size = [], 0
    postings.copy(connection, collection_id, new_id, waiting)


def _carry_over(
    connection: Db, collection_id: int, new_id: int, dead: Mapping[int, Ordinals], moved: Mapping[int, Ordinals]
) -> None:
    """Bury in the new segment what was buried in the old ones while they were merged."""
    now = postings.tombstones(connection, collection_id, list(moved))
    late = np.concatenate([places[np.setdiff1d(now[i], dead[i])] for i, places in moved.items()])
    postings.bury_ordinals(connection, collection_id, new_id, late.tolist())


def _purge(collection_id: int, retired: Mapping[int, int], resources: Resources) -> None:
    """Delete retired segments (id -> chunks), also those of a compaction that was cut off; large ones piecemeal."""
    small = [segment_id for segment_id, chunks in retired.items() if chunks <= INLINE_CHUNKS]
    if small:
        with _claimed(collection_id, resources) as connection:
            if connection:
                postings.delete_retired(connection, collection_id, small)
    for segment_id in sorted(retired.keys() - small):
        after: str | None = ""
        while after is not None:
            with _claimed(collection_id, resources) as connection:
                if connection is None:
                    return
                after = postings.delete_postings(connection, collection_id, segment_id, after, _PURGE_POSTINGS)
                if after is None:
                    postings.delete_retired(connection, collection_id, [segment_id])


@contextmanager
def _claimed(collection_id: int, resources: Resources) -> Iterator[Db | None]:
    """A transaction that alone compacts the collection; None where another process is at it."""
    with resources.database.write(visible=False, unhurried=True) as connection:
        collections.hold(connection, collection_id)
        yield connection if postings.claim_compaction(connection, collection_id) else None
