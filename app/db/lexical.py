"""What a question needs of the inverted index, as of one snapshot: from the cache, else from PostgreSQL.

Two levels are kept. Postings are those of a segment, which never changes. Terms are scored over all segments in one
state of the collection; they are made anew from the postings when a document comes, goes or changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.db import postings
from app.db.pool import Db
from app.db.postings import Identity, SegmentState
from app.db.segment_cache import SegmentCache
from app.lexical.index import Index, Part, Scored
from app.lexical.segments import NOTHING, Posting


@dataclass(frozen=True, slots=True)
class _Known:
    """A collection's index in one state. `mark` stands for it in the keys of its terms and keeps nothing alive."""

    state: tuple[SegmentState, ...]
    index: Index
    mark: object = field(default_factory=object)

    @property
    def parts(self) -> dict[Identity, Part]:
        return {segment.identity: part for segment, part in zip(self.state, self.index.parts, strict=True)}

    @property
    def nbytes(self) -> int:
        return self.index.nbytes


def score(
    connection: Db, collection_id: int, terms: Sequence[str], cache: SegmentCache, *, k1: float, b: float
) -> Scored:
    """BM25 of a question's terms over a whole collection."""
    state = postings.segments(connection, collection_id)
    return score_in(state, connection, collection_id, terms, cache, k1=k1, b=b)


def score_in(
    state: tuple[SegmentState, ...],
    connection: Db,
    collection_id: int,
    terms: Sequence[str],
    cache: SegmentCache,
    *,
    k1: float,
    b: float,
) -> Scored:
    """The same, where the state of the collection in this snapshot is known: reads only what the cache lacks."""
    known = _known(state, connection, collection_id, cache)
    keys = {term: (known.mark, k1, b, term) for term in terms}
    kept = cache.get(keys.values())
    if len(kept) < len(keys):
        missing = [term for term, key in keys.items() if key not in kept]
        found = _postings(state, connection, collection_id, missing, cache)
        made = {keys[term]: known.index.term(term, found[term], k1=k1, b=b) for term in missing}
        cache.put(made)
        kept |= made
    return Scored(known.index, terms, {term: kept[key] for term, key in keys.items()}, k1)


def _known(state: tuple[SegmentState, ...], connection: Db, collection_id: int, cache: SegmentCache) -> _Known:
    """The index in this state, made of what an earlier state has of it and of what is new."""
    key = ("index", collection_id)
    before: _Known | None = cache.get([key]).get(key)
    if before and before.state == state:
        return before
    old = before.parts if before else {}
    new = [s.id for s in state if s.identity not in old]
    chunks = postings.chunks(connection, collection_id, new) if new else {}
    parts = {s.id: old[s.identity] if s.identity in old else Part(chunks[s.id]) for s in state}
    # tombstones only ever come in, in the order of commits: as many are the same ones
    buried = [s.id for s in state if s.dead != len(parts[s.id].dead)]
    dead = postings.tombstones(connection, collection_id, buried) if buried else {}
    parts |= {segment_id: Part(parts[segment_id].chunks, ordinals) for segment_id, ordinals in dead.items()}
    known = _Known(state, Index(list(parts.values())))
    cache.put({key: known})
    return known


def _postings(
    state: Sequence[SegmentState], connection: Db, collection_id: int, terms: Sequence[str], cache: SegmentCache
) -> dict[str, list[Posting]]:
    """Of each term, its posting in each segment."""
    found: dict[tuple[Identity, str], Posting] = cache.get((s.identity, term) for s in state for term in terms)
    missing = {(s.id, term): (s.identity, term) for s in state for term in terms if (s.identity, term) not in found}
    if missing:
        read = dict.fromkeys(missing.values(), NOTHING)  # that a term does not occur is worth keeping too
        ids, wanted = sorted({i for i, _ in missing}), sorted({term for _, term in missing})
        for segment_id, term, posting in postings.of_terms(connection, collection_id, ids, wanted):
            if key := missing.get((segment_id, term)):
                read[key] = posting
        cache.put(read)
        found |= read
    return {term: [found[s.identity, term] for s in state] for term in terms}
