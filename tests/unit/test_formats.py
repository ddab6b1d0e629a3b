"""Every format becomes the text that it holds, or is refused with what is wrong: nothing is lost in silence."""

import json
from contextlib import suppress

import pytest

from app.errors import UnreadableDocument
from app.ingest import formats, split
from app.ingest.formats import ocr, packed
from app.ingest.formats import pdf as pdf_format
from app.ingest.load import from_bytes, from_text
from app.records import Source, Splitting
from tests.made_files import archive, docx, epub, locked_zip, notebook, pdf, pptx, xlsx

LIMIT = 60_000_000
OFFICE = "application/vnd.openxmlformats-officedocument."
PAGE = """<!doctype html><html lang="zh"><head><title>手册 - Example</title><style>p {}</style></head><body>
<header><a href="/">Home</a></header><nav>Menu</nav>
<main><h1>手册</h1><p>放在<b>通风</b>处, see <a href="https://example.com/x">the guide</a>.<!-- hidden --></p>
<h2>Specs</h2><table><tr><th>型号</th><th>kW</th></tr><tr><td>SP|3</td><td>1.2<br>kW</td></tr></table>
<pre><code class="language-python">def f(x):
    return x &lt; 3


print("*_`")
</code></pre><ul><li>one<ul><li>two</li></ul></li></ul><p><img src="a.png" alt="the drum"> snake_case * 2</p></main>
<aside>Buy now</aside><footer>© Example</footer><script>alert(1)</script></body></html>"""
PAGE_TEXT = """# 手册

放在**通风**处, see the guide.

## Specs

| 型号 | kW |
| --- | --- |
| SP\\|3 | 1.2 kW |

```python
def f(x):
    return x < 3


print("*_`")
```

- one
  - two

the drum snake_case * 2"""
RST = """Title
=====

Text with ``code``, :ref:`elsewhere` and *stress*.

.. note:: Mind the lid.

.. unknown:: argument

   kept as it is

.. include:: /etc/passwd

.. code-block:: python

   def f():

       return 1

Sub
---

=====  =====
a      b
=====  =====
1      2
=====  =====
"""


@pytest.fixture(autouse=True)
def _without_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda: False)


def read(name: str, raw: bytes) -> Source:
    return from_bytes(name, raw, LIMIT)


# --- what is in a file, whole ---------------------------------------------------------------------------------------

WHOLE = {
    "page.html": (PAGE.encode(), "text/html", "手册", PAGE_TEXT),
    "page.htm": (
        PAGE.replace("<head>", '<head><meta charset="gb18030">').encode("gb18030"), "text/html", "手册", PAGE_TEXT,
    ),
    "page.xhtml": (b"<html><body><p>no main</p><nav>menu</nav></body></html>", "text/html", "page", "no main"),
    "only-nav.html": (b"<html><body><nav>all there is</nav></body></html>", "text/html", "only-nav", "all there is"),
    "two.html": (
        b"<title>Two</title><article>one</article><article>two</article>", "text/html", "Two", "one\n\ntwo",
    ),
    "manual.docx": (
        docx("手册"), f"{OFFICE}wordprocessingml.document", "手册",
        "# 第一章 Chapter\n\nThe drum turns at 60 revolutions.\n\n## Parts\n\n- drum\n- probe\n\n"
        "| 型号 | 功率 |\n| --- | --- |\n| SP\\|3 | 1.2 kW |\n\nAfter the table.",
    ),
    "deck.pptx": (
        pptx(), f"{OFFICE}presentationml.presentation", "Roasting",
        "## Roasting\n\n- first crack\n  - 196 °C\n\n### Notes\n\nWait for the sound.\n\n"
        "## Slide 2\n\n| bean | minutes |\n|---|---|\n| Sidamo | 11 |\n\nin a group",
    ),
    "prices.xlsx": (
        xlsx(), f"{OFFICE}spreadsheetml.sheet", "prices",
        "## 价目\n\n- 型号: SP-3; price: 3000; since: 2026-01-02\n- 型号: SP-15; price: 0.25; extra",
    ),
    "book.epub": (
        epub(), "application/epub+zip", "烘焙之书", "# 第一章\n\n生豆。\n\n# 第二章\n\nkept in a book\n\n熟豆。",
    ),
    "two pages.pdf": (
        pdf(["机器应放在通风处。"], ["Second page."], title="Manual"), "application/pdf", "Manual",
        "机器应放在通风处。\n\nSecond page.",
    ),
    "a.csv": ("名称;价格\n烘豆机;3000\n\n;\n\"a;\nb\";5;6\n".encode(), "text/csv", "a",
              "- 名称: 烘豆机; 价格: 3000\n- 名称: a; b; 价格: 5; 6"),
    "bom.csv": (b"\xef\xbb\xbfa,b\r\n1,2\r\n", "text/csv", "bom", "- a: 1; b: 2"),
    "gbk.csv": ("名称,说明\n机器,这是我们的一台机器，可以在家里使用。\n".encode("gbk"), "text/csv", "gbk",
                "- 名称: 机器; 说明: 这是我们的一台机器，可以在家里使用。"),
    "one.csv": (b"name\nx\ny\n", "text/csv", "one", "- name: x\n- name: y"),
    "header.csv": (b"a,b\n", "text/csv", "header", "- a; b"),
    "a.tsv": (b"a\tb\n1\t2\n", "text/tab-separated-values", "a", "- a: 1; b: 2"),
    "list.json": (
        json.dumps([{"id": 1, "t": "路径\n参数", "n": {"x": [1, 2], "y": None}}, {}, {"id": True}]).encode(),
        "application/json", "list", "- id: 1; t: 路径 参数; n.x: 1, 2\n- id: true",
    ),
    "object.json": (b'{"a": {"b": "c", "d": [{"e": 1}, {"e": 2}]}}', "application/json", "object",
                    "- a.b: c\n- a.d.e: 1\n- a.d.e: 2"),
    "word.json": (b'"just a text"', "application/json", "word", "just a text"),
    "l.jsonl": (b'{"a": 1}\n\n{"b": "x"}\n', "application/jsonl", "l", "- a: 1\n- b: x"),
    "n.ndjson": (b'["x", "y"]\n', "application/jsonl", "n", "- x, y"),
    "n.ipynb": (
        notebook(("markdown", ["# Try\n", "text"]), ("code", "print('```')"), kernelspec={"language": "R"}),
        "application/x-ipynb+json", "Try", "# Try\ntext\n\n````R\nprint('```')\n````",
    ),
    "n3.ipynb": (
        json.dumps({"worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": "Old"},
                                              {"cell_type": "code", "input": ["x = 1"]}]}]}).encode(),
        "application/x-ipynb+json", "Old", "## Old\n\n```python\nx = 1\n```",
    ),
    "r.rst": (
        RST.encode(), "text/x-rst", "Title",
        "# Title\n\nText with code, :ref:`elsewhere` and *stress*.\n\nNote\n\nMind the lid.\n\n"
        ".. unknown:: argument\n\nkept as it is\n\n.. include:: /etc/passwd\n\n"
        "```python\ndef f():\n\n    return 1\n```\n\n## Sub\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
    ),
    "a.md": (b"# T\n\ntext\n", "text/markdown", "T", "# T\n\ntext\n"),
    "a.txt": (b"# not a heading\n", "text/plain", "a", "# not a heading\n"),
    "p.md": (b"A text about %PDF- files.", "text/markdown", "p", "A text about %PDF- files."),
    "a.py": (b"# no heading\nx = 1\n", "text/x-python", "a", "# no heading\nx = 1\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_becomes_its_text(name: str) -> None:
    raw, media_type, title, text = WHOLE[name]
    found = read(name, raw)
    assert (found.media_type, found.title) == (media_type, title)
    squeezed = [line for line in found.content.split("\n") if line.strip()]
    assert squeezed == [line for line in text.split("\n") if line.strip()]
    chunks = split.split(found.content, Splitting(), found.media_type, found.pages)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(found.content.split())


@pytest.mark.parametrize("name", [name for name in WHOLE if formats.SUFFIXES["." + name.rpartition(".")[2]].binary])
def test_what_a_binary_file_is_its_content_says_whatever_its_name(name: str) -> None:
    raw, media_type, _, _ = WHOLE[name]
    for wrong in ("x.txt", "x.md", "x.pdf", "x.docx", "no suffix"):
        found = read(wrong, raw)
        assert (found.media_type, found.content) == (media_type, read(name, raw).content)


def test_a_pdf_may_begin_a_little_later() -> None:
    assert read("p.pdf", b"junk\n" + pdf(["After junk."])).content == "After junk."


# --- what is refused --------------------------------------------------------------------------------------------------

DOCX, XLSX, PDF = docx(), xlsx(), pdf(["text"])
REFUSED = {
    "empty.pdf": (b"", "is empty"),
    "text.pdf": (b"hello", "is not what its name says"),
    "cut.pdf": (PDF[: len(PDF) // 2], "is a PDF that cannot be read: its end is missing"),
    "locked.pdf": (pdf(["secret"], key="x"), "is protected by a password"),
    "scan.pdf": (pdf([], [], pictures=True), "its pages are pictures: recognise their text first"),
    "blank.pdf": (pdf([]), "has no text"),
    "empty.docx": (b"", "is empty"),
    "cut.docx": (DOCX[: len(DOCX) // 2], "is damaged or cut short"),
    "locked.docx": (locked_zip(DOCX), "is protected by a password"),
    "hollow.docx": (archive({"word/document.xml": ""}), "is a Word document that cannot be read"),
    "broken.docx": (archive({"word/document.xml": "<a><b></a>"}), "is a Word document that cannot be read"),
    "hollow.pptx": (archive({"ppt/presentation.xml": ""}), "is a presentation that cannot be read"),
    "cut.pptx": (pptx()[:5_000], "is damaged or cut short"),
    "hollow.xlsx": (archive({"xl/workbook.xml": ""}), "is a spreadsheet that cannot be read"),
    "cut.xlsx": (XLSX[:1_000], "is damaged or cut short"),
    "old.doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "is an Office file of before 2007"),
    "locked.xlsx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "is an Office file of before 2007"),
    "old.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512), "is a spreadsheet that cannot be read"),
    "hollow.epub": (epub(container=""), "is no book"),
    "torn.epub": (epub(book="<package>"), "is a book that cannot be read"),
    "bare.epub": (epub(one="", two=""), "has no text"),
    "a.zip": (archive({"a.md": "# A"}), "is an archive within another"),
    "a.md": (b"\x1f\x8b\x08\x00rest", "is a compressed file"),
    "photo.txt": (b"\x89PNG\r\n\x1a\n", "is a picture"),
    "photo.docx": (b"\xff\xd8\xff\xe0rest", "is a picture"),
    "letter.txt": (b"{\\rtf1 hello}", "is RTF"),
    "tool.txt": (b"\x7fELF\x02", "is a program"),
    "a.xyz": (b"text", "files of type '.xyz' are not read"),
    "README": (b"text", "files of type 'none' are not read"),
    "a.json": (b'{"a": 1,\n "b" 2}', "a.json:2: is not JSON"),
    "deep.json": (b"[" * 100_000, "is not JSON that can be read"),
    "empty.json": (b"[]", "has no text"),
    "a.jsonl": (b'{"a": 1}\n{"b"\n', "a.jsonl:2: is not JSON"),
    "a.ipynb": (b'{"a": 1}', "is no notebook: it has no cells"),
    "b.ipynb": (b"# not JSON", "is no notebook: not JSON"),
    "empty.csv": (b"\n\n", "has no text"),
    "wide.csv": (b"a,b\n" + b"x" * 11_000_000 + b",1\n", "wide.csv:2: field larger"),
    "empty.html": (b"<html><body><script>x</script></body></html>", "has no text"),
    "deep.html": (b"<div>" * 100_000 + b"x", "is nested too deeply"),
    "nul.txt": (b"a\0b", "contains NUL at character 1"),
    "zero.txt": (b"", "has no text"),
    "cyrillic.html": ("Все люди рождаются свободными.".encode("cp1251"), "is not UTF-8"),
    "zero.md": (b"", "has no text"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_yields_no_text_is_refused_with_what_is_wrong(name: str) -> None:
    raw, reason = REFUSED[name]
    with pytest.raises(UnreadableDocument) as refused:
        read(name, raw)
    assert str(refused.value).startswith(name)
    assert reason in str(refused.value)


def test_the_corpus_is_as_large_as_was_asked_for() -> None:
    assert len(WHOLE) + len(REFUSED) >= 60


def test_an_archive_that_would_explode_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = archive({"word/document.xml": b"0" * 50_000_000})
    with pytest.raises(UnreadableDocument, match="looks like a trap"):
        read("bomb.docx", bomb)
    monkeypatch.setattr(packed, "UNPACKED_MAX_BYTES", 1_000)
    with pytest.raises(UnreadableDocument, match="looks like a trap"):
        read("large.docx", DOCX)


def test_entities_are_not_resolved() -> None:
    entity = '<!DOCTYPE package [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    book = entity + '<package xmlns="http://www.idpf.org/2007/opf"><spine>&x;</spine></package>'
    with pytest.raises(UnreadableDocument, match="has no text"):
        read("a.epub", epub(book=book))


@pytest.mark.parametrize("name", ["two pages.pdf", "manual.docx", "deck.pptx", "prices.xlsx", "book.epub"])
def test_a_file_cut_anywhere_is_refused_or_read_and_nothing_else_is_raised(name: str) -> None:
    raw = WHOLE[name][0]
    for end in range(0, len(raw), max(1, len(raw) // 40)):
        with suppress(UnreadableDocument):
            assert read(name, raw[:end]).content


# --- pages, warnings, words ------------------------------------------------------------------------------------------


def test_chunks_know_their_page_and_line() -> None:
    found = read("m.pdf", pdf(*([f"{n} is the number of this page, which is long enough."] for n in range(1, 5))))
    chunks = split.split(found.content, Splitting("sentence", 60, 0), found.media_type, found.pages)
    assert [(chunk.page, chunk.line) for chunk in chunks] == [(1, 1), (2, 3), (3, 5), (4, 7)]
    assert [int(chunk.text[0]) for chunk in chunks] == [1, 2, 3, 4]
    assert {chunk.page for chunk in split.split("a text", Splitting(), "text/plain")} == {None}


def test_a_scanned_page_among_others_is_named() -> None:
    found = read("m.pdf", pdf(["Text."], [], ["More."], [], pictures=True))
    assert found.content == "Text.\n\n\n\nMore.\n\n"
    assert found.warnings == (f"no text on pages 2, 4, only pictures: {pdf_format._RECOGNISE}",)
    assert found.pages == (0, 7, 9, 16)


def test_chapters_that_a_book_lacks_are_named() -> None:
    found = read("b.epub", epub(two=""))
    assert found.warnings == ("lacks OEBPS/two.xhtml",)


def test_lines_that_only_the_width_of_a_page_ended_are_joined() -> None:
    lines = [
        "The roaster must stand on a level floor with at least thirty centi-",
        "metres of free space, and its exhaust duct has to be cleaned every two",
        "weeks.",
        "机器应放在通风处，周围保持三十厘米的距离，排气管每十四天由人清洁",
        "一次。",
        "1. The first step takes place before the drum is warm, by one person",
        "2. The second.",
    ]
    assert read("m.pdf", pdf(lines)).content.split("\n\n") == [
        "The roaster must stand on a level floor with at least thirty centimetres of free space, and its exhaust duct "
        "has to be cleaned every two weeks.",
        "机器应放在通风处，周围保持三十厘米的距离，排气管每十四天由人清洁一次。",
        "1. The first step takes place before the drum is warm, by one person",
        "2. The second.",
    ]


@pytest.mark.parametrize(
    ("media_type", "text", "content"),
    [
        ("text/html; charset=utf-8", PAGE, PAGE_TEXT),
        ("text/csv", "a,b\n1,2", "- a: 1; b: 2"),
        ("application/json", '{"a": 1}', "- a: 1"),
        ("text/x-rst", "T\n=\n\nx", "# T\n\nx"),
    ],
)
def test_text_of_a_format_is_read_as_a_file_of_it_is(media_type: str, text: str, content: str) -> None:
    found = from_text("name", text, None, media_type, {})
    assert found.content == content
    assert found.media_type == media_type.partition(";")[0]


def test_every_format_names_a_reader_that_is_there() -> None:

    for made in formats.FORMATS:
        assert callable(formats._reader(made))
    suffixes = [suffix for made in formats.FORMATS for suffix in made.suffixes]
    assert len(suffixes) == len(set(suffixes))
