"""Near duplicates: what may stand for what."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.query.duplicates import Comparable, duplicate, leaders, resemblance

WORDS = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(200)]
LETTER = " ".join(WORDS)
HAN = [chr(0x4E00 + 7 * n) for n in range(600)]
OTHERS = {" ": [f"zz{chr(97 + n)}" for n in range(14)], "": [chr(0x9000 + n) for n in range(14)]}
QUESTION = Comparable("what is wzz?")


def same(a: str, b: str, question: str = "") -> float | None:
    return duplicate(Comparable(a), Comparable(b), Comparable(question))


def replaced(at: int, word: str) -> str:
    return " ".join([*WORDS[:at], word, *WORDS[at + 1 :]])


def jaccard(a: Sequence[str], b: Sequence[str]) -> float:
    """Of the runs of three words, counted plainly."""
    runs = [{tuple(words[n : n + 3]) for n in range(max(1, len(words) - 2))} for words in (a, b)]
    return len(runs[0] & runs[1]) / len(runs[0] | runs[1])


@given(st.lists(st.sampled_from("abcd"), min_size=1), st.lists(st.sampled_from("abcd"), min_size=1))
def test_resemblance_is_the_jaccard_of_shingles_both_ways(a: list[str], b: list[str]) -> None:
    one, other = Comparable(" ".join(a)), Comparable(" ".join(b))
    assert resemblance(one, other) == resemblance(other, one) == pytest.approx(jaccard(a, b))
    assert resemblance(one, one) == 1


def test_equal_texts_are_duplicates_whatever_they_hold() -> None:
    for text in ("", "---", "a", "保修期为两年。", LETTER):
        assert same(text, text, "a 保修") == 1.0


def test_one_changed_word_of_many_makes_a_duplicate() -> None:
    assert same(LETTER, replaced(50, "other")) == pytest.approx(195 / 201)
    assert same(LETTER, LETTER.upper()) == 1.0
    chinese = "本公司磨豆机自售出之日起保修两年，人为损坏以及进水不在保修范围之内，退货时需要出示发票和保修卡。"
    assert same(chinese, chinese.replace("。", "！")) == 1.0
    assert same(chinese * 3, (chinese * 3).replace("发票", "收据", 1)) is not None


@st.composite
def copies(draw: st.DrawFn) -> list[str]:
    """A letter and copies of it with a few runs of words replaced, added or left out."""
    words, between = draw(st.sampled_from([(WORDS, " "), (HAN, "")]))
    texts = [between.join(words)]
    for _ in range(draw(st.integers(1, 4))):
        copy = list(words)
        for _ in range(draw(st.integers(0, 4))):
            at, out, put = (draw(st.integers(0, most)) for most in (len(words), 14, 14))
            copy[at : at + out] = draw(st.permutations(OTHERS[between]))[:put]
        texts.append(draw(st.sampled_from([between, between or "，", "\n"])).join(copy))
    return texts


@given(copies())
def test_each_text_joins_the_first_one_that_it_repeats(texts: list[str]) -> None:
    leads: list[int] = []
    for n, text in enumerate(texts):
        leads.append(next((m for m in range(n) if leads[m] == m and same(text, texts[m]) is not None), n))
    assert leaders(texts, np.zeros(len(texts)), "") == leads


def test_texts_of_other_scores_are_told_apart_unless_they_are_equal() -> None:
    near = [LETTER, replaced(50, "other")]
    assert leaders(near, np.array([1.0, 0.95]), "") == [0, 0]
    assert leaders(near, np.array([1.0, 0.85]), "") == [0, 1]
    assert leaders([LETTER, LETTER], np.array([1.0, 0.85]), "") == [0, 0]


def test_other_texts_are_no_duplicates() -> None:
    assert same(LETTER, " ".join(reversed(WORDS))) is None
    assert same(LETTER, LETTER[: len(LETTER) // 2]) is None
    assert same("Use soft water.", "Use hard water.") is None
    assert same("---", "***") is None


def test_what_differs_by_a_number_is_told_apart() -> None:
    assert same(replaced(50, "E11000"), replaced(50, "E11001")) is None
    assert same(replaced(50, "24"), replaced(50, "12")) is None
    assert same(LETTER, replaced(50, "٣")) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("two", "three"), ("may", "may not"), ("can", "can't"), ("to 20", "to -20"), ("< 5", "> 5"), ("1.5", "5.1")),
        *(("left 10 right 20", "left 20 right 10"), ("三年", "五年"), ("可以", "不可以"), ("有", "没有")),
    ],
)
def test_other_numbers_and_negations_are_told_apart(one: str, other: str) -> None:
    """Also where the words themselves occur elsewhere in both texts."""
    both = f"{LETTER} 1.5 5.1 not 20 -20 5 三 五 不 没"
    for text in (LETTER, both):
        assert same(f"{text} {one}", f"{text} {other}") is None
        assert same(f"{text} {one}", f"{text}, {one}") is not None


def test_numbers_that_are_written_alike_are_no_difference() -> None:
    assert same(f"{LETTER} costs 24, or 1.5.", f"{LETTER}  COSTS 24 or 1.5") is not None


def test_what_differs_by_a_word_of_the_question_is_told_apart() -> None:
    berlin, munich = replaced(50, "Berlin"), replaced(50, "Munich")
    assert same(berlin, munich, "When does the office open?") is not None
    assert same(berlin, munich, "berlin or munich?") is None
    assert same(LETTER + "保修", LETTER + "保养", "如何保养") is None
