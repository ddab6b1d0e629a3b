"""Word documents as Markdown: headings, lists, tables in place, footnotes. Library: mammoth (BSD-2), by way of HTML."""

import io
from xml.parsers.expat import ExpatError
from zipfile import BadZipFile

import mammoth
from lxml.etree import LxmlError

from app.errors import UnreadableDocument
from app.ingest.formats import web
from app.ingest.formats.packed import opened
from app.ingest.formats.parts import core_title
from app.ingest.formats.result import Read


def read(raw: bytes, source: str) -> Read:
    """Raises UnreadableDocument."""
    with opened(raw, source) as package:
        title = core_title(package)
    try:
        made = mammoth.convert_to_html(io.BytesIO(raw), convert_image=mammoth.images.img_element(lambda _: {}))
    except (BadZipFile, ExpatError, KeyError, ValueError, LxmlError, AttributeError, IndexError, OSError) as e:
        raise UnreadableDocument(f"{source}: is a Word document that cannot be read: {e}") from e
    return Read(web.read(made.value, source, whole=True).text, title)
