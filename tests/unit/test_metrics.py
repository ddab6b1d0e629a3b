"""Measures against hand-made tables, independent recomputation and properties; and the report made of them."""

import io
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.console import Console

from app.evaluate.metrics import (
    Estimate,
    mean_with_interval,
    mrr_at,
    ndcg_at,
    paired_difference,
    question_scores,
    rate_with_interval,
    recall_at,
    refusal_rates,
)
from app.evaluate.report import METRICS, RANKINGS, Results, as_json, as_table, summarise

IDS = [f"d{number}" for number in range(12)]
rankings = st.lists(st.sampled_from(IDS), unique=True, max_size=12)
gains_of_documents = st.dictionaries(st.sampled_from(IDS), st.integers(1, 5).map(float), min_size=1)
cutoffs = st.integers(1, 15)


# --- rankings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranked", "gains", "k", "expected"),
    [
        (["a", "b", "c"], {"a": 1}, 10, 1.0),
        (["b", "a", "c"], {"a": 1}, 10, 0.630930),  # 1 / log2(3)
        (["b", "c", "a"], {"a": 1}, 10, 0.5),  # 1 / log2(4)
        (["b", "c", "a"], {"a": 1}, 2, 0.0),
        (["b", "c"], {"a": 1}, 10, 0.0),
        ([], {"a": 1}, 10, 0.0),
        (["x", "a", "b"], {"a": 1, "b": 1}, 10, 0.693426),  # (0.630930 + 0.5) / (1 + 0.630930)
        (["a"], {"a": 1, "b": 1, "c": 1}, 1, 1.0),  # the ideal is cut at k too
        (["a"], {"a": 1, "b": 1}, 10, 0.613147),  # 1 / (1 + 0.630930)
        (["low", "high"], {"high": 3, "low": 1}, 10, 0.796708),  # (1 + 3 * 0.630930) / (3 + 0.630930)
        # Wikipedia's example of graded gains 3, 2, 3, 0, 1, 2 where 3 and 2 more were not retrieved
        (list("abcdef"), {"a": 3, "b": 2, "c": 3, "d": 0, "e": 1, "f": 2, "g": 3, "h": 2}, 6, 0.785),
    ],
)
def test_ndcg_equals_the_table_computed_by_hand(
    ranked: list[str], gains: dict[str, float], k: int, expected: float
) -> None:
    assert ndcg_at(ranked, gains, k) == pytest.approx(expected, abs=5e-4)


@given(rankings, gains_of_documents, cutoffs)
def test_ndcg_equals_an_array_formulation(ranked: list[str], gains: dict[str, float], k: int) -> None:
    discounts = 1 / np.log2(np.arange(2, 12 + 2))
    found = np.zeros(12)
    found[: len(ranked)] = [gains.get(document, 0) for document in ranked]
    ideal = np.zeros(12)
    ideal[: len(gains)] = np.sort(list(gains.values()))[::-1]
    k = min(k, 12)
    expected = (found[:k] @ discounts[:k]) / (ideal[:k] @ discounts[:k])
    assert ndcg_at(ranked, gains, k) == pytest.approx(expected, abs=1e-12)


@given(rankings, gains_of_documents, cutoffs)
def test_reciprocal_rank_and_recall_equal_their_definitions(ranked: list[str], gains: dict[str, float], k: int) -> None:
    ranks = [ranked.index(document) + 1 for document in gains if document in ranked]
    inside = [rank for rank in ranks if rank <= k]
    assert mrr_at(ranked, gains, k) == (float(Fraction(1, min(inside))) if inside else 0)
    assert recall_at(ranked, gains, k) == pytest.approx(float(Fraction(len(inside), len(gains))))


@given(rankings, gains_of_documents, cutoffs)
def test_every_measure_lies_between_0_and_1(ranked: list[str], gains: dict[str, float], k: int) -> None:
    values = [ndcg_at(ranked, gains, k), *(measure(ranked, gains, k) for measure in (mrr_at, recall_at))]
    assert all(0 <= value <= 1 for value in values)


@given(gains_of_documents, cutoffs)
def test_a_perfect_ranking_measures_exactly_1(gains: dict[str, float], k: int) -> None:
    ranked = sorted(gains, key=lambda document: -gains[document])
    assert ndcg_at(ranked, gains, k) == 1
    assert mrr_at(ranked, gains, k) == 1
    assert recall_at(ranked, gains, max(k, len(gains))) == 1


@given(rankings, gains_of_documents, cutoffs)
def test_a_ranking_without_a_relevant_document_measures_0(ranked: list[str], gains: dict[str, float], k: int) -> None:
    irrelevant = [document for document in ranked if document not in gains]
    assert ndcg_at(irrelevant, gains, k) == 0
    assert mrr_at(irrelevant, gains, k) == recall_at(irrelevant, gains, k) == 0


@given(rankings, gains_of_documents, cutoffs, st.data())
def test_no_measure_falls_when_a_relevant_document_moves_up(
    ranked: list[str], gains: dict[str, float], k: int, data: st.DataObject
) -> None:
    places = [place for place in range(1, len(ranked)) if gains.get(ranked[place], 0) > gains.get(ranked[place - 1], 0)]
    assume(places)
    place = data.draw(st.sampled_from(places))
    better = [*ranked]
    better[place - 1], better[place] = better[place], better[place - 1]
    assert ndcg_at(better, gains, k) >= ndcg_at(ranked, gains, k)
    if place + 1 <= k:
        assert ndcg_at(better, gains, k) > ndcg_at(ranked, gains, k)
    for measure in (mrr_at, recall_at):
        assert measure(better, gains, k) >= measure(ranked, gains, k)


def test_a_duplicate_in_the_ranking_is_an_error_even_beyond_k() -> None:
    for measure in (mrr_at, recall_at):
        with pytest.raises(ValueError, match="more than once"):
            measure(["a", "b", "b"], {"a"}, 1)
    with pytest.raises(ValueError, match="more than once"):
        ndcg_at(["a", "b", "b"], {"a": 1}, 1)


@pytest.mark.parametrize("k", [0, -1])
def test_a_cutoff_below_1_is_an_error(k: int) -> None:
    for measure in (mrr_at, recall_at):
        with pytest.raises(ValueError, match="k must be"):
            measure(["a"], {"a"}, k)
    with pytest.raises(ValueError, match="k must be"):
        ndcg_at(["a"], {"a": 1}, k)


def test_a_question_without_a_relevant_document_is_an_error_and_not_a_score() -> None:
    for measure in (mrr_at, recall_at):
        with pytest.raises(ValueError, match="undefined"):
            measure(["a"], set(), 10)
    for gains in ({}, {"a": 0.0}):
        with pytest.raises(ValueError, match="undefined"):
            ndcg_at(["a"], gains, 10)


@pytest.mark.parametrize("gain", [-1.0, math.nan, math.inf])
def test_a_gain_that_is_negative_or_not_finite_is_an_error(gain: float) -> None:
    with pytest.raises(ValueError, match="gains"):
        ndcg_at(["a"], {"a": 1.0, "b": gain}, 10)


def test_a_document_judged_0_is_not_relevant_in_any_measure() -> None:
    assert question_scores(["b", "a"], {"a": 2.0, "b": 0.0}) == pytest.approx(
        {"ndcg@10": 1 / math.log2(3), "mrr@10": 0.5, "recall@1": 0.0, "recall@10": 1.0}
    )


# --- averages and their spread ------------------------------------------------------------------------------------

scores = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(scores)
def test_an_interval_holds_its_mean_and_stays_within_the_scores(values: list[float]) -> None:
    estimate = mean_with_interval(values, resamples=50)
    assert estimate.low <= estimate.value <= estimate.high
    assert estimate.value == pytest.approx(math.fsum(values) / len(values))
    assert min(values) - 1e-12 <= estimate.low <= estimate.high <= max(values) + 1e-12


def test_an_interval_is_about_two_standard_errors_wide_and_repeats_exactly() -> None:
    values = np.random.default_rng(7).random(400).tolist()
    estimate = mean_with_interval(values)
    error = float(np.std(values)) / math.sqrt(400)
    assert estimate.high - estimate.value == pytest.approx(1.96 * error, rel=0.1)
    assert estimate.value - estimate.low == pytest.approx(1.96 * error, rel=0.1)
    assert mean_with_interval(values) == estimate


def test_pairing_sees_a_small_steady_gain_that_two_intervals_would_hide() -> None:
    rng = np.random.default_rng(3)
    hardness = rng.random(200) * 0.9
    first, second = (hardness + 0.02 + rng.normal(0, 0.01, 200)).tolist(), hardness.tolist()
    difference = paired_difference(first, second)
    assert difference.low > 0.015
    assert mean_with_interval(second).high > mean_with_interval(first).low


@given(scores)
def test_equal_scores_show_no_difference_and_swapping_turns_the_sign(values: list[float]) -> None:
    assert paired_difference(values, values, resamples=20) == Estimate(0, 0, 0)
    other = values[::-1]
    ahead, behind = paired_difference(values, other, resamples=20), paired_difference(other, values, resamples=20)
    assert ahead.value == pytest.approx(-behind.value)


@pytest.mark.parametrize("values", [[], [math.nan], [0.5, math.inf]])
def test_an_average_of_nothing_or_of_nan_is_an_error(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        mean_with_interval(values)


def test_no_resample_and_unequal_lengths_are_errors() -> None:
    with pytest.raises(ValueError, match="resamples"):
        mean_with_interval([1.0], resamples=0)
    with pytest.raises(ValueError, match="paired"):
        paired_difference([1.0], [1.0, 0.5])


@given(st.integers(1, 200).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_the_bounds_of_a_rate_solve_wilsons_equation(counts: tuple[int, int]) -> None:
    count, total = counts
    estimate = rate_with_interval(count, total)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    for bound in (estimate.low, estimate.high):
        assert (estimate.value - bound) ** 2 == pytest.approx(1.959964**2 * bound * (1 - bound) / total, abs=1e-6)
    assert estimate.low < estimate.high


@pytest.mark.parametrize(("count", "total"), [(1, 0), (-1, 3), (4, 3)])
def test_an_impossible_rate_is_an_error(count: int, total: int) -> None:
    with pytest.raises(ValueError, match="no rate"):
        rate_with_interval(count, total)


def test_refusals_are_counted_against_the_questions_of_their_kind() -> None:
    rates = refusal_rates([True, True, True, True, False, False], [True, False, False, False, True, False])
    assert (rates.answerable, rates.unanswerable) == (4, 2)
    assert rates.wrongly_refused == rate_with_interval(1, 4)
    assert rates.wrongly_answered == rate_with_interval(1, 2)


def test_a_rate_over_no_question_is_absent_and_not_0() -> None:
    assert refusal_rates([True], [False]).wrongly_answered is None
    assert refusal_rates([False], [True]).wrongly_refused is None
    with pytest.raises(ValueError, match="replies"):
        refusal_rates([], [])
    with pytest.raises(ValueError, match="replies"):
        refusal_rates([True], [])


# --- the report ---------------------------------------------------------------------------------------------------


def small_results() -> Results:
    perfect, second = question_scores(["a", "b"], {"a": 1}), question_scores(["b", "a"], {"a": 1})
    return summarise(
        "samples",
        {"fused": [perfect] * 6, "vector": [second] * 6, "bm25": [perfect, second] * 3},
        refusals=refusal_rates([True, False, False], [False, True, False]),
        left_out=2,
    )


def printed(results: Results) -> str:
    page = io.StringIO()
    Console(width=120, file=page).print(as_table(results))
    return page.getvalue()


def test_the_json_nests_each_value_by_ranking_and_its_interval_apart() -> None:
    found = json.loads(json.dumps(as_json(small_results()), allow_nan=False))
    assert (found["dataset"], found["questions"], found["left_out"]) == ("samples", 6, 2)
    for ranking in RANKINGS:
        assert tuple(found[ranking]) == ("ndcg@10", "mrr@10", "recall@1", "recall@10") == METRICS
        for metric in METRICS:
            low, high = found["intervals"][ranking][metric]
            assert low <= found[ranking][metric] <= high
    assert found["fused"]["recall@1"] == 1
    assert found["vector"]["mrr@10"] == 0.5
    assert found["bm25"]["recall@1"] == 0.5
    assert found["differences"]["vector"]["value"] == pytest.approx(1 - 1 / math.log2(3))
    assert found["refusals"]["wrongly_answered"]["value"] == 0.5
    assert found["refusals"]["accuracy"]["value"] == pytest.approx(2 / 3)


def test_the_table_shows_each_ranking_with_its_spread_and_the_comparison() -> None:
    text = printed(small_results())
    for expected in ("samples: 6 questions, 2 left out", *RANKINGS, *METRICS, "1.000", "0.500–0.500"):
        assert expected in text
    assert "fused - vector, ndcg@10: +0.369" in text
    assert "unanswerable but answered: 50.0% of 2" in text


def test_a_difference_that_may_be_chance_is_called_so() -> None:
    one = question_scores(["a"], {"a": 1})
    none = question_scores(["b"], {"a": 1})
    results = summarise("d", {"fused": [one, none, one], "vector": [none, one, one], "bm25": [one, none, one]})
    caption = str(as_table(results).caption)
    assert caption.count("no clear difference") == 2
    assert as_json(results)["refusals"] is None


def test_a_name_in_square_brackets_is_printed_and_not_taken_as_markup() -> None:
    assert "[red]x[/red]: 6 questions" in printed(replace(small_results(), dataset="[red]x[/red]"))


def test_results_with_a_gap_are_refused() -> None:
    with pytest.raises(ValueError, match="bm25 ndcg@10"):
        Results("d", 1, {ranking: dict.fromkeys(METRICS, Estimate(1, 1, 1)) for ranking in ("fused", "vector")})


def test_rankings_of_different_questions_are_not_compared() -> None:
    one = question_scores(["a"], {"a": 1})
    with pytest.raises(ValueError, match="paired"):
        summarise("d", {"fused": [one, one], "vector": [one], "bm25": [one, one]})
