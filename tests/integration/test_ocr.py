"""Scanned pages are recognised where the extra `ocr` is installed, and it is said with which confidence."""

import pytest

from app.errors import UnreadableDocument
from app.ingest.formats import ocr
from app.ingest.load import from_bytes
from tests import made_files

pytestmark = pytest.mark.skipif(not ocr.is_installed(), reason="needs rapidocr: make test-st")
FIRST = ["Roaster manual, page 7", "The drum turns at 60 revolutions.", "Error E-1042: call service."]
SECOND = ["The second page tells of 230 V.", "It has two lines."]


def test_the_text_of_a_scanned_page_is_read_line_by_line() -> None:
    found = from_bytes("scan.pdf", made_files.scanned(FIRST, SECOND), 10**8)
    assert found.content.split() == " ".join([*FIRST, *SECOND]).split()
    assert found.pages == (0, found.content.index(SECOND[0]))
    [warning] = found.warnings
    assert warning.startswith("recognised the text of pages 1, 2 in pictures (confidence ")


def test_a_picture_without_text_is_named() -> None:
    with pytest.raises(UnreadableDocument, match=r"scan\.pdf: has no text"):
        from_bytes("scan.pdf", made_files.pdf([], pictures=True), 10**8)
