"""Markdown read as blocks: headings, prose, lines that belong together (lists, tables), code. Nothing is left out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from app.ingest.split.text import Range, has_words, trim

Kind = Literal["heading", "prose", "lines", "code"]


class Block(NamedTuple):
    """A trimmed range of the content; blocks ascend and only white space lies between them."""

    kind: Kind
    start: int
    end: int
    level: int = 0  # of a heading, 1 to 6
    label: str = ""  # of a heading, as written


_LIST_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")
_ATX = re.compile(r"(#{1,6})(?=[ \t\u3000]|\Z)")
_SETEXT = re.compile(r"=+\Z|-+\Z")
_FRONT_MATTER_KEY = re.compile(r"[\w\"'][\w .\"'-]*:(?:\s|\Z)")
_FRONT_MATTER_LINE = re.compile(r"\s|-\s|#|[\])}]|\Z")
_FRONT_MATTER_CHARS = 20_000


def lines(content: str, start: int, end: int) -> Iterator[Range]:
    """The lines of [start, end), each with its line feed."""
    while start < end:
        stop = content.find("\n", start, end) + 1 or end
        yield start, stop
        start = stop


def front_matter(content: str) -> tuple[Range, int] | None:
    """The range of the metadata between `---` lines that open a Markdown file, and where its text begins.

    Known by its shape alone: a first line `key: ...`, then keys, list items, indented lines and comments only.
    Anything else, or one that is never closed, is text.
    """
    rows = lines(content, 0, len(content))
    opening = next(rows, (0, 0))
    if content[: opening[1]].rstrip() != "---":
        return None
    for number, (start, stop) in enumerate(rows):
        line = content[start:stop].rstrip()
        if line in ("---", "...") and number > 0:
            return (opening[1], start), stop
        if stop > _FRONT_MATTER_CHARS:
            return None
        if not _FRONT_MATTER_KEY.match(line) and (number == 0 or not _FRONT_MATTER_LINE.match(line)):
            return None
    return None


def read_blocks(content: str, start: int = 0, *, markdown: bool = True) -> Iterator[Block]:
    """The blocks of content[start:]. Plain text has paragraphs only."""
    reader = _Reader(content)
    for line_start, line_end in lines(content, start, len(content)):
        stripped = content[line_start:line_end].strip()
        if not markdown:
            yield from reader.read_plain(line_start, line_end, stripped)
        elif reader.fence:
            yield from reader.read_code(line_end, stripped)
        else:
            yield from reader.read_line(line_start, line_end, stripped)
    yield from reader.flush()


@dataclass(slots=True)
class _Reader:
    """One pass over the lines; holds the block that is still open."""

    content: str
    start: int = 0
    end: int = 0
    rows: int = 0
    kind: Kind = "prose"
    fence: str = ""

    def read_plain(self, start: int, end: int, stripped: str) -> Iterator[Block]:
        if stripped:
            self.extend(start, end, "prose")
        else:
            yield from self.flush()

    def read_code(self, end: int, stripped: str) -> Iterator[Block]:
        self.end = end
        if stripped.startswith(self.fence) and not stripped.strip(self.fence[0]):
            yield from self.flush()

    def read_line(self, start: int, end: int, stripped: str) -> Iterator[Block]:
        if not stripped:
            yield from self.flush()
        elif fence := _opening_fence(stripped):
            yield from self.flush()
            self.extend(start, end, "code")
            self.fence = fence
        elif (hashes := _ATX.match(stripped)) and _indent(self.content, start) < 4:
            yield from self.flush()
            yield self.heading(start, end, len(hashes[1]), _atx_label(stripped))
        elif self.rows == 1 and self.kind == "prose" and _SETEXT.match(stripped) and self.opens_setext():
            label = self.content[self.start : self.end].strip()
            yield self.heading(self.start, end, 1 if stripped[0] == "=" else 2, label)
            self.rows = 0
        else:
            kind = _line_kind(stripped)
            if kind == "lines" and self.kind == "prose":
                yield from self.flush()
            self.extend(start, end, kind)

    def opens_setext(self) -> bool:
        return _indent(self.content, self.start) < 4 and has_words(self.content, self.start, self.end)

    def heading(self, start: int, end: int, level: int, label: str) -> Block:
        return Block("heading", *trim(self.content, start, end), level, label)

    def extend(self, start: int, end: int, kind: Kind) -> None:
        if not self.rows:
            self.start, self.kind = start, kind
        self.end = end
        self.rows += 1

    def flush(self) -> Iterator[Block]:
        if self.rows:
            yield Block(self.kind, *trim(self.content, self.start, self.end))
        self.rows, self.fence = 0, ""


def _opening_fence(stripped: str) -> str:
    """The backticks or tildes that open a fence on this line, also as the first thing of a list item."""
    item = _LIST_ITEM.match(stripped)
    rest = stripped[item.end() :] if item else stripped
    if not rest.startswith(("```", "~~~")):
        return ""
    length = len(rest) - len(rest.lstrip(rest[0]))
    return "" if rest[0] == "`" and "`" in rest[length:] else rest[:length]


def _indent(content: str, start: int) -> int:
    """Columns of white space before the line's first character; a tab counts as four."""
    columns = 0
    while start < len(content) and content[start] in " \t":
        columns += 4 if content[start] == "\t" else 1
        start += 1
    return columns


def _line_kind(stripped: str) -> Kind:
    return "lines" if stripped[0] == "|" or _LIST_ITEM.match(stripped) else "prose"


def _atx_label(stripped: str) -> str:
    label = stripped.lstrip("#").strip()
    closed = label.rstrip("#")
    return closed.rstrip() if not closed or closed[-1].isspace() else label
