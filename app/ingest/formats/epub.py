"""Books as Markdown: the chapters in the order of reading."""

import posixpath
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from lxml import etree

from app.errors import UnreadableDocument
from app.ingest.decode import decode
from app.ingest.formats import web
from app.ingest.formats.packed import opened
from app.ingest.formats.parts import xml
from app.ingest.formats.result import Read

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_OPF = "{http://www.idpf.org/2007/opf}"
_TITLE = ".//{http://purl.org/dc/elements/1.1/}title"


def read(raw: bytes, source: str) -> Read:
    """EPUB 2 and 3. Raises UnreadableDocument; chapters that a book lists and lacks are named in a warning."""
    with opened(raw, source) as package:
        try:
            return _read(package, source)
        except (etree.XMLSyntaxError, BadZipFile, NotImplementedError) as e:
            raise UnreadableDocument(f"{source}: is a book that cannot be read: {e}") from e


def _read(package: ZipFile, source: str) -> Read:
    container = xml(package, "META-INF/container.xml")
    place = container.find(f".//{_CONTAINER}rootfile") if container is not None else None
    path = place.get("full-path", "") if place is not None else ""
    book = xml(package, path)
    if book is None:
        raise UnreadableDocument(f"{source}: is no book: it names no contents")
    files = {item.get("id"): item.get("href", "") for item in book.iter(f"{_OPF}item")}
    chapters, missing = [], []
    for reference in book.iter(f"{_OPF}itemref"):
        name = posixpath.normpath(
            posixpath.join(posixpath.dirname(path), unquote(files.get(reference.get("idref"), "")))
        )
        try:
            raw = package.read(name)
            text = decode(raw, f"{source}/{name}", web.declared(raw)).text
            chapters.append(web.read(text, source, whole=True).text)
        except KeyError:
            missing.append(name)
    warnings = (f"lacks {', '.join(missing)}",) if missing else ()
    return Read("\n\n".join(filter(None, chapters)), (book.findtext(_TITLE) or "").strip(), warnings=warnings)
