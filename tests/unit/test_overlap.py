"""Word overlap: properties that hold for any tokens, against a slow computation by the definition."""

from itertools import combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lexical.overlap import closeness, coverage, term_weights
from app.records import LexicalStatistics, TermStatistic

TOKENS = st.lists(st.sampled_from("abcxyz"), max_size=15)
WEIGHTS = {"a": 0.5, "b": 0.3, "c": 0.2}


def test_weights_are_shares_and_rarer_words_weigh_more() -> None:
    terms = (TermStatistic("rare", 1, 1, 6.0), TermStatistic("common", 2, 900, 0.1), TermStatistic("unseen", 1, 0, 7.0))
    weights = term_weights(LexicalStatistics(1_000, 10.0, terms, 30.0))
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["unseen"] > weights["rare"] > weights["common"] > 0
    assert term_weights(LexicalStatistics(0, 1.0, (), 0.0)) == {}


@given(TOKENS, TOKENS)
def test_more_words_never_cover_less(some: list[str], more: list[str]) -> None:
    covered = coverage(set(some), WEIGHTS)
    assert 0 <= covered <= coverage(set(some + more), WEIGHTS) <= 1


def test_all_words_cover_the_whole() -> None:
    assert coverage({"a", "b", "c", "z"}, WEIGHTS) == pytest.approx(1)
    assert coverage({"z"}, WEIGHTS) == 0
    assert coverage({"a"}, {}) == 0


@given(TOKENS)
def test_closeness_is_that_of_the_shortest_run_that_holds_every_word(tokens: list[str]) -> None:
    wanted = set(tokens) & WEIGHTS.keys()
    runs = [tokens[i:j] for i, j in combinations_with_replacement(range(len(tokens) + 1), 2)]
    shortest = min((len(run) for run in runs if wanted <= set(run)), default=0)
    expected = len(wanted) / shortest if len(wanted) > 1 else 0.0
    assert closeness(tokens, WEIGHTS.keys()) == pytest.approx(expected)


@given(TOKENS)
def test_closeness_reads_the_same_backwards(tokens: list[str]) -> None:
    assert closeness(tokens, WEIGHTS.keys()) == closeness(tokens[::-1], WEIGHTS.keys())
    assert 0 <= closeness(tokens, WEIGHTS.keys()) <= 1
