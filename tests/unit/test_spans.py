"""The pieces that rank and are quoted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingest.split.spans import spans

PIECES = ("汉字", "。", "，", "a", " ", "\n", ". ", "word ", "///\n", "```\n", "」", "!")


def texts(text: str) -> list[str]:
    return [text[span.start_char : span.end_char] for span in spans(text)]


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=600), st.lists(st.sampled_from(PIECES), max_size=900).map("".join)))
def test_spans_ascend_and_hold_every_character_but_white_space(text: str) -> None:
    end = 0
    for span in spans(text):
        assert not text[end : span.start_char].strip()
        assert end <= span.start_char < span.end_char
        piece = text[span.start_char : span.end_char]
        assert piece.strip() == piece
        end = span.end_char
    assert not text[end:].strip()


def test_short_chinese_sentences_are_joined_up_to_eighty_characters() -> None:
    assert [len(text) for text in texts("这句话有十个汉字长。" * 20)] == [80, 80, 40]


def test_short_latin_sentences_are_joined_up_to_240_characters() -> None:
    assert [len(text) for text in texts(("Twenty characters. " * 30).strip())] == [227, 227, 113]


def test_a_sentence_over_the_limit_is_one_span() -> None:
    sentence = "这是一个很长的句子，" * 20 + "完。"
    assert texts("短句。" + sentence) == ["短句。", sentence]


def test_a_sentence_over_three_times_the_limit_is_cut_at_clauses() -> None:
    found = texts("这是一个很长的句子，" * 40)
    assert len(found) > 1
    assert all(len(text) <= 120 and text.endswith("，") for text in found)


def test_a_quote_keeps_its_closing_mark() -> None:
    quote = "他站在门口看了很久很久，" * 3 + "才慢慢地说：「我们明天一早就要出发，你们都准备好了吗？」"
    silence = "大家都没有说话，只是静静地望着窗外那一片天空。"
    assert texts(quote + silence) == [quote, silence]


@pytest.mark.parametrize("text", ["///\n\n第一句话。\n\n///", "```\nprint(1)\n```", "---"])
def test_markup_alone_is_no_span(text: str) -> None:
    assert texts(text) == [text]


def test_white_space_has_no_span() -> None:
    assert spans(" \n\u3000") == ()
