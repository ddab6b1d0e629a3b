"""Segments score as one fresh index would, after any sequence of additions, deletions and merges."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lexical import bm25, segments
from app.lexical.segments import Segment
from app.records import Ints

WORDS = st.sampled_from(["a", "b", "c", "dd", "#汉字", "max_tokens"])
CHUNK = st.lists(WORDS, max_size=12)
K1, B = 1.5, 0.75


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


def scored(question: Sequence[str], parts: Sequence[Segment]) -> dict[int, float]:
    result = segments.score(question, parts, k1=K1, b=B)
    return dict(zip(result.chunk_ids.tolist(), result.scores.tolist(), strict=True))


class Index:
    """Segments with tombstones beside a plain dictionary that says what they should hold."""

    def __init__(self) -> None:
        self.parts: list[Segment] = []
        self.live: dict[int, list[str]] = {}
        self.next_id = 1

    def add(self, chunks: Sequence[Sequence[str]]) -> None:
        fresh = {self.next_id + n: list(words) for n, words in enumerate(chunks)}
        self.next_id += len(chunks)
        self.live |= fresh
        self.parts.append(segments.build(fresh))

    def delete(self, which: int) -> None:
        if not self.live:
            return
        chunk_id = sorted(self.live)[which % len(self.live)]
        del self.live[chunk_id]
        for n, part in enumerate(self.parts):
            at = np.flatnonzero(part.chunks.chunk_ids == chunk_id).astype(np.int32)
            self.parts[n] = Segment(part.chunks, part.postings, np.union1d(part.dead, at))

    def merge(self, first: int, count: int) -> None:
        chosen = self.parts[first : first + count]
        if chosen:
            self.parts[first : first + count] = [segments.merge(chosen)]


STEP = st.one_of(
    st.tuples(st.just("add"), st.lists(CHUNK, min_size=1, max_size=4)),
    st.tuples(st.just("delete"), st.integers(0, 50)),
    st.tuples(st.just("merge"), st.integers(0, 3), st.integers(1, 4)),
)


@given(st.lists(STEP, max_size=14), st.lists(WORDS, max_size=6))
def test_scores_equal_a_textbook_after_any_sequence_of_changes(
    steps: list[tuple[object, ...]], question: list[str]
) -> None:
    index = Index()
    for name, *arguments in steps:
        getattr(index, str(name))(*arguments)
    expected = textbook(question, index.live)
    found = scored(question, index.parts)
    assert found.keys() == expected.keys()
    assert all(abs(found[i] - expected[i]) < 1e-9 for i in expected)


@given(st.lists(CHUNK, min_size=1, max_size=8), st.lists(WORDS, min_size=1, max_size=6))
def test_statistics_count_live_chunks_only(chunks: list[list[str]], question: list[str]) -> None:
    index = Index()
    index.add(chunks)
    index.delete(0)
    statistics = segments.score(question, index.parts, k1=K1, b=B).statistics
    assert statistics.live_chunks == len(index.live)
    assert {t.term: t.count for t in statistics.terms} == dict(Counter(question))
    assert all(t.df == sum(t.term in words for words in index.live.values()) for t in statistics.terms)


@given(st.lists(CHUNK, min_size=1, max_size=8), st.lists(WORDS, min_size=1, max_size=6))
def test_no_chunk_reaches_the_bound(chunks: list[list[str]], question: list[str]) -> None:
    index = Index()
    index.add(chunks)
    result = segments.score(question, index.parts, k1=K1, b=B)
    assert all(score < result.statistics.bound for score in result.scores)


@given(st.lists(st.integers(0, 3), max_size=30), st.integers(1, 12))
def test_the_top_is_the_head_of_the_sorted_list(values: list[int], n: int) -> None:
    scores = np.array(values, np.float64) + 1
    ids = np.arange(10, 10 + len(values), dtype=np.int64)
    statistics = segments.score([], [], k1=K1, b=B).statistics
    top = segments.Scored(ids, scores, statistics).top(n)
    expected = sorted(range(len(values)), key=lambda i: (-scores[i], ids[i]))[:n]
    assert top.tolist() == expected


def test_chunks_without_a_term_score_zero() -> None:
    part = segments.build({1: ["a"], 2: ["b"]})
    result = segments.score(["a"], [part], k1=K1, b=B)
    wanted: Ints = np.array([2, 1, 99], np.int64)
    assert result.of(wanted).tolist() == [0.0, result.scores[0], 0.0]
    assert segments.score(["zzz"], [part], k1=K1, b=B).of(wanted).tolist() == [0.0, 0.0, 0.0]


def test_a_frequency_beyond_the_column_is_capped_not_wrapped() -> None:
    part = segments.build({1: ["a"] * 40_000})
    assert part.postings["a"].frequencies.tolist() == [32_767]


def test_arrays_of_different_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="differ"):
        bm25.term_scores(np.array([1, 2]), np.array([1]), idf=1.0, mean_length=1.0, k1=K1, b=B)
