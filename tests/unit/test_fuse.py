"""Fusion: properties that hold for any scores."""

import math
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.query import fuse, rerank
from app.records import Candidates, Floats, FusionName, Ints, LexicalStatistics, Ranking, Recalled, TermStatistic

FUSIONS = get_args(FusionName)
SCORE = st.floats(0, 1, allow_subnormal=False)
PAIRS = st.lists(st.tuples(SCORE, SCORE), min_size=1, max_size=20)
FUSION = st.sampled_from(FUSIONS)
WEIGHT = st.floats(0, 1)
TOP = 7  # of each path's own list, so that the union holds chunks that are on one list only


def recalled(
    cosine: list[float],
    bm25: list[float],
    bound: float = 1.0,
    ids: list[int] | None = None,
    other_language: list[bool] | None = None,
) -> Recalled:
    chunk_ids = np.array(range(1, len(cosine) + 1) if ids is None else ids, np.int64)
    terms = (TermStatistic("a", 1, 1, bound / 2.5),)
    return Recalled(
        revision=1,
        chunk_ids=chunk_ids,
        cosine=np.array(cosine, np.float64),
        bm25=np.array(bm25, np.float64),
        coverage=np.zeros(len(cosine)),
        vector_rank=listed(cosine, chunk_ids.tolist(), unknown=math.nan),
        bm25_rank=listed(bm25, chunk_ids.tolist(), unknown=0.0),
        statistics=LexicalStatistics(len(cosine), 10.0, terms, bound),
        labels={},
        other_language=np.zeros(len(cosine), bool) if other_language is None else np.array(other_language),
    )


def listed(scores: list[float], ids: list[int], unknown: float) -> Ints:
    """Ranks as the recall gives them: 0 without a score and below the list's end."""
    known = [n for n, score in enumerate(scores) if score != unknown and not math.isnan(score)]
    ranks = np.zeros(len(scores), np.int64)
    best = sorted(known, key=lambda n: (-scores[n], ids[n]))[:TOP]
    ranks[best] = range(1, len(best) + 1)
    return ranks


def fused(pairs: list[tuple[float, float]], ranking: Ranking, ids: list[int] | None = None) -> Candidates:
    return fuse.weighted(recalled([p[0] for p in pairs], [p[1] for p in pairs], ids=ids), ranking)


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


@given(PAIRS, FUSION, WEIGHT, WEIGHT)
def test_better_in_both_scores_never_ranks_lower(
    pairs: list[tuple[float, float]], fusion: FusionName, v: float, b: float
) -> None:
    made = fused(pairs, Ranking(fusion=fusion, vector_weight=v, bm25_weight=b))
    for i, x in enumerate(pairs):
        for j, y in enumerate(pairs):
            # ranks see the order alone: of two equal scores that of the smaller id stands first
            if all(a > b or (a == b and i < j) for a, b in zip(x, y, strict=True)):
                assert made.fused[i] >= made.fused[j]


@given(PAIRS, FUSION, st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_changes_nothing(
    pairs: list[tuple[float, float]], fusion: FusionName, random: Random
) -> None:
    order = list(range(len(pairs)))
    random.shuffle(order)
    ranking = Ranking(fusion=fusion)
    before = fused(pairs, ranking)
    after = fused([pairs[n] for n in order], ranking, ids=[n + 1 for n in order])
    assert after.fused == pytest.approx(before.fused[order], abs=1e-12)
    assert after.vector_norm == pytest.approx(before.vector_norm[order], abs=1e-12)
    assert after.bm25_norm == pytest.approx(before.bm25_norm[order], abs=1e-12)


@given(PAIRS, FUSION)
def test_ranks_are_a_permutation_and_ties_go_to_the_smaller_id(
    pairs: list[tuple[float, float]], fusion: FusionName
) -> None:
    made = fused(pairs, Ranking(fusion=fusion))
    assert sorted(made.rank.tolist()) == list(range(1, len(pairs) + 1))
    for first, second in pairwise(made.rank.argsort().tolist()):
        assert (-made.fused[first], first) < (-made.fused[second], second)


@given(
    st.lists(st.tuples(st.floats(-1, 1) | st.just(math.nan), st.floats(0, 1e6)), max_size=20),
    FUSION,
    st.sampled_from([0.0, 1.0, 1e6]),
)
def test_whatever_is_missing_every_number_is_finite(
    pairs: list[tuple[float, float]], fusion: FusionName, bound: float
) -> None:
    made = fuse.weighted(recalled([p[0] for p in pairs], [p[1] for p in pairs], bound), Ranking(fusion=fusion))
    for numbers in (made.vector_norm, made.bm25_norm, made.fused, made.score):
        assert np.isfinite(numbers).all()
        assert numbers.shape == (len(pairs),)


@given(PAIRS, FUSION, WEIGHT, WEIGHT)
def test_fused_is_the_sum_that_the_table_states(
    pairs: list[tuple[float, float]], fusion: FusionName, v: float, b: float
) -> None:
    made = fused(pairs, Ranking(fusion=fusion, vector_weight=v, bm25_weight=b))
    if fusion == "rrf":
        v = b = 1.0
    if fusion == "minmax_confidence":
        b *= made.confidence
    for n in range(len(pairs)):
        assert made.fused[n] == pytest.approx(v * made.vector_norm[n] + b * made.bm25_norm[n], abs=1e-15)


@pytest.mark.parametrize("fusion", FUSIONS)
def test_a_path_that_found_nothing_adds_nothing(fusion: FusionName) -> None:
    no_vector = fuse.weighted(recalled([math.nan] * 3, [1.0, 3.0, 2.0], bound=4.0), Ranking(fusion=fusion))
    assert no_vector.vector_norm.tolist() == [0.0] * 3
    assert no_vector.rank.tolist() == [3, 1, 2]
    no_term = fuse.weighted(recalled([0.7, 0.9, 0.8], [0.0] * 3, bound=4.0), Ranking(fusion=fusion))
    assert no_term.rank.tolist() == [3, 1, 2]


@pytest.mark.parametrize("fusion", FUSIONS)
def test_one_candidate_and_none_are_no_error(fusion: FusionName) -> None:
    assert fuse.weighted(recalled([0.9], [1.0]), Ranking(fusion=fusion)).rank.tolist() == [1]
    none = fuse.weighted(recalled([], []), Ranking(fusion=fusion))
    assert (none.rank.tolist(), none.confidence) == ([], 0.0)


@pytest.mark.parametrize("fusion", FUSIONS)
def test_equal_scores_are_ranked_by_id(fusion: FusionName) -> None:
    assert fused([(0.5, 0.5)] * 4, Ranking(fusion=fusion)).rank.tolist() == [1, 2, 3, 4]


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20))
def test_z_scores_have_mean_zero_and_deviation_one(values: list[float]) -> None:
    scaled = fuse.zscore(np.array(values))
    if np.ptp(values) > 1e-6:
        assert (scaled.mean(), scaled.std()) == (pytest.approx(0, abs=1e-6), pytest.approx(1, abs=1e-6))


def test_a_missing_score_is_the_mean_of_z_scores_and_moves_it_not() -> None:
    assert fuse.zscore(np.array([math.nan, 1.0, 3.0])).tolist() == [0.0, -1.0, 1.0]
    assert fuse.zscore(np.array([2.0, 2.0])).tolist() == [0.0, 0.0]


def test_reciprocal_ranks_are_those_of_the_paper() -> None:
    made = fuse.weighted(recalled([0.9, 0.8, math.nan], [0.0, 2.0, 1.0]), Ranking(fusion="rrf"))
    assert made.fused.tolist() == [1 / 61, 1 / 62 + 1 / 61, 1 / 62]
    other = fuse.weighted(
        recalled([0.9], [1.0]), Ranking(fusion="weighted_rrf", rrf_k=1, vector_weight=0.5, bm25_weight=0.25)
    )
    assert other.fused.tolist() == [0.5 * 0.5 + 0.25 * 0.5]


def test_raw_scores_are_weighed_as_shares_of_what_can_be_reached() -> None:
    made = fuse.weighted(
        recalled([0.9, -0.2], [4.0, 8.0], bound=10.0), Ranking(fusion="score", vector_weight=0.5, bm25_weight=0.5)
    )
    assert made.fused == pytest.approx([0.45 + 0.2, -0.1 + 0.4])


def test_lexical_noise_is_not_lifted_to_one() -> None:
    weak = fuse.weighted(recalled([0.9, 0.8], [0.0, 0.1], bound=10.0), Ranking())
    assert weak.confidence == pytest.approx(0.1 / 10 / 0.35)
    assert weak.rank.tolist() == [1, 2]
    strong = fuse.weighted(recalled([0.81, 0.8, 0.9], [0.0, 9.0, 1.0], bound=10.0), Ranking(bm25_weight=1.0))
    assert strong.confidence == 1.0
    assert strong.rank.tolist()[1] == 1


def test_a_question_without_a_term_has_no_lexical_confidence() -> None:
    assert fuse.weighted(recalled([0.5], [0.0], bound=0.0), Ranking()).confidence == 0.0


@given(PAIRS, st.integers(0, 20))
def test_reranking_moves_nothing_up_that_has_no_span(pairs: list[tuple[float, float]], depth: int) -> None:
    made = fused(pairs, Ranking())
    spans: Floats = np.where(made.fused_rank <= depth, 0.5 + 0.01 * made.fused_rank, np.nan)
    after = rerank.ranked(replace(made, rerank_score=spans), Ranking(rerank_depth=depth))
    below = made.fused_rank > depth
    assert (after.score[below] == made.fused[below]).all()
    assert (after.rank[below] >= made.fused_rank[below]).all()


@given(st.lists(st.tuples(SCORE, SCORE, st.booleans()), min_size=1, max_size=20), WEIGHT)
def test_silence_of_bm25_across_languages_takes_nothing_from_a_chunk(
    rows: list[tuple[float, float, bool]], weight: float
) -> None:
    cosine, bm25, other = map(list, zip(*rows, strict=True))
    ranking = Ranking(vector_weight=weight)
    made = fuse.weighted(recalled(cosine, bm25, other_language=other), ranking)
    same = fuse.weighted(recalled(cosine, bm25), ranking)
    for n, differs in enumerate(other):
        lexical = max(same.bm25_norm[n], same.vector_norm[n]) if differs and weight > 0 else same.bm25_norm[n]
        assert made.bm25_norm[n] == lexical
        assert made.vector_norm[n] == same.vector_norm[n]


@pytest.mark.parametrize("fusion", [name for name in FUSIONS if name != "minmax_confidence"])
def test_the_other_methods_know_no_language(fusion: FusionName) -> None:
    ranking = Ranking(fusion=fusion)
    made = fuse.weighted(recalled([0.9, 0.1], [0.1, 0.9], other_language=[True, False]), ranking)
    assert np.array_equal(made.fused, fuse.weighted(recalled([0.9, 0.1], [0.1, 0.9]), ranking).fused)
