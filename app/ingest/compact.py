"""Merge small segments, so that a search reads few of them however many documents came in one by one."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.db import collections, postings
from app.lexical import segments
from app.resources import Resources

TIER = 8  # a tier's segments are merged when there are this many; each tier is this many times larger


@dataclass(frozen=True, slots=True)
class Tier:
    """Segments of about one size, made by one tokenizer."""

    segment_ids: tuple[int, ...]
    tokenizer: str


def compact(collection_id: int, resources: Resources) -> int:
    """Merge every full tier. Returns how many segments were merged. Nothing that a search sees changes."""
    merged = 0
    while tier := _full_tier(collection_id, resources):
        merged += _merge(collection_id, tier, resources)
    return merged


def _full_tier(collection_id: int, resources: Resources) -> Tier | None:
    with resources.database.read() as connection:
        return choose(postings.sizes(connection, collection_id))


def choose(sizes: Sequence[tuple[int, int, str]]) -> Tier | None:
    """The smallest full tier among segments given as (id, chunks, tokenizer), or None."""
    tiers: dict[tuple[int, str], list[int]] = {}
    for segment_id, chunks, tokenizer in sizes:
        tiers.setdefault((_tier(chunks), tokenizer), []).append(segment_id)
    full = [tier for tier, ids in tiers.items() if len(ids) >= TIER]
    return Tier(tuple(tiers[min(full)]), min(full)[1]) if full else None


def _tier(chunks: int) -> int:
    tier = 0
    while chunks >= TIER * TIER:
        chunks //= TIER
        tier += 1
    return tier


def _merge(collection_id: int, tier: Tier, resources: Resources) -> int:
    with resources.database.write() as connection:
        collections.lock(connection, collection_id)  # no tombstone may arrive meanwhile
        present = set(postings.segment_ids(connection, collection_id))
        ids = [i for i in tier.segment_ids if i in present]  # another process may have merged them first
        if len(ids) < TIER:
            return 0
        whole = postings.load_whole(connection, collection_id, ids, resources.segments)
        if len((merged := segments.merge(whole)).chunks.chunk_ids):
            postings.add(connection, collection_id, merged, tier.tokenizer)
        postings.drop(connection, collection_id, ids)
        return len(ids)
