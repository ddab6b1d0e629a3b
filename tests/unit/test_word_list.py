"""A collection's own words: found wherever they are written, left out wherever they stop."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lexical.tokens import TOKEN_MAX_CHARS, TOKENIZER, tokenizer, tokens, whole_tokens
from app.lexical.word_list import occurrences, written
from app.records import NO_WORDS, WordList

PRODUCTS = WordList(
    "p", ("黛峰烘豆机", "黛峰", "visual studio code", "c++标准", "ab-12", "where", "烘焙", "t恤衫", "สวัสดี")
)
WORD = st.text(alphabet="ab黛峰烘豆-+ 1", min_size=1, max_size=5).map(written).filter(bool)
lists = st.lists(WORD, max_size=4).map(lambda words: WordList(repr(words), tuple(words)))
texts = st.text(alphabet="abAB黛峰烘豆-+ \n1，", max_size=20)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("我买黛峰烘豆机。", ["黛峰", "黛峰烘豆机"]),
        ("黛峯烘豆機", ["黛峰", "黛峰烘豆机"]),
        ("VISUAL  Studio\nCode", ["visual studio code"]),
        ("用Ｃ＋＋標準庫", ["c++标准"]),
        ("AB-12 ab\u201112", ["ab-12", "ab-12"]),
        ("一件T恤衫", ["t恤衫"]),
        ("สวัสดีครับ", ["สวัสดี"]),
        ("xab-12 ab-123 elsewhere visual studio codes", []),
        ("", []),
    ],
)
def test_a_word_is_found_however_it_is_written_and_never_within_another(text: str, found: list[str]) -> None:
    assert list(occurrences(written(text), PRODUCTS)) == found
    assert [token for token in tokens(text, PRODUCTS) if token in PRODUCTS.user_words] == found


def test_what_the_text_gives_without_the_words_is_kept() -> None:
    assert tokens("产品和服务", WordList("garment", ("和服",)))[:-1] == tokens("产品和服务")


def test_a_word_that_is_a_token_already_counts_once() -> None:
    assert tokens("烘焙，烘焙", PRODUCTS).count("烘焙") == 2


def test_a_word_that_only_asks_counts_where_the_collection_has_it() -> None:
    assert tokens("where clause") == tokens("clause")
    assert "where" in tokens("where clause", PRODUCTS)


def test_a_stop_word_is_left_out_whole_and_its_longer_words_stay() -> None:
    stopped = WordList("s", (), ("公司", "the", "running", "です", "烘焙"))
    assert tokens("the 公司 runs", stopped) == []
    assert tokens("有限公司", stopped) == [t for t in tokens("有限公司") if t not in {"公司", "#公司"}]
    assert "有限公司" in tokens("有限公司", stopped)
    both = WordList("b", PRODUCTS.user_words, stopped.stop_words)
    assert "烘焙" not in tokens("烘焙", both)


@pytest.mark.parametrize(
    ("word", "whole"),
    [
        ("公司", {"公司", "#公司"}),
        ("有限公司", {"有限公司"}),
        ("的", {"的"}),
        ("The", {"the"}),
        ("running", {"run"}),
        ("max_tokens", {"max_tokens"}),
        ("GB/T 7714", {"gb/t7714"}),
        ("two words", set()),
        ("，", set()),
        ("黛峰烘豆机", set()),
    ],
)
def test_the_tokens_that_are_a_word_as_a_whole(word: str, whole: set[str]) -> None:
    assert whole_tokens(word) == whole


def test_a_tokenizer_is_known_by_its_words() -> None:
    assert tokenizer(NO_WORDS) == TOKENIZER
    assert tokenizer(WordList("a" * 64)) not in {TOKENIZER, tokenizer(WordList("b" * 64))}


@given(texts, lists)
def test_every_occurrence_is_a_token_and_no_other_word_is(text: str, words: WordList) -> None:
    """Against every place of the text, one by one."""

    def inside(at: int) -> bool:
        return 0 < at < len(plain) and all(c.isascii() and c.isalnum() for c in plain[at - 1 : at + 1])

    plain = written(text)
    places = [(i, word) for word in set(words.user_words) for i in range(len(plain)) if plain.startswith(word, i)]
    expected = sorted(word for i, word in places if not inside(i) and not inside(i + len(word)))
    assert sorted(occurrences(plain, words)) == expected
    found = tokens(text, words)
    assert all(found.count(word) >= expected.count(word) for word in words.user_words)


@given(texts, lists, st.lists(st.sampled_from(["a", "黛峰", "ab"]), max_size=2))
def test_tokens_with_words_are_tokens(text: str, words: WordList, stop: list[str]) -> None:
    both = WordList(f"{words.sha256} {stop}", words.user_words, tuple(stop))
    for token in tokens(text, both):
        assert token.strip()
        assert len(token) <= TOKEN_MAX_CHARS
        assert token not in stop


def test_ten_thousand_words_take_linear_time() -> None:
    words = WordList("many", tuple(f"{chr(0x4E00 + n % 3000)}{chr(0x5E00 + n % 997)}{n}" for n in range(10_000)))
    text = "".join(chr(0x4E00 + n % 3000) for n in range(100_000))
    tokens("", words)
    started = time.process_time()
    tokens(text, words)
    assert time.process_time() - started < 5
