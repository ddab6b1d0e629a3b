"""PDF as plain text, page by page. Library: pypdfium2 (Apache-2.0, BSD): the reader of Chromium."""

import re
import statistics
import threading

import pypdfium2 as pdfium
from pypdfium2 import PdfiumError, raw

from app.errors import UnreadableDocument
from app.ingest.formats.result import Read, of_pages

_PDFIUM = threading.Lock()  # the library is not thread-safe
_HYPHENATED = "\ufffe"  # PDFium writes it for a hyphen and the end of its line
_HYPHEN = re.compile(r"(?<=[a-z])[-\u00ad\u2010]\Z")
_ENDS = re.compile(r"[.!?:;。！？：；…”»)）\]]\Z")
_BEGINS = re.compile(
    r"\s*(?:[-•*‣▪·●○]|\(?\d+[.)、]|[（(][一二三四五六七八九十\d]+[)）]|[一二三四五六七八九十]+、|第[一二三四五六七八九十百\d]+[章节條条])"
)
_WIDE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_FULL_LINE = 0.75  # of the usual length: a shorter line ends a paragraph
_LIST_PAGES = 10


def read(content: bytes, source: str) -> Read:
    """The text of each page in the order of reading. Raises UnreadableDocument where no page has any.

    A page with pictures and no text is named in a warning: it needs to be recognised first.
    """
    with _PDFIUM:
        try:
            document = pdfium.PdfDocument(content)
        except PdfiumError as e:
            raise UnreadableDocument(f"{source}: {_reason(content)}") from e
        try:
            pages = [_page(document, number, source) for number in range(len(document))]
            title = str(document.get_metadata_dict().get("Title") or "")
        finally:
            document.close()
    scanned = [number for number, (text, pictures) in enumerate(pages, 1) if pictures and not text]
    if not any(text for text, _ in pages):
        what = "its pages are pictures: recognise their text first (OCR)" if scanned else "has no text"
        raise UnreadableDocument(f"{source}: {what}")
    warnings = (f"no text on {_listed(scanned)}, only pictures: recognise it first (OCR)",) if scanned else ()
    return of_pages([text for text, _ in pages], title=title, warnings=warnings)


def _reason(content: bytes) -> str:
    if pdfium.raw.FPDF_GetLastError() == raw.FPDF_ERR_PASSWORD:
        return "is protected by a password"
    return "is a PDF that cannot be read" + ("" if b"%%EOF" in content[-1024:] else ": its end is missing")


def _page(document: pdfium.PdfDocument, number: int, source: str) -> tuple[str, bool]:
    try:
        page = document[number]
        text = page.get_textpage().get_text_range()
        pictures = any(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)) if not text.strip() else False
    except PdfiumError as e:
        raise UnreadableDocument(f"{source}: page {number + 1} cannot be read") from e
    return reflowed(
        text.replace("\0", "").replace(_HYPHENATED, "-\n").replace("\r\n", "\n").replace("\r", "\n")
    ), pictures


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
