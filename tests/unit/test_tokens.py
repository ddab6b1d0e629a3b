"""Tokens: both sides of a search see the same words, in every script."""

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lexical.tokens import TOKEN_MAX_CHARS, normalize, tokens


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("max_tokens", "Set `max_tokens` to 512."),
        ("HTTPException", "raise HTTPException(404)"),
        ("httpexception", "raise HTTPException(404)"),
        ("exception", "raise HTTPException(404)"),
        ("E11000", "E11000 duplicate key error"),
        ("v2.3.1", "fixed in v2.3.1."),
        ("GB/T 7714", "依据GB/T 7714-2015著录"),
        ("/usr/local/bin", "installs into /usr/local/bin."),
        ("C++", "用C++编写"),
        ("路徑參數", "路径参数"),
        ("ＦＵＬＬ", "a full tank"),
        ("runs", "it is running"),
        ("company", "the company's debt"),
        ("1,000", "1000 pieces"),
        ("ครับ", "สวัสดีครับ"),
        ("안녕", "안녕하세요"),
        ("こんにちは", "皆さんこんにちは"),
        ("🎉", "done 🎉"),
        ("zerowidth", "zero\u200bwidth"),
        ("零宽字符", "零\u200b宽\u200b字\u200b符"),
        ("E-101", "E\u2011101"),
        ("café", "the cafe\u0301 in Paris"),
    ],
)
def test_what_is_asked_is_found_as_it_is_written(asked: str, written: str) -> None:
    assert set(tokens(asked)) & set(tokens(written))


@pytest.mark.parametrize("whole", ["max_tokens", "httpexcept", "e11000", "v2.3.1", "gb/t7714", "c++", "3.14", "foo.py"])
def test_an_identifier_is_one_token_of_its_own(whole: str) -> None:
    text = "max_tokens HTTPException E11000 v2.3.1 GB/T 7714-2015 C++ 3.14 foo.py"
    assert whole in tokens(text)


def test_a_product_name_that_jieba_splits_is_found_by_its_bigrams() -> None:
    assert {"#黛峰", "#峰烘"} <= set(tokens("黛峰烘豆机"))
    assert "#黛峰" in tokens("黛峰")


def test_a_bigram_never_equals_a_word() -> None:
    assert tokens("汉字") == ["汉字", "#汉字"]
    assert not any(token.startswith("#") for token in tokens("#hashtag # C# ##"))


def test_punctuation_and_space_give_no_tokens() -> None:
    assert tokens(" \n\t。，！？—…「」() [] {} --- *** ``` /// \u3000") == []


def test_an_endless_run_is_cut_into_the_same_pieces_on_both_sides() -> None:
    run = "0123456789abcdef" * 1000
    assert tokens(run) == tokens(f"digest: {run}")[1:]
    assert max(map(len, tokens(run))) <= TOKEN_MAX_CHARS


@given(st.text())
def test_tokens_are_never_empty_blank_or_longer_than_the_limit(text: str) -> None:
    for token in tokens(text):
        assert 0 < len(token) <= TOKEN_MAX_CHARS
        assert token.strip()
        assert token == token.lower()


@given(st.text(alphabet=st.characters(categories=("L", "N"))))
def test_no_letter_run_becomes_one_giant_token(text: str) -> None:
    assert all(len(token) <= TOKEN_MAX_CHARS for token in tokens(text * 20))


@given(st.text())
def test_letters_and_digits_are_never_lost(text: str) -> None:
    text = text.replace("\u00ad", "")
    has_letter = any(c.isalnum() and unicodedata.normalize("NFKC", c).isalnum() for c in text)
    assert bool(tokens(text)) or not has_letter


@given(st.text())
def test_full_width_and_half_width_give_the_same_tokens(text: str) -> None:
    text = re.sub("[²³¹¼-¾⁰-₉⅐-⅞]", "", text)  # kept on purpose
    assert tokens(unicodedata.normalize("NFKC", text)) == tokens(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [("如何聲明路徑參數？", " 如何声明路径参数"), ("What is  IT?", "what is it"), ("ＡＢＣ。", "abc"), ("a\nb", "a b")],
)
def test_two_ways_to_write_one_question_are_the_same(one: str, other: str) -> None:
    assert normalize(one) == normalize(other)


def test_long_runs_take_linear_time() -> None:
    started = time.perf_counter()
    for run in ("_" * 200_000, "国" * 50_000, "a_" * 50_000, "1," * 50_000, "A/B " * 30_000):
        tokens(run)
    assert time.perf_counter() - started < 10


def test_different_questions_stay_different() -> None:
    assert normalize("What is 5²?") != normalize("What is 52?")
    assert normalize("路径参数") != normalize("查询参数")
    assert normalize("C") != normalize("C++")


@given(st.text())
def test_normalizing_twice_changes_nothing(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)
