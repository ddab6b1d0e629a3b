"""Fusion: properties that hold for any scores."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.query import fuse, rerank
from app.records import Floats, LexicalStatistics, Ranking, Recalled, TermStatistic

SCORE = st.floats(0, 1, allow_subnormal=False)
SCORES = st.lists(st.tuples(SCORE, SCORE), min_size=1, max_size=20)


def recalled(cosine: list[float], bm25: list[float], bound: float = 1.0) -> Recalled:
    n = len(cosine)
    terms = (TermStatistic("a", 1, 1, bound / 2.5),)
    return Recalled(
        revision=1,
        chunk_ids=np.arange(1, n + 1),
        cosine=np.array(cosine, np.float64),
        bm25=np.array(bm25, np.float64),
        vector_rank=np.arange(1, n + 1),
        bm25_rank=np.zeros(n, np.int64),
        statistics=LexicalStatistics(n, 10.0, terms, bound),
    )


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=20))
def test_minmax_stays_in_bounds_and_keeps_order(values: list[float]) -> None:
    scaled = fuse.minmax(np.array(values))
    assert ((scaled >= 0) & (scaled <= 1)).all()
    assert scaled.max() == 1.0
    for i, x in enumerate(values):
        for j, y in enumerate(values):
            assert x >= y or scaled[i] <= scaled[j]


@pytest.mark.parametrize("values", [[0.3], [0.0], [7.0, 7.0, 7.0]])
def test_equal_scores_and_a_single_one_become_one(values: list[float]) -> None:
    assert fuse.minmax(np.array(values)).tolist() == [1.0] * len(values)


def test_rounding_is_no_difference() -> None:
    assert fuse.minmax(np.array([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1])).tolist() == [1.0, 1.0]


def test_a_missing_score_becomes_zero_and_moves_no_bound() -> None:
    assert fuse.minmax(np.array([np.nan, 2.0, 4.0])).tolist() == [0.0, 0.0, 1.0]
    assert fuse.minmax(np.array([np.nan, np.nan])).tolist() == [0.0, 0.0]
    assert fuse.minmax(np.array([])).tolist() == []


@given(SCORES, st.floats(0, 1), st.floats(0, 1))
def test_better_in_both_scores_never_ranks_lower(pairs: list[tuple[float, float]], v: float, b: float) -> None:
    made = fuse.weighted(
        recalled([p[0] for p in pairs], [p[1] for p in pairs]), Ranking(vector_weight=v, bm25_weight=b)
    )
    for i, x in enumerate(pairs):
        for j, y in enumerate(pairs):
            if x[0] >= y[0] and x[1] >= y[1]:
                assert made.fused[i] >= made.fused[j]


@given(SCORES)
def test_ranks_are_a_permutation_and_ties_go_to_the_smaller_id(pairs: list[tuple[float, float]]) -> None:
    made = fuse.weighted(recalled([p[0] for p in pairs], [p[1] for p in pairs]), Ranking())
    assert sorted(made.rank.tolist()) == list(range(1, len(pairs) + 1))
    order = made.rank.argsort()
    for first, second in pairwise(order.tolist()):
        assert (-made.fused[first], first) < (-made.fused[second], second)


def test_lexical_noise_is_not_lifted_to_one() -> None:
    weak = fuse.weighted(recalled([0.9, 0.8], [0.0, 0.1], bound=10.0), Ranking())
    assert weak.confidence == pytest.approx(0.1 / 10 / 0.35)
    assert weak.rank.tolist() == [1, 2]
    strong = fuse.weighted(recalled([0.81, 0.8, 0.9], [0.0, 9.0, 1.0], bound=10.0), Ranking(bm25_weight=1.0))
    assert strong.confidence == 1.0
    assert strong.rank.tolist()[1] == 1


def test_without_the_vector_path_bm25_alone_ranks() -> None:
    made = fuse.weighted(recalled([math.nan] * 3, [1.0, 3.0, 2.0]), Ranking())
    assert made.rank.tolist() == [3, 1, 2]


def test_no_candidate_is_no_error() -> None:
    made = fuse.weighted(recalled([], []), Ranking())
    assert made.rank.tolist() == []
    assert made.confidence == 0.0


def test_a_question_without_a_term_has_no_lexical_confidence() -> None:
    assert fuse.weighted(recalled([0.5], [0.0], bound=0.0), Ranking()).confidence == 0.0


@given(SCORES, st.integers(0, 20))
def test_reranking_moves_nothing_up_that_has_no_span(pairs: list[tuple[float, float]], depth: int) -> None:
    made = fuse.weighted(recalled([p[0] for p in pairs], [p[1] for p in pairs]), Ranking())
    spans: Floats = np.where(made.fused_rank <= depth, 0.5 + 0.01 * made.fused_rank, np.nan)
    after = rerank.reranked(made, spans, Ranking(rerank_depth=depth))
    below = made.fused_rank > depth
    assert (after.score[below] == made.fused[below]).all()
    assert (after.rank[below] >= made.fused_rank[below]).all()
