"""Immutable segments of an inverted index: built from tokens, merged with one another, read by term.

A segment lists chunks by ordinal (ascending chunk ids) with their lengths in tokens, and per term the ordinals that
hold it. What is deleted later is named by tombstones beside it; a merge leaves it out.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from numpy.typing import NDArray

from app.records import Ints

Ordinals = NDArray[np.int32]
_FREQUENCY_MAX = np.iinfo(np.int16).max  # the column is smallint; BM25 is flat long before


@dataclass(frozen=True, slots=True)
class Posting:
    """One term in one segment: ordinals (n,) int32 ascending, frequencies (n,) int16 > 0."""

    ordinals: Ordinals
    frequencies: NDArray[np.int16]

    @property
    def nbytes(self) -> int:
        return self.ordinals.nbytes + self.frequencies.nbytes


NOBODY: Ordinals = np.empty(0, np.int32)
NOTHING = Posting(NOBODY, np.empty(0, np.int16))


@dataclass(frozen=True, slots=True)
class Postings:
    """Those of many terms in one array: term i has the places from starts[i] to starts[i + 1]."""

    terms: Sequence[str]
    starts: Ints
    ordinals: Ordinals
    frequencies: NDArray[np.int16]

    @property
    def nbytes(self) -> int:
        return self.starts.nbytes + self.ordinals.nbytes + self.frequencies.nbytes

    def __iter__(self) -> Iterator[tuple[str, Posting]]:
        bounds = self.starts.tolist()
        for term, start, end in zip(self.terms, bounds, bounds[1:], strict=False):
            yield term, Posting(self.ordinals[start:end], self.frequencies[start:end])


@dataclass(frozen=True, slots=True)
class Lengths:
    """The chunks of a segment, by ordinal: chunk_ids (n,) int64 ascending, lengths (n,) int32 in tokens."""

    chunk_ids: Ints
    lengths: NDArray[np.int32]
    total: int = field(init=False)  # tokens

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", int(self.lengths.sum(dtype=np.int64)))


@dataclass(frozen=True, slots=True)
class Segment:
    """A whole segment, as it is written."""

    chunks: Lengths
    postings: Postings


def build(token_lists: Mapping[int, Sequence[str]]) -> Segment:
    """Index chunks given as {chunk id: tokens}; the terms come out sorted."""
    builder = Builder()
    for chunk_id in sorted(token_lists):
        builder.add(chunk_id, token_lists[chunk_id])
    return builder.segment()


class Builder:
    """Indexes chunks one after the other. Of a token it keeps four bytes, and of a term its text."""

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._lengths: list[int] = []
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._tokens = array("i")

    def add(self, chunk_id: int, tokens: Sequence[str]) -> None:
        """Index one more chunk, of a higher id than those before."""
        self._ids.append(chunk_id)
        self._lengths.append(len(tokens))
        self._tokens.extend(map(self._numbers.__getitem__, tokens))

    def segment(self) -> Segment:
        """All chunks as one segment."""
        terms = sorted(self._numbers)
        rank = np.empty(len(terms), np.int64)
        rank[np.fromiter(map(self._numbers.__getitem__, terms), np.int64, len(terms))] = np.arange(len(terms))
        lengths = np.array(self._lengths, np.int32)
        # one sort of (term, ordinal) in 64 bits: twenty times as fast as a Counter per chunk
        keys = rank[np.array(self._tokens, np.int32)] << 32
        keys |= np.repeat(np.arange(len(lengths)), lengths)
        keys.sort()
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        frequencies = np.minimum(np.diff(first, append=len(keys)), _FREQUENCY_MAX).astype(np.int16)
        keys = keys[first]
        starts = np.searchsorted(keys, np.arange(len(terms) + 1) << 32)
        postings = Postings(terms, starts, keys.astype(np.int32), frequencies)  # the lower half is the ordinal
        return Segment(Lengths(np.array(self._ids, np.int64), lengths), postings)


def merge_chunks(parts: Sequence[Lengths], dead: Sequence[Ordinals]) -> tuple[Lengths, list[Ordinals]]:
    """The live chunks of several segments as one, and for each part the new ordinal of each old one, -1 where dead.

    A chunk is live in at most one of them.
    """
    alive = [np.ones(len(part.chunk_ids), bool) for part in parts]
    for mask, ordinals in zip(alive, dead, strict=True):
        mask[ordinals] = False
    ids = np.concatenate([part.chunk_ids[mask] for part, mask in zip(parts, alive, strict=True)])
    lengths = np.concatenate([part.lengths[mask] for part, mask in zip(parts, alive, strict=True)])
    order = np.argsort(ids, kind="stable")
    place = np.empty(len(ids), np.int32)
    place[order] = np.arange(len(ids), dtype=np.int32)
    moved, offset = [], 0
    for mask in alive:
        places = np.full(len(mask), -1, np.int32)
        places[mask] = place[offset : (offset := offset + int(np.count_nonzero(mask)))]
        moved.append(places)
    return Lengths(ids[order], lengths[order]), moved


def merge_postings(rows: Postings, part_of_row: Ints, moved: Sequence[Ordinals]) -> Postings:
    """The postings of several parts as those of the merged segment.

    rows: a term may stand in several rows, next to each other; part_of_row (rows,) says whose ordinals they hold, and
    `moved` (of merge_chunks) where they went. A term without a live chunk is left out.
    """
    counts = np.diff(rows.starts)
    base = np.concatenate([[0], np.cumsum([len(places) for places in moved])])
    places = np.concatenate(moved)[np.repeat(base[part_of_row], counts) + rows.ordinals]
    terms = list(dict.fromkeys(rows.terms))
    is_new = [a != b for a, b in zip(rows.terms, ["", *rows.terms], strict=False)]
    number = np.cumsum(is_new, dtype=np.int64) - 1
    keys = (np.repeat(number, counts) << 32) | places
    alive = np.flatnonzero(places >= 0)
    order = alive[np.argsort(keys[alive], kind="stable")]  # few runs, each sorted: nearly linear
    keys = keys[order]
    starts = np.searchsorted(keys, np.arange(len(terms) + 1) << 32)
    kept = np.diff(starts) > 0
    return Postings(
        [term for term, keep in zip(terms, kept.tolist(), strict=True) if keep],
        np.append(starts[:-1][kept], starts[-1]),
        places[order],
        rows.frequencies[order],
    )
