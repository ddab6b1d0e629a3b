"""Slides as Markdown: a slide is a page, its title a heading; text, tables and notes. Library: python-pptx (MIT)."""

import io
from collections.abc import Iterable, Iterator
from typing import Any
from zipfile import BadZipFile

from lxml.etree import LxmlError
from pptx import Presentation
from pptx.exc import PythonPptxError
from pptx.shapes.group import GroupShape

from app.errors import UnreadableDocument
from app.ingest.formats.packed import opened
from app.ingest.formats.result import Read, of_pages
from app.ingest.formats.tables import table


def read(raw: bytes, source: str) -> Read:
    """Raises UnreadableDocument."""
    with opened(raw, source):
        pass
    try:
        deck = Presentation(io.BytesIO(raw))
        slides = [_slide(slide, number) for number, slide in enumerate(deck.slides, 1)]
        title = deck.core_properties.title or ""
    except (PythonPptxError, BadZipFile, KeyError, ValueError, LxmlError, AttributeError) as e:
        raise UnreadableDocument(f"{source}: is a presentation that cannot be read: {e}") from e
    return of_pages(slides, title="" if title == "PowerPoint Presentation" else title)


def _slide(slide: Any, number: int) -> str:
    heading = slide.shapes.title
    title = " ".join(heading.text_frame.text.split()) if heading is not None and heading.has_text_frame else ""
    parts = [f"## {title or f'Slide {number}'}"]
    parts += [part for shape in _shapes(slide.shapes) if shape != heading for part in _parts(shape)]
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        parts += [f"### Notes\n\n{_clean(notes)}"] if notes else []
    return "\n\n".join(parts)


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """Of groups those within, from top to bottom and from left to right."""
    for shape in sorted(shapes, key=lambda each: (each.top or 0, each.left or 0)):
        if isinstance(shape, GroupShape):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _parts(shape: Any) -> Iterator[str]:
    if shape.has_text_frame:
        paragraphs = [(p.level, _clean(p.text)) for p in shape.text_frame.paragraphs if p.text.strip()]
        if len(paragraphs) == 1:
            yield paragraphs[0][1]
        elif paragraphs:
            yield "\n".join(f"{'  ' * level}- {' '.join(text.split())}" for level, text in paragraphs)
    elif shape.has_table:
        yield table([[cell.text for cell in row.cells] for row in shape.table.rows])


def _clean(text: str) -> str:
    return text.replace("\v", "\n").strip()
