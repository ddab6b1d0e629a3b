"""Segments score as one fresh index would, after any sequence of additions, deletions and merges."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lexical import bm25, ranked, segments
from app.lexical.index import Index, Part, Scored
from app.lexical.ranked import Everywhere, Listed, Scores
from app.lexical.segments import NOBODY, NOTHING, Ordinals, Postings, Segment
from app.records import Ints

WORDS = st.sampled_from(["a", "b", "c", "dd", "#汉字", "max_tokens"])
CHUNK = st.lists(WORDS, max_size=12)
K1, B = 1.5, 0.75
ALL = 10_000


def textbook(question: Sequence[str], chunks: Mapping[int, Sequence[str]]) -> dict[int, float]:
    """BM25 as the paper writes it, one chunk and one term at a time."""
    n = len(chunks)
    if not n or not (mean := sum(map(len, chunks.values())) / n):
        return {}
    scores: dict[int, float] = {}
    for chunk_id, words in chunks.items():
        for term in question:
            tf = sum(word == term for word in words)
            if tf:
                df = sum(term in other for other in chunks.values())
                idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
                part = idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(words) / mean))
                scores[chunk_id] = scores.get(chunk_id, 0.0) + part
    return scores


def score(question: Sequence[str], parts: Sequence[tuple[Segment, Ordinals]]) -> Scored:
    index = Index([Part(segment.chunks, dead) for segment, dead in parts])
    found = [dict(segment.postings) for segment, _ in parts]
    terms = {t: index.term(t, [postings.get(t, NOTHING) for postings in found], k1=K1, b=B) for t in question}
    return Scored(index, question, terms, K1)


def by_id(scored: Scored) -> dict[int, float]:
    ids = scored.top(ALL)
    return dict(zip(ids.tolist(), scored.of(ids).tolist(), strict=True))


def merged(parts: Sequence[tuple[Segment, Ordinals]]) -> Segment:
    """As compaction merges them: row by row in the order of terms."""
    chunks, moved = segments.merge_chunks([s.chunks for s, _ in parts], [dead for _, dead in parts])
    rows = sorted((term, n, posting) for n, (s, _) in enumerate(parts) for term, posting in s.postings)
    starts = np.cumsum([0, *(len(posting.ordinals) for *_, posting in rows)])
    joined = Postings(
        [term for term, *_ in rows],
        starts,
        np.concatenate([NOBODY, *(posting.ordinals for *_, posting in rows)]),
        np.concatenate([NOTHING.frequencies, *(posting.frequencies for *_, posting in rows)]),
    )
    return Segment(chunks, segments.merge_postings(joined, np.array([n for _, n, _ in rows], np.int64), moved))


class Model:
    """Segments with tombstones beside a plain dictionary that says what they should hold."""

    def __init__(self) -> None:
        self.parts: list[tuple[Segment, Ordinals]] = []
        self.live: dict[int, list[str]] = {}
        self.gone: dict[int, list[str]] = {}
        self.next_id = 1

    def add(self, chunks: Sequence[Sequence[str]]) -> None:
        fresh = {self.next_id + n: list(words) for n, words in enumerate(chunks)}
        self.next_id += len(chunks)
        self.live |= fresh
        self.parts.append((segments.build(fresh), NOBODY))

    def delete(self, which: int) -> None:
        if not self.live:
            return
        chunk_id = sorted(self.live)[which % len(self.live)]
        self.gone[chunk_id] = self.live.pop(chunk_id)
        for n, (segment, dead) in enumerate(self.parts):
            at = np.flatnonzero(segment.chunks.chunk_ids == chunk_id).astype(np.int32)
            self.parts[n] = (segment, np.union1d(dead, at).astype(np.int32))

    def restore(self, which: int) -> None:
        """As a document that was disabled is enabled: an old id in a new segment."""
        if self.gone:
            chunk_id = sorted(self.gone)[which % len(self.gone)]
            self.live[chunk_id] = self.gone.pop(chunk_id)
            self.parts.append((segments.build({chunk_id: self.live[chunk_id]}), NOBODY))

    def merge(self, first: int, count: int) -> None:
        chosen = self.parts[first : first + count]
        if chosen:
            self.parts[first : first + count] = [(merged(chosen), NOBODY)]


STEP = st.one_of(
    st.tuples(st.just("add"), st.lists(CHUNK, min_size=1, max_size=4)),
    st.tuples(st.just("delete"), st.integers(0, 50)),
    st.tuples(st.just("restore"), st.integers(0, 50)),
    st.tuples(st.just("merge"), st.integers(0, 3), st.integers(1, 4)),
)
STEPS = st.lists(STEP, max_size=14)


def after(steps: Sequence[tuple[object, ...]]) -> Model:
    model = Model()
    for name, *arguments in steps:
        getattr(model, str(name))(*arguments)
    return model


@contextmanager
def everything_is_large() -> Iterator[None]:
    """Let a handful of chunks take the ways of a million."""
    with mock.patch.object(ranked, "SMALL", 0), mock.patch.object(ranked, "LOOKUP_COST", 0):
        yield


@given(STEPS, st.lists(WORDS, max_size=6))
def test_scores_equal_a_textbook_after_any_sequence_of_changes(
    steps: list[tuple[object, ...]], question: list[str]
) -> None:
    model = after(steps)
    expected = textbook(question, model.live)
    found = by_id(score(question, model.parts))
    assert found.keys() == expected.keys()
    assert all(abs(found[i] - expected[i]) < 1e-9 for i in expected)


@given(
    STEPS,
    st.lists(WORDS, max_size=6),
    st.integers(1, 5),
    st.sets(st.integers(1, 30)) | st.none(),
    st.booleans(),
)
def test_the_top_is_the_head_of_the_sorted_list(
    steps: list[tuple[object, ...]], question: list[str], n: int, allowed: set[int] | None, large: bool
) -> None:
    scored = score(question, after(steps).parts)
    exact = {i: value for i, value in by_id(scored).items() if allowed is None or i in allowed}
    expected = sorted(exact, key=lambda i: (-exact[i], i))[:n]
    among = None if allowed is None else np.array(sorted(allowed), np.int64)
    if large:
        with everything_is_large():
            assert score(question, after(steps).parts).top(n, among).tolist() == expected
    assert scored.top(n, among).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_the_best_of_many_places_are_those_of_all_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, n = int(rng.integers(70_000, 150_000)), int(rng.integers(1, 150))
    lists = [
        of_length(rng, size, int(df)) for df in rng.choice([0, 1, 30, 900, 5_000, 35_000, 70_000], rng.integers(1, 7))
    ]
    lists = ranked.ordered([*lists, *lists[:1]], size)
    banned = rng.random(size) < 0.3 if seed % 2 else None
    sums = np.zeros(size)
    for each in lists:
        each.add_to(sums)
    if banned is not None:
        sums[banned] = 0
    places, found = ranked.best(lists, size, n, banned)
    expected = np.lexsort((np.arange(size), -sums))[:n]
    expected = expected[sums[expected] > 0]
    assert places[np.lexsort((places, -found))][:n].tolist() == expected.tolist()
    np.testing.assert_array_equal(found, sums[places])
    np.testing.assert_array_equal(ranked.sums_at(lists, size, places.astype(np.int32)), found)


def test_a_term_that_stands_in_most_places_is_kept_without_them() -> None:
    many, few = (np.arange(0, 80_000, step, dtype=np.int32) for step in (1, 3))
    assert isinstance(ranked.scores(few, np.ones(len(few)), 80_000), Listed)
    everywhere = ranked.scores(many, np.ones(len(many)), 80_001)
    assert isinstance(everywhere, Everywhere)
    assert everywhere.nbytes < many.nbytes + 8 * len(many)
    assert everywhere.at(np.array([0, 79_999, 80_000])).tolist() == [1.0, 1.0, 0.0]


def of_length(rng: np.random.Generator, size: int, df: int) -> Scores:
    """A list whose values are the lower, the longer it is; some are equal."""
    places = np.sort(rng.choice(size, df, replace=False)).astype(np.int32)
    values = math.log(size / max(df, 1)) * rng.choice([0.5, 1.0, 1.5], df) * rng.choice([1.0, rng.random()], df)
    return ranked.scores(places, values, size)


@given(STEPS, st.lists(WORDS, min_size=1, max_size=6))
def test_statistics_count_live_chunks_only(steps: list[tuple[object, ...]], question: list[str]) -> None:
    model = after(steps)
    statistics = score(question, model.parts).statistics
    assert statistics.live_chunks == len(model.live)
    assert {t.term: t.count for t in statistics.terms} == dict(Counter(question))
    assert all(t.df == sum(t.term in words for words in model.live.values()) for t in statistics.terms)


@given(st.lists(CHUNK, min_size=1, max_size=8), st.lists(WORDS, min_size=1, max_size=6))
def test_no_chunk_reaches_the_bound(chunks: list[list[str]], question: list[str]) -> None:
    model = Model()
    model.add(chunks)
    scored = score(question, model.parts)
    assert all(value < scored.statistics.bound for value in by_id(scored).values())


@given(st.lists(CHUNK, max_size=8))
def test_a_built_segment_holds_the_tokens_and_no_others(chunks: list[list[str]]) -> None:
    built = segments.build(dict(enumerate(chunks, 7)))
    counted: list[Counter[str]] = [Counter() for _ in chunks]
    for term, posting in built.postings:
        assert all(a < b for a, b in pairwise(posting.ordinals.tolist()))
        for ordinal, frequency in zip(posting.ordinals.tolist(), posting.frequencies.tolist(), strict=True):
            counted[ordinal][term] = frequency
    assert counted == [Counter(words) for words in chunks]
    assert list(built.postings.terms) == sorted(set().union(*chunks))
    assert built.chunks.lengths.tolist() == [len(words) for words in chunks]


def test_a_merge_leaves_out_terms_that_only_dead_chunks_held() -> None:
    parts = [(segments.build({1: ["a"], 2: ["b"]}), np.array([0], np.int32)), (segments.build({3: ["b"]}), NOBODY)]
    assert list(merged(parts).postings.terms) == ["b"]
    assert merged([(parts[0][0], np.array([0, 1], np.int32))]).chunks.chunk_ids.tolist() == []


def test_chunks_without_a_term_score_zero() -> None:
    part = (segments.build({1: ["a"], 2: ["b"]}), NOBODY)
    scored = score(["a"], [part])
    wanted: Ints = np.array([2, 1, 99], np.int64)
    assert scored.of(wanted).tolist() == [0.0, by_id(scored)[1], 0.0]
    for nothing in (score(["zzz"], [part]), score([], [part]), score(["a"], [])):
        assert nothing.of(wanted).tolist() == [0.0, 0.0, 0.0]
        assert nothing.top(5).tolist() == nothing.top(5, wanted[:1]).tolist() == []


def test_a_frequency_beyond_the_column_is_capped_not_wrapped() -> None:
    part = segments.build({1: ["a"] * 40_000})
    assert dict(part.postings)["a"].frequencies.tolist() == [32_767]
    assert part.chunks.total == 40_000


def test_arrays_of_different_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="differ"):
        bm25.term_scores(np.array([1, 2]), np.array([1]), idf=1.0, mean_length=1.0, k1=K1, b=B)
