"""What holds for every splitter on any text."""

import time
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.errors import InvalidInput
from app.ingest.split import split
from app.ingest.split.blocks import front_matter
from app.records import Chunk, SplitterName, Splitting

SPLITTERS: tuple[SplitterName, ...] = ("fixed", "sentence", "semantic")
MEDIA_TYPES = ("text/markdown", "text/plain", "text/html", "text/x-python", "text/x-c++")
PIECES = (
    "# 标题 { #anchor }\n",
    "## B\n",
    "#### D\n",
    "Setext\n===\n",
    "```python\n",
    "```\n",
    "~~~~\n",
    "    ```\n",
    "- ```\n",
    "---\n",
    "title: x\n",
    "///\n",
    "/// tip | 提示\n",
    "| a | b |\n",
    "|---|---|\n",
    "* item\n",
    "1. one\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "  ",
    " ",
    "\u3000",
    "\u200b",
    "a",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "word ",
    "汉字",
    "这是一句话。",
    "「引用。」",
    "……",
    "!?",
    "3.14",
    "v2.3.1 ",
    "e.g. ",
    "U.S. ",
    "main.py ",
    "https://x.org/a.b?c=d;e ",
    "Dr. Who. ",
    "end.\n",
    "👩‍👩‍👧‍👦",
    "🇨🇳",
    "👍🏽",
    "e\u0301",
    "n\u0303\u0323",
    "\ufe0f",
    "\u200d",
    "<b>",
    "</b>",
    "<",
    "`",
    "**",
)
TEXTS = st.one_of(
    st.text(max_size=400),
    st.lists(st.sampled_from(PIECES), max_size=120).map("".join),
    st.tuples(st.sampled_from(PIECES), st.integers(1, 400)).map(lambda pair: pair[0] * pair[1]),
)


@st.composite
def splittings(draw: st.DrawFn) -> Splitting:
    size = draw(st.integers(50, 200))
    overlap = draw(st.one_of(st.integers(0, size - 1), st.integers(size - 3, size - 1)))
    return Splitting(draw(st.sampled_from(SPLITTERS)), size, overlap)


def assert_exact(content: str, chunks: tuple[Chunk, ...], size: int, media_type: str) -> None:
    found = front_matter(content) if media_type == "text/markdown" else None
    covered = found[1] if found else 0
    for ordinal, chunk in enumerate(chunks):
        assert chunk.ordinal == ordinal
        assert content[chunk.start_char : chunk.end_char] == chunk.text
        assert chunk.text
        assert chunk.text.strip() == chunk.text
        assert len(chunk.text) <= size
        assert not content[covered : chunk.start_char].strip()
        covered = chunk.end_char
    assert not content[covered:].strip()
    for before, after in pairwise(chunks):
        assert before.start_char < after.start_char
        assert before.end_char < after.end_char


@settings(max_examples=600, deadline=None)
@given(TEXTS, splittings(), st.sampled_from(MEDIA_TYPES))
@example("0\n" + "0" * 21 + "\n" + "0" * 27 + "\n0", Splitting("semantic", 50, 21), "text/markdown")
def test_chunks_are_exact_in_order_bounded_trimmed_and_leave_nothing_out(
    content: str, splitting: Splitting, media_type: str
) -> None:
    chunks = split(content, splitting, media_type)
    assert_exact(content, chunks, splitting.size_chars, media_type)
    assert chunks == split(content, splitting, media_type)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=30, max_size=300).map("".join), st.sampled_from(SPLITTERS))
def test_the_spans_of_a_chunk_lie_within_it_and_leave_nothing_out(content: str, splitter: SplitterName) -> None:
    for chunk in split(content, Splitting(splitter, 300, 30), "text/markdown"):
        covered = 0
        for span in chunk.spans:
            assert chunk.text[span.start_char : span.end_char].strip()
            assert not chunk.text[covered : span.start_char].strip()
            assert covered <= span.start_char < span.end_char
            covered = span.end_char
        assert covered == len(chunk.text)


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("overlap", [0, 799])
@pytest.mark.parametrize(
    "content",
    [
        "a" * 100_000,
        "汉" * 100_000,
        "！" * 100_000,
        "!" * 99_999 + "a",
        "." * 99_999 + "a",
        " " * 100_000,
        "\n" * 100_000,
        "👩‍👩‍👧‍👦" * 10_000,
        "e" + "\u0301" * 50_000,
        "🇨🇳" * 20_000,
        "<" * 100_000,
        "</" * 50_000,
        "`" * 100_000,
        "#" * 100_000,
        "# [" + "[" * 100_000,
        "-\n" * 50_000,
        "# h\n" * 25_000,
        "|a|\n" * 25_000,
        "```\n" * 25_000,
        "x\r\n" * 30_000,
    ],
    ids=lambda content: ascii(content[:6]),
)
def test_a_text_without_places_to_cut_ends_soon(content: str, overlap: int, splitter: SplitterName) -> None:
    began = time.monotonic()
    chunks = split(content, Splitting(splitter, 800, overlap), "text/markdown")
    assert time.monotonic() - began < 10
    assert_exact(content, chunks, 800, "text/markdown")


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_two_megabytes_take_seconds(media_type: str, splitter: SplitterName) -> None:
    page = "## 标题 {n}\n\nOne sentence, e.g. this one. 另一句话，说的是别的。\n\n* `x`\n* b\n\n```py\na = 1\n```\n\n"
    content = "".join(page.replace("{n}", str(number)) for number in range(20_000))
    assert len(content.encode()) > 2_000_000
    began = time.monotonic()
    chunks = split(content, Splitting(splitter), media_type)
    assert time.monotonic() - began < 10
    assert_exact(content, chunks, Splitting().size_chars, media_type)


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize(("size", "overlap"), [(100, 100), (100, 101), (100, -1)])
def test_an_overlap_that_reaches_the_size_is_refused(splitter: SplitterName, size: int, overlap: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        split("text", Splitting(splitter, size, overlap), "text/plain")
    assert refused.value.field == "overlap_chars"


def test_a_size_that_holds_no_sentence_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        split("text", Splitting("fixed", 49, 0), "text/plain")
    assert refused.value.field == "size_chars"


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("content", ["", " ", "\r\n\r\n", "\u3000\t\n"])
def test_white_space_has_no_chunk(content: str, splitter: SplitterName) -> None:
    assert split(content, Splitting(splitter), "text/markdown") == ()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(["👩‍👩‍👧‍👦", "👍🏽", "e\u0301", "ñ", "字", "🇨🇳字"]), min_size=60, max_size=300),
    st.sampled_from(SPLITTERS),
)
def test_no_cut_parts_what_a_reader_sees_as_one_character(clusters: list[str], splitter: SplitterName) -> None:
    content = "".join(clusters)
    inside = set(range(len(content))) - {len("".join(clusters[:count])) for count in range(len(clusters))}
    inside -= {place for place in range(1, len(content)) if content[place] == "字"}
    for chunk in split(content, Splitting(splitter, 60, 20), "text/plain"):
        assert chunk.start_char not in inside
        assert chunk.end_char not in inside
