"""Immutable segments of an inverted index, and scoring over several of them as if they were one.

A segment lists chunks by ordinal (ascending chunk ids) with their lengths in tokens, and per term the ordinals that
hold it. Deleted chunks are masked before anything is counted, so that scores equal a fresh index's exactly.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.lexical import bm25
from app.records import Floats, Ints, LexicalStatistics, TermStatistic

_FREQUENCY_MAX = np.iinfo(np.int16).max  # the column is smallint; BM25 is flat long before


@dataclass(frozen=True, slots=True)
class Posting:
    """One term in one segment: ordinals (n,) int32 ascending, frequencies (n,) int16 > 0."""

    ordinals: NDArray[np.int32]
    frequencies: NDArray[np.int16]


NOTHING = Posting(np.empty(0, np.int32), np.empty(0, np.int16))


@dataclass(frozen=True, slots=True)
class Lengths:
    """The chunks of a segment, by ordinal: chunk_ids (n,) int64 ascending, lengths (n,) int32 in tokens."""

    chunk_ids: Ints
    lengths: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment, or the part of it that a question needs. `dead` (m,) holds the ordinals of its tombstones."""

    chunks: Lengths
    postings: Mapping[str, Posting]
    dead: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    def alive(self) -> NDArray[np.bool_]:
        """(n,) true where the chunk counts."""
        mask = np.ones(len(self.chunks.chunk_ids), bool)
        mask[self.dead] = False
        return mask


@dataclass(frozen=True, slots=True)
class Scored:
    """Every live chunk that holds a term of the question, ascending chunk ids (n,), with its BM25 (n,) > 0."""

    chunk_ids: Ints
    scores: Floats
    statistics: LexicalStatistics

    def of(self, chunk_ids: Ints) -> Floats:
        """The scores of given chunks (m,), 0 where none of the terms occurs."""
        if not len(self.chunk_ids):
            return np.zeros(len(chunk_ids))
        at = np.minimum(np.searchsorted(self.chunk_ids, chunk_ids), len(self.chunk_ids) - 1)
        return np.where(self.chunk_ids[at] == chunk_ids, self.scores[at], 0.0)

    def top(self, n: int, allowed: Ints | None = None) -> Ints:
        """Indices of the n highest scores, best first; ties go to the smaller chunk id. `allowed`: only among these."""
        if allowed is not None:
            among = np.flatnonzero(np.isin(self.chunk_ids, allowed, assume_unique=True))
            part = Scored(self.chunk_ids[among], self.scores[among], self.statistics)
            return among[part.top(n)]
        if len(self.scores) > n:
            threshold = np.partition(self.scores, -n)[-n]
            near = np.flatnonzero(self.scores >= threshold)
        else:
            near = np.arange(len(self.scores))
        order: Ints = near[np.lexsort((self.chunk_ids[near], -self.scores[near]))][:n]
        return order


def build(token_lists: Mapping[int, Sequence[str]]) -> Segment:
    """Index chunks given as {chunk id: tokens}."""
    ids = sorted(token_lists)
    grouped: dict[str, tuple[list[int], list[int]]] = {}
    for ordinal, chunk_id in enumerate(ids):
        for term, count in Counter(token_lists[chunk_id]).items():
            ordinals, frequencies = grouped.setdefault(term, ([], []))
            ordinals.append(ordinal)
            frequencies.append(min(count, _FREQUENCY_MAX))
    lengths = np.array([len(token_lists[chunk_id]) for chunk_id in ids], np.int32)
    postings = {t: Posting(np.array(o, np.int32), np.array(f, np.int16)) for t, (o, f) in grouped.items()}
    return Segment(Lengths(np.array(ids, np.int64), lengths), postings)


def merge(segments: Sequence[Segment]) -> Segment:
    """One segment with the live chunks of several; the tombstones are gone. A chunk is live in at most one of them."""
    alive = [segment.alive() for segment in segments]
    ids = np.concatenate([s.chunks.chunk_ids[mask] for s, mask in zip(segments, alive, strict=True)])
    lengths = np.concatenate([s.chunks.lengths[mask] for s, mask in zip(segments, alive, strict=True)])
    order = np.argsort(ids, kind="stable")
    place = np.empty(len(ids), np.int32)
    place[order] = np.arange(len(ids), dtype=np.int32)
    collected: dict[str, list[Posting]] = {}
    offset = 0
    for segment, mask in zip(segments, alive, strict=True):
        moved = np.full(len(mask), -1, np.int32)
        moved[mask] = place[offset : offset + int(mask.sum())]
        offset += int(mask.sum())
        for term, posting in segment.postings.items():
            if (kept := mask[posting.ordinals]).any():
                collected.setdefault(term, []).append(Posting(moved[posting.ordinals[kept]], posting.frequencies[kept]))
    return Segment(Lengths(ids[order], lengths[order]), {t: _joined(parts) for t, parts in collected.items()})


def _joined(parts: Sequence[Posting]) -> Posting:
    ordinals = np.concatenate([part.ordinals for part in parts])
    order = np.argsort(ordinals, kind="stable")
    return Posting(ordinals[order], np.concatenate([part.frequencies for part in parts])[order])


def score(terms: Iterable[str], segments: Sequence[Segment], *, k1: float, b: float) -> Scored:
    """BM25 of every live chunk for a question's terms (repetitions count), over all segments as one collection."""
    counts = Counter(terms)
    alive = [segment.alive() for segment in segments]
    live = int(sum(mask.sum() for mask in alive))
    total = int(sum(s.chunks.lengths[mask].sum(dtype=np.int64) for s, mask in zip(segments, alive, strict=True)))
    mean_length = total / live if total else 1.0
    sums = [np.zeros(len(mask)) for mask in alive]
    statistics = []
    for term, count in counts.items():
        found = [_live_posting(segment, mask, term) for segment, mask in zip(segments, alive, strict=True)]
        df = sum(len(posting.ordinals) for posting in found)
        idf = bm25.idf(df, live)
        statistics.append(TermStatistic(term, count, df, idf))
        for segment, posting, into in zip(segments, found, sums, strict=True):
            if len(posting.ordinals):
                lengths = segment.chunks.lengths[posting.ordinals]
                into[posting.ordinals] += count * bm25.term_scores(
                    posting.frequencies, lengths, idf=idf, mean_length=mean_length, k1=k1, b=b
                )
    highest = bm25.bound(sum(s.count * s.idf for s in statistics), k1)
    return _collected(segments, sums, LexicalStatistics(live, mean_length, tuple(statistics), highest))


def _live_posting(segment: Segment, alive: NDArray[np.bool_], term: str) -> Posting:
    posting = segment.postings.get(term, NOTHING)
    if not len(segment.dead):
        return posting
    kept = alive[posting.ordinals]
    return Posting(posting.ordinals[kept], posting.frequencies[kept])


def _collected(segments: Sequence[Segment], sums: Sequence[Floats], statistics: LexicalStatistics) -> Scored:
    hit = [np.flatnonzero(scores) for scores in sums]
    if not hit:
        return Scored(np.empty(0, np.int64), np.empty(0), statistics)
    ids = np.concatenate([s.chunks.chunk_ids[at] for s, at in zip(segments, hit, strict=True)])
    scores = np.concatenate([values[at] for values, at in zip(sums, hit, strict=True)])
    order = np.argsort(ids, kind="stable")
    return Scored(ids[order], scores[order], statistics)
