"""Files of every format, made by the libraries that people make them with."""

import io
import json
import zipfile
from datetime import datetime
from typing import Any

import pypdfium2
import xlsxwriter
from docx import Document
from PIL import Image
from pptx import Presentation
from pptx.util import Inches
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

CJK_FONT = "STSong-Light"
pdfmetrics.registerFont(UnicodeCIDFont(CJK_FONT))


def pdf(*pages: list[str], title: str = "", key: str = "", pictures: bool = False, font: str = CJK_FONT) -> bytes:
    """Lines by page; with `pictures` a page without lines is one picture, as a scanner makes it."""
    made = io.BytesIO()
    canvas = Canvas(made, encrypt=StandardEncryption(key) if key else None)
    canvas.setTitle(title or "")
    for lines in pages:
        canvas.setFont(font, 11)
        for n, line in enumerate(lines):
            canvas.drawString(60, 780 - 16 * n, line)
        if pictures and not lines:
            canvas.drawInlineImage(Image.new("RGB", (40, 40), "white"), 60, 600)
        canvas.showPage()
    canvas.save()
    return made.getvalue()


def scanned(*pages: list[str]) -> bytes:
    """The same as pictures of the pages, as a scanner makes them."""
    made = io.BytesIO()
    canvas = Canvas(made)
    for lines in pages:
        picture = pypdfium2.PdfDocument(pdf(lines, font="Helvetica"))[0].render(scale=200 / 72).to_pil()
        canvas.drawInlineImage(picture, 0, 0, 595, 842)
        canvas.showPage()
    canvas.save()
    return made.getvalue()


def docx(title: str = "") -> bytes:
    document = Document()
    document.core_properties.title = title
    document.add_heading("第一章 Chapter", 1)
    document.add_paragraph("The drum turns at 60 revolutions.")
    document.add_heading("Parts", 2)
    for item in ("drum", "probe"):
        document.add_paragraph(item, style="List Bullet")
    table = document.add_table(2, 2)
    for n, text in enumerate(("型号", "功率", "SP|3", "1.2 kW")):
        table.cell(n // 2, n % 2).text = text
    document.add_paragraph("After the table.")
    return _saved(document)


def pptx() -> bytes:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Roasting"
    frame = slide.placeholders[1].text_frame
    frame.text = "first crack"
    below = frame.add_paragraph()
    below.text, below.level = "196 °C", 1
    slide.notes_slide.notes_text_frame.text = "Wait for the sound."
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(3), Inches(1)).table
    for n, text in enumerate(("bean", "minutes", "Sidamo", "11")):
        table.cell(n // 2, n % 2).text = text
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(4), Inches(2), Inches(1)).text_frame.text = "in a group"
    return _saved(deck)


def xlsx() -> bytes:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        sheet = book.add_worksheet("价目")
        sheet.write_row(0, 0, ["型号", "price", "since"])
        sheet.write_row(1, 0, ["SP-3", 3000.0])
        sheet.write_datetime(1, 2, datetime(2026, 1, 2), book.add_format({"num_format": "yyyy-mm-dd"}))
        sheet.write_row(3, 0, ["SP-15", 0.25, "", "extra"])
        book.add_worksheet("empty")
    return made.getvalue()


def epub(**changes: str) -> bytes:
    """`changes` by name of part, without its ending; an empty one is left out."""
    parts = {
        "mimetype": "application/epub+zip",
        "container": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        "book": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        '<dc:title>烘焙之书</dc:title></metadata><manifest><item id="b" href="two.xhtml"/>'
        '<item id="a" href="one%201.xhtml"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
        "one": "<html><body><h1>第一章</h1><p>生豆。</p></body></html>",
        "two": "<html><body><h1>第二章</h1><nav>kept in a book</nav><p>熟豆。</p></body></html>",
    } | changes
    places = {
        "mimetype": "mimetype",
        "container": "META-INF/container.xml",
        "book": "OEBPS/book.opf",
        "one": "OEBPS/one 1.xhtml",
        "two": "OEBPS/two.xhtml",
    }
    return archive({places[name]: text for name, text in parts.items() if text})


def archive(files: dict[str, str | bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in files.items():
            package.writestr(name, content)
    return made.getvalue()


def notebook(*cells: tuple[str, Any], **metadata: Any) -> bytes:
    made = [{"cell_type": kind, "source": source, "outputs": [{"text": "printed"}]} for kind, source in cells]
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4}).encode()


def locked_zip(raw: bytes) -> bytes:
    """The same archive with every member marked as encrypted."""
    made = bytearray(raw)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = made.find(signature)
        while place >= 0:
            made[place + offset] |= 1
            place = made.find(signature, place + 4)
    return bytes(made)


def _saved(made: Any) -> bytes:
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()
