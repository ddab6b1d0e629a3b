"""HTML as Markdown: the main content, with its headings, lists, tables and code. Library: markdownify (MIT)."""

import re
from typing import Any

from bs4 import BeautifulSoup, Comment, Tag
from bs4.dammit import EncodingDetector
from markdownify import MarkdownConverter

from app.errors import UnreadableDocument
from app.ingest.formats.result import Read
from app.ingest.formats.tables import cell

_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "object", "link", "meta", "title", "dialog"]
_AROUND = [  # what stands around the content of a page
    *("nav", "footer", "aside", "form", "button", "[role=navigation]", "[role=banner]", "[role=contentinfo]"),
    *("[role=search]", "body > header", "[hidden]", "[aria-hidden=true]"),
]
_MAIN = ["main", "[role=main]"]
_LANGUAGE = re.compile(r"(?:language-|lang-|highlight-source-|\bcode )([\w+#-]+)")
_COLUMNS_MAX = 1_000


def read(text: str, source: str, *, whole: bool = False) -> Read:
    """The main content of a page, or all of it where nothing says which part is. Raises UnreadableDocument.

    `whole`: a part of a book, not a page with menus around it.
    """
    try:
        return _read(BeautifulSoup(text, "lxml"), whole=whole)
    except RecursionError as e:
        raise UnreadableDocument(f"{source}: is nested too deeply") from e


def _read(page: BeautifulSoup, *, whole: bool) -> Read:
    title = page.title.get_text(" ", strip=True) if page.title else ""
    for unseen in [*page.find_all(_UNSEEN), *page.find_all(string=lambda each: isinstance(each, Comment))]:
        unseen.extract()
    everything = _markdown(page)
    if whole:
        return Read(everything, title)
    for around in page.select(", ".join(_AROUND)):
        around.extract()
    mains = page.select(", ".join(_MAIN)) or page.select("article")
    main = mains[0] if len(mains) == 1 else page
    headings = main.find_all("h1")
    title = headings[0].get_text(" ", strip=True) if len(headings) == 1 else title  # without the name of the site
    return Read(_markdown(main) or everything, title)


def _markdown(part: Tag) -> str:
    made: str = _Converter(
        heading_style="ATX",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        code_language_callback=_language,
        table_infer_header=True,
    ).convert_soup(part)
    return "\n".join(line.rstrip() for line in made.split("\n")).strip()


def _language(element: Tag) -> str:
    """Of a code block, as highlighters write it into a class."""
    tags = [element, *element.find_all("code"), *([element.parent] if element.parent else [])]
    classes = " ".join(str(name) for tag in tags for name in tag.get_attribute_list("class") if name)
    found = _LANGUAGE.search(classes)
    return found[1] if found else ""


def declared(raw: bytes) -> str | None:
    """The encoding that a page names at its head."""
    return EncodingDetector.find_declared_encoding(raw, is_html=True)


class _Converter(MarkdownConverter):
    """Links as their text and images as what they show: addresses are noise to a search."""

    def convert_a(self, _element: Tag, text: str, **_: Any) -> str:
        return text

    def convert_img(self, element: Tag, _text: str, **_: Any) -> str:
        return str(element.get("alt") or "").strip()

    def convert_td(self, element: Tag, text: str, **_: Any) -> str:
        columns = str(element.get("colspan", "1"))
        return f" {cell(text)} " + "|" * (min(int(columns), _COLUMNS_MAX) if columns.isdecimal() else 1)

    convert_th = convert_td
