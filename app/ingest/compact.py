"""Merge small segments and drop tombstones, so that a search reads few segments however documents come and go."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.db import collections, postings
from app.db.pool import Db
from app.db.postings import SegmentSize
from app.errors import RagledgerError
from app.lexical import segments
from app.lexical.segments import Segment
from app.resources import Resources

_LOG = logging.getLogger(__name__)
TIER = 8  # a tier's segments are merged when there are this many; each tier is this many times larger
DEAD_SHARE = 0.25  # a segment with more tombstones than this is written anew


@dataclass(frozen=True, slots=True)
class Work:
    """Segments to be replaced by one, made by one tokenizer."""

    segment_ids: tuple[int, ...]
    tokenizer: str


def tidy(collection_id: int, resources: Resources) -> None:
    """Compact after a change that is already committed: a failure here is logged and left to the next change."""
    try:
        compact(collection_id, resources)
    except RagledgerError as e:
        _LOG.warning("compact.failed collection=%s error=%s", collection_id, type(e).__name__)


def compact(collection_id: int, resources: Resources) -> int:
    """Do all that `choose` finds. Returns how many segments were replaced. Nothing that a search sees changes."""
    replaced = 0
    while (work := _next(collection_id, resources)) and (done := _replace(collection_id, work, resources)):
        replaced += done
    return replaced


def _next(collection_id: int, resources: Resources) -> Work | None:
    with resources.database.read() as connection:
        return choose(postings.sizes(connection, collection_id))


def choose(sizes: Sequence[SegmentSize]) -> Work | None:
    """A segment with many tombstones, else the smallest full tier, else None."""
    for size in sizes:
        if size.dead > DEAD_SHARE * size.chunks:
            return Work((size.id,), size.tokenizer)
    tiers: dict[tuple[int, str], list[int]] = {}
    for size in sizes:
        tiers.setdefault((_tier(size.chunks), size.tokenizer), []).append(size.id)
    full = [tier for tier, ids in tiers.items() if len(ids) >= TIER]
    return Work(tuple(tiers[min(full)]), min(full)[1]) if full else None


def _tier(chunks: int) -> int:
    tier = 0
    while chunks >= TIER * TIER:
        chunks //= TIER
        tier += 1
    return tier


def _replace(collection_id: int, work: Work, resources: Resources) -> int:
    """Merge without holding up writers, then swap under the collection's lock. 0 where another process is at it."""
    with resources.database.write(visible=False) as connection:
        if not postings.claim_compaction(connection, collection_id):
            return 0
        old = postings.load_whole(connection, collection_id, work.segment_ids, resources.segments)
        if len(old) < len(work.segment_ids):
            return 0  # some were replaced since they were chosen
        merged = segments.merge(old)
        alive = len(merged.chunks.chunk_ids) > 0
        new_id = postings.add(connection, collection_id, merged, work.tokenizer) if alive else None
        collections.lock(connection, collection_id)
        if new_id is not None:
            _carry_over(connection, collection_id, old, new_id, merged, work, resources)
        postings.drop(connection, collection_id, work.segment_ids)
        return len(work.segment_ids)


def _carry_over(
    connection: Db, collection_id: int, old: Sequence[Segment], new_id: int, merged: Segment, work: Work, res: Resources
) -> None:
    """Bury in the new segment what was buried in the old ones while they were merged."""
    now = postings.load_whole(connection, collection_id, work.segment_ids, res.segments, with_postings=False)
    gone = [
        before.chunks.chunk_ids[np.setdiff1d(after.dead, before.dead)] for before, after in zip(old, now, strict=True)
    ]
    ordinals = np.flatnonzero(np.isin(merged.chunks.chunk_ids, np.concatenate(gone)))
    postings.bury_ordinals(connection, collection_id, [new_id] * len(ordinals), ordinals.tolist())
