"""Chunks that follow the document: a heading with its text, paragraphs, lists, tables and code kept whole.

Blocks of a section are packed up to the size. A block too long for that falls to its sentences or lines, a sentence
or line too long to pieces. Only there do chunks overlap, by whole sentences: elsewhere the cut is between thoughts.
Small sections are joined to what follows under the same parent. The rest of a table that was cut has no header:
a chunk is exactly what stands in the document.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from app.ingest.split.blocks import Block, lines
from app.ingest.split.fixed import windows
from app.ingest.split.headings import Outline, Path, common
from app.ingest.split.sentences import sentences
from app.ingest.split.text import Range, attach_markup, has_words, trim

_SMALL = 4  # a section under 1/4 of the size is joined to its neighbour where both fit
_TINY = 8  # an open chunk under 1/8 of the size takes a part of the next block rather than stand alone
_LEAD_CHARS = 200
_OPENER = re.compile(r"(?:/{3,}|:{3,}|!!!|\?\?\?\+?)[ \t]*\w")


class Unit(NamedTuple):
    """What is packed: a block, or a part of one. `leads`: belongs to what follows it."""

    kind: Literal["heading", "prose", "lines", "code", "sentence", "line", "piece"]
    start: int
    end: int
    block: int = -1  # where the sentence's block starts
    leads: bool = False


Units = list[Unit]


def windows_of_sections(
    content: str, sections: Iterable[Units], outline: Outline, size: int, overlap: int
) -> list[Range]:
    """Pack each section's blocks into ranges of at most `size` characters, then join the small ones."""
    packed = [
        (units[0].start, units[-1].end)
        for section in sections
        for units in _balanced(_pack(content, section, size, overlap), size)
    ]
    return _join_small(packed, outline, size)


def sections_of_code(groups: Iterable[Iterable[Block]]) -> Iterator[Units]:
    """Each group of blocks."""
    return ([Unit(block.kind, block.start, block.end, block.start) for block in group] for group in groups)


def sections(content: str, blocks: Iterable[Block]) -> Iterator[Units]:
    """Each heading, or run of headings, with the blocks under it. Blocks of markup only are part of the one before."""
    section: Units = []
    for block in blocks:
        if block.kind == "heading" and section and section[-1].kind != "heading":
            yield section
            section = []
        if section and section[-1].kind != "heading" and not has_words(content, block.start, block.end):
            section[-1] = section[-1]._replace(end=block.end, leads=False)
        else:
            section.append(Unit(block.kind, block.start, block.end, block.start, _leads(content, block)))
    if section:
        yield section


def _leads(content: str, block: Block) -> bool:
    if block.kind == "heading" or not has_words(content, block.start, block.end):
        return True
    if block.kind != "prose" or block.end - block.start > _LEAD_CHARS:
        return False
    return content[block.end - 1] in ":：" or _OPENER.match(content, block.start, block.end) is not None


def _pack(content: str, section: Units, size: int, overlap: int) -> Iterator[Units]:
    """Fill chunks greedily; what leads goes with what it leads to."""
    waiting = deque(section)
    chunk: Units = []
    while waiting:
        unit = waiting.popleft()
        room = size - (unit.start - chunk[0].start if chunk else 0)
        if unit.end - unit.start <= room:
            chunk.append(unit)
            continue
        if unit.end - unit.start > size or _is_tiny(chunk, size):
            parts = _parts(content, unit, room if room >= size // _SMALL else size)
            if len(parts) > 1:
                waiting.extendleft(reversed(parts))
                continue
        waiting.appendleft(unit)
        kept = _cut_before_leads(chunk)
        waiting.extendleft(reversed(chunk[kept:]))
        yield chunk[:kept]
        chunk = _repeated(chunk[:kept], waiting[0], size, overlap)
    if chunk:
        yield chunk


def _is_tiny(chunk: Units, size: int) -> bool:
    return bool(chunk) and (chunk[-1].end - chunk[0].start < size // _TINY or all(unit.leads for unit in chunk))


def _parts(content: str, unit: Unit, room: int) -> Units:
    """The next smaller parts of a unit: sentences or lines, then pieces of at most `room` characters."""
    if unit.kind == "prose":
        found = sentences(content, unit.start, unit.end)
        if len(found) > 1:
            return [Unit("sentence", *part, unit.block) for part in found]
    elif unit.kind in ("lines", "code"):
        rows = [trim(content, *row) for row in lines(content, unit.start, unit.end)]
        found = attach_markup(content, [row for row in rows if row[0] < row[1]])
        if len(found) > 1:
            return [Unit("line", *part, leads=number < _header(content, unit)) for number, part in enumerate(found)]
    return [Unit("piece", *part) for part in windows(content, unit.start, unit.end, room, 0)]


def _header(content: str, unit: Unit) -> int:
    """How many of the first lines belong to the next: the header of a table, the opening of a fence."""
    return 1 if unit.kind == "code" or content[unit.start] == "|" else 0


def _cut_before_leads(chunk: Units) -> int:
    """How many units stay in the chunk: what leads at its end goes to the next one, if something is left."""
    kept = len(chunk)
    while kept > 1 and chunk[kept - 1].leads:
        kept -= 1
    return len(chunk) if kept == 1 and chunk[0].leads else kept


def _repeated(chunk: Units, following: Unit, size: int, overlap: int) -> Units:
    """The last sentences of the chunk, as many as the overlap holds, where the cut falls within a paragraph."""
    kept = len(chunk)
    while (
        kept > 1
        and following.kind == "sentence" == chunk[kept - 1].kind
        and chunk[kept - 1].block == following.block
        and chunk[-1].end - chunk[kept - 1].start <= overlap
        and following.end - chunk[kept - 1].start <= size
    ):
        kept -= 1
    return chunk[kept:]


def _balanced(chunks: Iterable[Units], size: int) -> list[Units]:
    """The same chunks; where the last one is small, the last two are cut again near their middle."""
    found = list(chunks)
    if len(found) < 2 or _length(found[-1]) >= size // _SMALL:
        return found
    units = [unit for unit in found[-2] if unit.start < found[-1][0].start] + found[-1]
    reached = found[-3][-1].end if len(found) > 2 else 0  # a half of repeated sentences alone would be no chunk
    cuts = [at for at in range(1, len(units)) if not units[at - 1].leads and units[at - 1].end > reached]
    halves = [(units[:at], units[at:]) for at in cuts if max(_length(units[:at]), _length(units[at:])) <= size]
    best = min(halves, key=lambda pair: max(map(_length, pair)), default=(found[-2], found[-1]))
    return [*found[:-2], *best]


def _length(units: Units) -> int:
    return units[-1].end - units[0].start


def _join_small(ranges: list[Range], outline: Outline, size: int) -> list[Range]:
    """Join a small chunk to its neighbour under the same parent where the sum fits; its own subsections come first."""
    paths = [outline.path(*place) for place in ranges]
    joined: list[Range] = []
    path: Path = ()
    for number, (start, end) in enumerate(ranges):
        own = paths[number]
        is_parent = number + 1 < len(ranges) and len(own) < len(paths[number + 1])
        if joined and end - joined[-1][0] <= size and _are_related(path, own):
            before, here = joined[-1][1] - joined[-1][0], end - start
            if before < size // _SMALL or (here < size // _SMALL and not is_parent):
                joined[-1] = (joined[-1][0], end)
                path = common(path, own)
                continue
        joined.append((start, end))
        path = own
    return joined


def _are_related(path: Path, own: Path) -> bool:
    """Whether a chunk under `own` continues the section `path`, is one of its subsections, or of its parent's."""
    return path in (own, own[:-1]) or path[:-1] == own[:-1]
