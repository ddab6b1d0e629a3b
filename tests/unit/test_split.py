"""What each splitter makes of texts as people write them."""

from itertools import pairwise

import pytest

from app.ingest.split import split
from app.ingest.split.blocks import front_matter, read_blocks
from app.ingest.split.headings import plain_label
from app.ingest.split.sentences import sentences
from app.records import Chunk, SplitterName, Splitting

SENTENCE = "This sentence has forty characters, yes. "
PAGE = """\
# 路径参数 { #path-parameters }

你可以声明路径参数：

```python
# not a heading
item_id: int
```

## 数据<dfn title="也称为：解析">转换</dfn> { #data-conversion }

返回的响应如下。
"""


def chunks(content: str, size: int = 800, overlap: int = 0, splitter: SplitterName = "semantic") -> tuple[Chunk, ...]:
    return split(content, Splitting(splitter, size, overlap), "text/markdown")


def texts(content: str, size: int = 800, overlap: int = 0, splitter: SplitterName = "semantic") -> list[str]:
    return [chunk.text for chunk in chunks(content, size, overlap, splitter)]


def sentence_texts(content: str) -> list[str]:
    return [content[start:end] for start, end in sentences(content, 0, len(content))]


# --- sentences ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expected",
    [
        ["第一句。", "第二句！", "第三句？", "第四；", "完"],
        ["他说：「你好。」", "然后走了。", "“真的吗？！”", "是的……", "好"],
        ["It works.", "Really?", "Yes!", 'He said "go."', "(Done.)", "End"],
        ["Pi is 3.14 and the tool is v2.3.1 in main.py.", "See https://x.org/a.b?c=d;e!f for more."],
        ["Ask Dr. Who, e.g. on Monday, i.e. soon.", "The U.S. team of J. Smith et al. agreed.", "Fine."],
        ["1. First step.", "2. Second step."],
        ["It ended in 2024.", "Then it began again."],
        ["真的吗?", "是的!", "好 a&lt;b"],
        ["**Note.**", "`Next.`", "Last..."],
        ["Wait...", "what?!", "Oh."],
    ],
)
def test_sentences_end_where_a_reader_pauses(expected: list[str]) -> None:
    separator = " " if expected[0].isascii() else ""
    assert sentence_texts(separator.join(expected)) == expected


def test_a_wrapped_line_is_no_sentence_end_but_a_line_of_its_own_is() -> None:
    assert sentence_texts("A sentence that\nis wrapped, and\ngoes on.\nNext line\nLast") == [
        "A sentence that\nis wrapped, and\ngoes on.",
        "Next line",
        "Last",
    ]


def test_markup_without_words_belongs_to_the_sentence_before() -> None:
    assert sentence_texts("///\n\nOne.\n\n///\n\n---\n\nTwo.") == ["///\n\nOne.\n\n///\n\n---", "Two."]


# --- blocks and headings ------------------------------------------------------------------------------------------


def test_headings_are_read_as_atx_and_setext_but_not_in_fences() -> None:
    fence = "~~~\n# no\n```\n# no\n~~~\n"
    text = f"# A #\n\nB\n===\n\n   ## C\n\nD\n---\n{fence}#no\n\n| t |\n---\n\n    # no\n\n####### no\n\n### E"
    headings = [(block.level, block.label) for block in read_blocks(text) if block.level]
    assert headings == [(1, "A"), (1, "B"), (2, "C"), (2, "D"), (3, "E")]


def test_an_unclosed_fence_runs_to_the_end_and_is_kept() -> None:
    [heading, code] = read_blocks("# A\n\n````python\nx = 1\n```\n\n# B\n")
    assert (heading.kind, code.kind) == ("heading", "code")
    assert texts("# A\n\n````python\nx = 1\n```\n\n# B\n") == ["# A\n\n````python\nx = 1\n```\n\n# B"]


def test_a_fence_in_a_list_item_ends_with_its_own_fence() -> None:
    blocks = list(read_blocks("- ```sh\n  ls\n  ```\n\n# Next\n"))
    assert [block.kind for block in blocks] == ["code", "heading"]


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        ("路径参数 { #path-parameters }", "路径参数"),
        ("数据<dfn title='x'>转换</dfn> {#a .b}", "数据转换"),
        ("**Typer**, the *FastAPI* of __CLIs__", "Typer, the FastAPI of CLIs"),
        ("The `**kwargs` of `max_tokens`", "The **kwargs of max_tokens"),
        ("max_tokens and snake_case_name", "max_tokens and snake_case_name"),
        ("[`Enum`](enum.md#x) and ![logo](a.png)", "Enum and logo"),
        ("Q &amp; A \\_x\\_", "Q & A _x_"),
        ("2 * 3 * 4", "2 * 3 * 4"),
    ],
)
def test_a_label_is_what_a_reader_sees(raw: str, label: str) -> None:
    assert plain_label(raw) == label


def test_front_matter_is_known_by_its_shape() -> None:
    assert front_matter("---\ntitle: x\ntags:\n  - a\n- b\n# c\n\n---\nBody") == ((4, 34), 38)
    for text in (
        "---\ntitle: x\nBody",
        "---\n\nx\n---\n",
        "---\nprose\n---\n",
        "a\n---\nb: c\n---\n",
        "---\n---\n",
        "",
    ):
        assert front_matter(text) is None


@pytest.mark.parametrize("splitter", ["fixed", "sentence", "semantic"])
def test_front_matter_is_in_no_chunk_and_does_not_move_offsets(splitter: SplitterName) -> None:
    content = "---\ntitle: secret\n---\n# A\n\ntext"
    [chunk] = chunks(content, splitter=splitter)
    assert chunk.text == "# A\n\ntext"
    assert content[chunk.start_char : chunk.end_char] == chunk.text


# --- sections -----------------------------------------------------------------------------------------------------


def test_a_section_is_the_path_of_headings() -> None:
    found = chunks(PAGE, size=100)
    assert [chunk.section for chunk in found] == ["路径参数", "路径参数 > 数据转换"]
    assert found[1].text.startswith("## 数据")


def test_a_chunk_over_several_sections_has_the_path_they_share() -> None:
    content = "# A\n\n## B\n\none\n\n## C\n\ntwo\n"
    assert [(chunk.text, chunk.section) for chunk in chunks(content)] == [(content.strip(), "A")]


@pytest.mark.parametrize("splitter", ["fixed", "sentence"])
def test_every_splitter_names_the_section(splitter: SplitterName) -> None:
    content = f"# A\n\n{SENTENCE * 3}\n\n# B\n\n{SENTENCE * 3}"
    sections = [chunk.section for chunk in chunks(content, 60, 0, splitter)]
    assert (sections[0], sections[-1]) == ("A", "B")


def test_plain_text_has_no_sections() -> None:
    [chunk] = split("# A\n\ntext", Splitting(), "text/plain")
    assert chunk.section == ""


# --- semantic -----------------------------------------------------------------------------------------------------


def test_a_heading_stays_with_its_text_and_long_sections_stay_apart() -> None:
    content = f"# A\n\n{SENTENCE * 4}\n\n# B\n\n{SENTENCE * 4}"
    assert [text[:3] for text in texts(content, 200)] == ["# A", "# B"]


def test_a_heading_is_never_left_alone_before_a_block_that_fills_a_chunk() -> None:
    code = "```\n" + "code line\n" * 20 + "```"
    for size in range(150, 260):
        found = texts(f"# A\n\n## B\n\n{SENTENCE * 6}\n\n## C\n\n{code}\n", size)
        assert not [text for text in found if text.splitlines()[-1].startswith("#")]


def test_a_heading_that_fills_a_chunk_does_not_shred_the_text_after_it() -> None:
    for length in range(150, 300):
        found = texts(f"# {'h' * length}\n\n{'word ' * 100}", 200)
        assert {word for text in found for word in text.split() if "h" not in word} == {"word", "#"}
        assert len(found) < 8


def test_a_small_section_joins_its_subsection_before_its_neighbour() -> None:
    content = f"# T\n\n## A\n\n{SENTENCE * 3}\n\n## B\n\nshort\n\n### B1\n\n{SENTENCE * 2}"
    assert [chunk.section for chunk in chunks(content, 200)] == ["T > A", "T > B"]


def test_paragraphs_code_and_tables_are_kept_whole_where_they_fit() -> None:
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 8
    code = "```\n" + "x = 1\n\n" * 12 + "```"
    paragraph = (SENTENCE * 3).strip()
    found = texts(f"{paragraph}\n\n{table}\n{code}\n\n{paragraph}", 130)
    assert found == [paragraph, table.strip(), code, paragraph]


def test_a_long_fence_is_cut_at_lines() -> None:
    content = "```python\n" + "".join(f"line_{number} = {number}\n" for number in range(40)) + "```"
    found = texts(content, 120)
    assert all(line in content.splitlines() for text in found for line in text.splitlines())
    assert all(len(text.splitlines()) > 2 for text in found)


def test_a_long_table_keeps_its_header_with_rows_and_its_rows_whole() -> None:
    rows = [f"| name {number} | what it means, in words. And more. |" for number in range(20)]
    content = "\n".join(["| name | meaning |", "|------|---------|", *rows])
    found = texts(f"# T\n\n{content}", 200)
    assert found[0].count("\n") > 4
    assert {line for text in found for line in text.splitlines()} == {"# T", "", *content.splitlines()}


def test_a_long_paragraph_is_cut_at_sentences_which_overlap() -> None:
    content = "".join(f"This is sentence {number:02d} of the text. " for number in range(20))
    found = texts(content, 200, 40)
    assert all(text.startswith("This is") and text.endswith("text.") for text in found)
    assert all(before[-32:] == after[:32] for before, after in pairwise(found))


def test_there_is_no_overlap_between_paragraphs() -> None:
    paragraph = (SENTENCE * 3).strip()
    assert texts(f"{paragraph}\n\n{paragraph}", 150, 60) == [paragraph, paragraph]


def test_the_last_chunk_of_a_section_is_not_a_scrap() -> None:
    paragraphs = [f"Paragraph {number} has some words in it." for number in range(10)]
    lengths = [len(text) for text in texts("\n\n".join(paragraphs), 330)]
    assert len(lengths) == 2
    assert min(lengths) > 150


def test_markup_alone_is_no_chunk() -> None:
    text = (SENTENCE * 2).strip()
    found = texts(f"/// tip\n\n{text}\n\n///\n\n---\n\n{text}\n\n***\n\n<img src='a.png'>\n\n{text}\n\n---\n", 110)
    assert all(SENTENCE.strip() in part for part in found)


def test_what_announces_the_next_block_goes_with_it() -> None:
    code = "```\n" + "a = 1\n" * 10 + "```"
    found = texts(f"{SENTENCE * 2}\n\nYou can write it like this:\n\n{code}", 130)
    assert found[1].startswith("You can write")


# --- sentence and fixed -------------------------------------------------------------------------------------------


def test_sentence_windows_hold_whole_sentences_and_repeat_the_last() -> None:
    content = "第一句话在这里说。" * 12
    found = texts(content, 50, 9, "sentence")
    assert found == ["第一句话在这里说。" * 5, "第一句话在这里说。" * 5, "第一句话在这里说。" * 4]


def test_a_sentence_longer_than_the_size_is_cut_at_a_clause() -> None:
    assert texts("很长的一句话没有句号，" * 10, 60, 0, "sentence")[0] == "很长的一句话没有句号，" * 5


def test_fixed_windows_end_at_a_word_and_overlap_by_words() -> None:
    content = " ".join(f"word{number:03d}" for number in range(60))
    found = texts(content, 60, 20, "fixed")
    words = content.split()
    assert all(word in words for text in found for word in text.split())
    assert all(set(before.split()) & set(after.split()) for before, after in pairwise(found))


def test_text_without_spaces_is_cut_at_the_size() -> None:
    assert [len(text) for text in texts("a" * 250, 100, 0, "fixed")] == [100, 100, 50]
