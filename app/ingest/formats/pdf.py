"""PDF as plain text, page by page. Library: pypdfium2 (Apache-2.0, BSD): the reader of Chromium."""

import re
import statistics
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import PdfiumError, raw

from app.errors import UnreadableDocument
from app.ingest.formats import ocr
from app.ingest.formats.result import Read, of_pages

_PDFIUM = threading.Lock()  # the library is not thread-safe
_HYPHENATED = "\ufffe"  # PDFium writes it for a hyphen and the end of its line
_HYPHEN = re.compile(r"(?<=[a-z])[-\u00ad\u2010]\Z")
_ENDS = re.compile(r"[.!?:;。！？：；…”»)）\]]\Z")
_BEGINS = re.compile(
    r"\s*(?:[-•*‣▪·●○]|\(?\d+[.)、]|[（(][一二三四五六七八九十\d]+[)）]|[一二三四五六七八九十]+、|第[一二三四五六七八九十百\d]+[章节條条])"
)
_WIDE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_RECOGNISE = "recognise their text first, or pip install -e '.[ocr]'"
_SCALE = 200 / 72  # dots to an inch of 72 points
_FULL_LINE = 0.75  # of the usual length: a shorter line ends a paragraph
_LIST_PAGES = 10


class Page(NamedTuple):
    """A page's text, whether it is but a picture, and how sure a recognised text is."""

    text: str
    is_picture: bool
    confidence: float = 0.0


def read(content: bytes, source: str) -> Read:
    """The text of each page in the order of reading. Raises UnreadableDocument where no page has any.

    A page with pictures and no text is recognised where the extra `ocr` is installed, and named in a warning.
    """
    with _PDFIUM:
        try:
            document = pdfium.PdfDocument(content)
        except PdfiumError as e:
            raise UnreadableDocument(f"{source}: {_reason(content)}") from e
        title = str(document.get_metadata_dict().get("Title") or "")
    try:
        pages = [_page(document, number, source) for number in range(len(document))]
    finally:
        with _PDFIUM:
            document.close()
    scanned = [number for number, page in enumerate(pages, 1) if page.is_picture and not page.text]
    if not any(page.text for page in pages):
        what = f"its pages are pictures: {_RECOGNISE}" if scanned and not ocr.is_installed() else "has no text"
        raise UnreadableDocument(f"{source}: {what}")
    return of_pages([page.text for page in pages], title=title, warnings=tuple(_warnings(pages, scanned)))


def _warnings(pages: list[Page], scanned: list[int]) -> Iterator[str]:
    if recognised := [number for number, page in enumerate(pages, 1) if page.confidence]:
        mean = statistics.mean(page.confidence for page in pages if page.confidence)
        yield f"recognised the text of {_listed(recognised)} in pictures (confidence {mean:.2f})"
    if scanned:
        yield f"no text on {_listed(scanned)}, only pictures" + ("" if ocr.is_installed() else f": {_RECOGNISE}")


def _reason(content: bytes) -> str:
    if raw.FPDF_GetLastError() == raw.FPDF_ERR_PASSWORD:
        return "is protected by a password"
    return "is a PDF that cannot be read" + ("" if b"%%EOF" in content[-1024:] else ": its end is missing")


def _page(document: pdfium.PdfDocument, number: int, source: str) -> Page:
    try:
        with _PDFIUM:
            page = document[number]
            text = page.get_textpage().get_text_range()
            is_picture = not text.strip() and any(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))
            picture = page.render(scale=_SCALE).to_numpy() if is_picture and ocr.is_installed() else None
    except PdfiumError as e:
        raise UnreadableDocument(f"{source}: page {number + 1} cannot be read") from e
    if picture is not None:
        found = ocr.recognise(picture)
        return Page(reflowed(found.text), is_picture, found.confidence)
    clean = text.replace("\0", "").replace(_HYPHENATED, "-\n").replace("\r\n", "\n").replace("\r", "\n")
    return Page(reflowed(clean), is_picture)


def reflowed(text: str) -> str:
    """Lines that the page's width ended joined again: a paragraph is one line."""
    lines = [line.strip() for line in text.split("\n")]
    lengths = [_width(line) for line in lines if line]
    usual = statistics.quantiles(lengths, n=4, method="inclusive")[-1] if len(lengths) > 1 else 0
    paragraphs: list[str] = []
    open_ended = False
    for line in lines:
        if not line:
            open_ended = False
            continue
        if open_ended and not _BEGINS.match(line):
            paragraphs[-1] = _joined(paragraphs[-1], line)
        else:
            paragraphs.append(line)
        open_ended = _width(line) >= _FULL_LINE * usual and not (_ENDS.search(line) and _width(line) < 0.9 * usual)
    return "\n\n".join(paragraphs)


def _joined(before: str, line: str) -> str:
    if _HYPHEN.search(before) and line[0].islower():
        return before[:-1] + line
    return before + line if _WIDE.match(before[-1]) and _WIDE.match(line[0]) else f"{before} {line}"


def _width(line: str) -> int:
    return len(line) + len(_WIDE.findall(line))


def _listed(numbers: list[int]) -> str:
    named = ", ".join(map(str, numbers[:_LIST_PAGES]))
    more = f" and {len(numbers) - _LIST_PAGES} more" if len(numbers) > _LIST_PAGES else ""
    return f"page{'s' if len(numbers) > 1 else ''} {named}{more}"
