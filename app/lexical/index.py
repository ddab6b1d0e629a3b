"""All segments of a collection as one index, in one state of the collection: statistics and exact BM25.

The segments' ordinals stand one after the other as places, so that a term has one list over all of them. Dead chunks
are subtracted from every count and never returned, so that scores equal a fresh index's exactly.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.lexical import bm25, ranked
from app.lexical.ranked import LOOKUP_COST, Places, Scores
from app.lexical.segments import NOBODY, Lengths, Ordinals, Posting
from app.records import Floats, Ints, LexicalStatistics, TermStatistic


@dataclass(frozen=True, slots=True)
class Part:
    """The chunks of one segment, and the ordinals (m,) of its tombstones, ascending."""

    chunks: Lengths
    dead: Ordinals = field(default_factory=lambda: NOBODY)


@dataclass(frozen=True, slots=True)
class Term:
    """One term over the whole index: its statistic as if the question held it once, and what it adds to each chunk."""

    statistic: TermStatistic
    scores: Scores

    @property
    def nbytes(self) -> int:
        return self.scores.nbytes


class Index:
    """Immutable, so that threads may share it."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self.bases = list(accumulate((len(part.chunks.chunk_ids) for part in parts), initial=0))
        self.size = self.bases[-1]
        self.dead = self._places([part.dead for part in parts])
        self.banned = None if not len(self.dead) else self.mask(self.dead, True)
        self.live_chunks = self.size - len(self.dead)
        dead = sum(int(part.chunks.lengths[part.dead].sum(dtype=np.int64)) for part in parts if len(part.dead))
        tokens = sum(part.chunks.total for part in parts) - dead
        self.mean_length = tokens / self.live_chunks if tokens else 1.0

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        parts = [(part.chunks.chunk_ids, part.chunks.lengths, part.dead) for part in self.parts]
        return self.dead.nbytes + sum(array.nbytes for arrays in parts for array in arrays)

    def term(self, term: str, postings: Sequence[Posting], *, k1: float, b: float) -> Term:
        """Score a term, given its posting in each part."""
        places = self._places([posting.ordinals for posting in postings])
        df = len(places) - _common(places, self.dead)
        lengths = [part.chunks.lengths[p.ordinals] for part, p in zip(self.parts, postings, strict=True)]
        values = bm25.term_scores(
            _joined([posting.frequencies for posting in postings]),
            _joined(lengths),
            idf=(idf := bm25.idf(df, self.live_chunks)),
            mean_length=self.mean_length,
            k1=k1,
            b=b,
        )
        return Term(TermStatistic(term, 1, df, idf), ranked.scores(places, values, self.size))

    def mask(self, places: Places, value: bool) -> NDArray[np.bool_]:
        """(size,) with this value at some places and the other one elsewhere."""
        made = np.full(self.size, not value)
        made[places] = value
        return made

    def places_of(self, chunk_ids: Ints) -> Ordinals:
        """Where given chunks (m,) stand, -1 where they do not or are dead."""
        found = np.full(len(chunk_ids), -1, np.int32)
        for part, base in zip(self.parts, self.bases, strict=False):
            ids = part.chunks.chunk_ids
            if not len(ids):
                continue
            inside = np.flatnonzero((chunk_ids >= ids[0]) & (chunk_ids <= ids[-1]))
            at = ids.searchsorted(chunk_ids[inside]).astype(np.int32)
            live = ids[at] == chunk_ids[inside]
            if len(part.dead):
                live &= ~_isin(at, part.dead)
            found[inside[live]] = at[live] + base
        return found

    def chunk_ids(self, places: Places) -> Ints:
        """The ids of the chunks at given places (m,), ascending."""
        if len(self.parts) == 1:
            return self.parts[0].chunks.chunk_ids[places]
        ids = np.empty(len(places), np.int64)
        ends = places.searchsorted(self.bases).tolist()
        for part, base, start, end in zip(self.parts, self.bases, ends, ends[1:], strict=False):
            if end > start:
                ids[start:end] = part.chunks.chunk_ids[places[start:end] - base]
        return ids

    def _places(self, ordinals: Sequence[Ordinals]) -> Ordinals:
        """Ordinals of each part as places."""
        moved = [each + np.int32(base) if base else each for each, base in zip(ordinals, self.bases, strict=False)]
        return _joined(moved, np.int32)


class Scored:
    """The BM25 of one question over an index, as far as it is asked for.

    terms: the question's, as often as it holds them. prepared: each of them as `Index.term` made it, with this k1.
    """

    def __init__(self, index: Index, terms: Sequence[str], prepared: Mapping[str, Term], k1: float) -> None:
        self._index, self._terms, self._prepared, self._k1 = index, terms, prepared, k1
        self._lists = ranked.ordered([prepared[term].scores for term in terms], index.size)

    @cached_property
    def statistics(self) -> LexicalStatistics:
        """What the scores were made of."""
        terms = tuple(
            replace(self._prepared[term].statistic, count=count) for term, count in Counter(self._terms).items()
        )
        bound = bm25.bound(sum(term.count * term.idf for term in terms), self._k1)
        return LexicalStatistics(self._index.live_chunks, self._index.mean_length, terms, bound)

    def top(self, n: int, allowed: Ints | None = None) -> Ints:
        """The ids of the n chunks that score highest, best first; ties go to the smaller id. Only scores > 0.

        allowed: the only chunks that count, as ascending ids; the statistics stay those of the whole collection.
        """
        banned = self._index.banned
        if allowed is not None:
            places = self._index.places_of(allowed)
            places = np.sort(places[places >= 0])
            if len(places) * LOOKUP_COST < self._index.size:
                sums = self._at(places)
                return self._first(places[sums > 0], sums[sums > 0], n)
            banned = self._index.mask(places, False)
        return self._first(*ranked.best(self._lists, self._index.size, n, banned), n)

    def of(self, chunk_ids: Ints) -> Floats:
        """The scores of given chunks (m,), 0 where none of the terms occurs."""
        return self._at(self._index.places_of(chunk_ids))

    def coverage(self, chunk_ids: Ints) -> Floats:
        """The share of the question's terms, by count times idf, that given chunks (m,) hold: 0 to 1."""
        places, held, whole = self._index.places_of(chunk_ids), np.zeros(len(chunk_ids)), 0.0
        for term in self.statistics.terms:
            held += term.count * term.idf * (self._prepared[term.term].scores.at(places) > 0)
            whole += term.count * term.idf
        return held / whole if whole else held

    def _at(self, places: Ordinals) -> Floats:
        return ranked.sums_at(self._lists, self._index.size, places)

    def _first(self, places: Places, sums: Floats, n: int) -> Ints:
        ids = self._index.chunk_ids(places)
        if len(self._index.parts) > 1:  # else the places ascend as the ids do
            by_id = ids.argsort()
            ids, sums = ids[by_id], sums[by_id]
        return ids[(-sums).argsort(kind="stable")[:n]]


def _joined(arrays: Sequence[NDArray[Any]], dtype: Any = np.int32) -> NDArray[Any]:
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)


def _common(a: Ordinals, b: Ordinals) -> int:
    """How many values two ascending arrays share."""
    few, many = (a, b) if len(a) < len(b) else (b, a)
    return int(np.count_nonzero(_isin(few, many)))


def _isin(values: Ordinals, ascending: Ordinals) -> NDArray[np.bool_]:
    if not len(ascending):
        return np.zeros(len(values), bool)
    at = np.minimum(ascending.searchsorted(values), len(ascending) - 1)
    found: NDArray[np.bool_] = ascending[at] == values
    return found
