"""The small pieces of a chunk that rank it and are quoted from it."""

import re

from app.ingest.split.fixed import windows
from app.ingest.split.sentences import sentences
from app.ingest.split.text import Range
from app.records import Span

_HAN = re.compile(r"[\u4e00-\u9fff]")
_HEADING = re.compile(r"#{1,6}[ \t]")
_HAN_LIMIT_CHARS = 80
_LATIN_LIMIT_CHARS = 240
_LONGEST = 3  # times the limit: a sentence is one thought, and quoted whole, unless it is far too long


def spans(text: str) -> tuple[Span, ...]:
    """The sentences of a chunk, short neighbours joined up to 80 characters (240 where no Han character is).

    A heading is joined to what follows it, never to what stands before.

    Offsets are within the text; spans ascend, do not overlap, and leave out white space only. A sentence over three
    times the limit is cut, at a clause end where there is one.
    """
    limit = _HAN_LIMIT_CHARS if _HAN.search(text) else _LATIN_LIMIT_CHARS
    joined: list[Range] = []
    for start, end in sentences(text, 0, len(text)):
        if joined and end - joined[-1][0] <= limit and not _HEADING.match(text, start):
            joined[-1] = (joined[-1][0], end)
        elif end - start > _LONGEST * limit:
            joined += windows(text, start, end, limit + limit // 2, 0)
        else:
            joined.append((start, end))
    return tuple(Span(start, end) for start, end in joined)
