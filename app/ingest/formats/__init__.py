"""What files are, and which reader makes text of each: told by content as well as by name.

A reader is `read(content, source)` in a module of this package, imported at its first use; content is bytes of a binary
format and else text. All make Markdown but those of `PLAIN`.
"""

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple, cast

from app.errors import UnreadableDocument
from app.ingest.decode import decode
from app.ingest.formats.packed import opened
from app.ingest.formats.result import Read

_OFFICE = "application/vnd.openxmlformats-officedocument."


class Format(NamedTuple):
    """A kind of file. `binary`: its content says what it is, and must."""

    media_type: str
    suffixes: tuple[str, ...]
    reader: str  # module, or module:function
    binary: bool = False


MARKDOWN = Format("text/markdown", (".md", ".markdown"), "text")
TEXT = Format("text/plain", (".txt", ".text"), "text")
PDF = Format("application/pdf", (".pdf",), "pdf", binary=True)
DOCX = Format(f"{_OFFICE}wordprocessingml.document", (".docx", ".docm"), "docx", binary=True)
PPTX = Format(f"{_OFFICE}presentationml.presentation", (".pptx", ".pptm"), "pptx", binary=True)
XLSX = Format(f"{_OFFICE}spreadsheetml.sheet", (".xlsx", ".xlsm"), "sheets", binary=True)
XLS = Format("application/vnd.ms-excel", (".xls",), "sheets", binary=True)
ODS = Format("application/vnd.oasis.opendocument.spreadsheet", (".ods",), "sheets", binary=True)
EPUB = Format("application/epub+zip", (".epub",), "epub", binary=True)
HTML = Format("text/html", (".html", ".htm", ".xhtml"), "web")
DOCUMENTS = (
    *(MARKDOWN, TEXT, PDF, DOCX, PPTX, XLSX, XLS, ODS, EPUB, HTML),
    Format("text/x-rst", (".rst",), "rst"),
    Format("text/csv", (".csv",), "csv_rows"),
    Format("text/tab-separated-values", (".tsv",), "csv_rows"),
    Format("application/json", (".json",), "json_rows"),
    Format("application/jsonl", (".jsonl", ".ndjson"), "json_rows:read_lines"),
    Format("application/x-ipynb+json", (".ipynb",), "notebook"),
)
CODE = (
    Format("text/x-python", (".py", ".pyi"), "text"),
    Format("text/javascript", (".js", ".mjs", ".cjs", ".jsx"), "text"),
    Format("text/x-typescript", (".ts", ".tsx", ".mts"), "text"),
    Format("text/x-java", (".java",), "text"),
    Format("text/x-go", (".go",), "text"),
    Format("text/x-rust", (".rs",), "text"),
    Format("text/x-c", (".c", ".h"), "text"),
    Format("text/x-c++", (".cc", ".cpp", ".cxx", ".hh", ".hpp"), "text"),
    Format("text/x-csharp", (".cs",), "text"),
    Format("text/x-ruby", (".rb",), "text"),
    Format("text/x-php", (".php",), "text"),
    Format("text/x-sh", (".sh", ".bash"), "text"),
)
FORMATS = (*DOCUMENTS, *CODE)
SUFFIXES = {suffix: made for made in FORMATS for suffix in made.suffixes}
BY_MEDIA_TYPE = {made.media_type: made for made in FORMATS}
PLAIN = frozenset(made.media_type for made in (TEXT, PDF, *CODE))

_PDF, _PDF_MAY_BEGIN = b"%PDF-", 1_024
_ZIP, _COMPOUND = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_WITHIN_ZIP = {
    "word/document.xml": DOCX,
    "ppt/presentation.xml": PPTX,
    "xl/workbook.xml": XLSX,
    "xl/workbook.bin": XLSX,
}
_OTHERS = {  # what is recognised in order to say what it is
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x1f\x8b": "a compressed file",
    b"7z\xbc\xaf": "an archive",
    b"Rar!": "an archive",
    b"\x7fELF": "a program",
    b"MZ\x90": "a program",
    b"{\\rtf": "RTF: save it as .docx",
}


def known(name: str) -> Format | None:
    """The format that a name ends like."""
    return SUFFIXES.get(PurePosixPath(name).suffix.lower())


def read(raw: bytes, source: str) -> tuple[Format, Read]:
    """A file's format and text. Raises UnreadableDocument with what it is, or with what is wrong in it."""
    if told := _by_content(raw, source):
        return told, _reader(told)(raw, source)
    found = _by_name(source)
    if found.binary:
        raise UnreadableDocument(f"{source}: {'is not what its name says' if raw else 'is empty'}")
    declared = _module(HTML.reader).declared(raw) if found is HTML else None
    decoded = decode(raw, source, declared)
    made = _reader(found)(decoded.text.removeprefix("\ufeff"), source)
    return found, replace(made, warnings=decoded.warnings + made.warnings)


def read_text(text: str, media_type: str, source: str) -> Read:
    """What a format of text makes of a text. Raises UnreadableDocument for what is no such format, or is broken."""
    found = BY_MEDIA_TYPE.get(media_type)
    if found is None or found.binary:
        texts = " ".join(made.media_type for made in FORMATS if not made.binary)
        raise UnreadableDocument(f"{source}: text of type {media_type!r} is not read, only {texts}")
    return _reader(found)(text, source)


def _reader(of: Format) -> Callable[[Any, str], Read]:
    module, _, function = of.reader.partition(":")
    return cast("Callable[[Any, str], Read]", getattr(_module(module), function or "read"))


def _module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")


def _by_name(source: str) -> Format:
    if found := known(source):
        return found
    suffix = PurePosixPath(source).suffix
    raise UnreadableDocument(f"{source}: files of type {suffix or 'none'!r} are not read, only {' '.join(SUFFIXES)}")


def _by_content(raw: bytes, source: str) -> Format | None:
    """What a file is whatever its name, None where only the name can tell. Raises UnreadableDocument for the rest."""
    if raw.startswith(_PDF) or (_PDF in raw[:_PDF_MAY_BEGIN] and known(source) in (PDF, None)):
        return PDF
    if raw.startswith(_COMPOUND):
        if known(source) == XLS:
            return XLS
        raise UnreadableDocument(f"{source}: is an Office file of before 2007, or one with a password: save it anew")
    if raw.startswith(_ZIP):
        if found := in_zip(raw, source):
            return found
        raise UnreadableDocument(f"{source}: is an archive within another")
    for signature, what in _OTHERS.items():
        if raw.startswith(signature):
            raise UnreadableDocument(f"{source}: is {what}")
    return None


def in_zip(raw: bytes, source: str) -> Format | None:
    """What a zip archive is, None where it is but an archive. Raises UnreadableDocument where it cannot be read."""
    with opened(raw, source) as package:
        names = frozenset(package.namelist())
        kind = package.read("mimetype")[:100].strip().decode("ascii", "replace") if "mimetype" in names else ""
    return BY_MEDIA_TYPE.get(kind) or next((made for part, made in _WITHIN_ZIP.items() if part in names), None)
