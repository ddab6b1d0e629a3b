"""Places in a text: trimming by offsets, cuts that keep words and graphemes whole, markup without words."""

import re
import unicodedata
from typing import TypeAlias

Range: TypeAlias = tuple[int, int]  # half-open, as Python slices

_SPACES = re.compile(r"\s*")
_WORD = re.compile(r"[^\W_]")
_MARKUP = re.compile(r"(?:<[^<>]*>|<(?![A-Za-z/!])|[\W_])*+", re.ASCII)
_ENDS = re.compile(r"[。！？；…｡](?=[^。！？；…｡」』”’）】》])|[.!?;]\s|\n|[。！？；…｡][」』”’）】》]+")
_CLAUSES = re.compile(r"[，、：」』”’）】》]|[,:)]\s")
_JOINER = "\u200d"
_NEAR_CHARS = 24  # the longest emoji sequence in use has 10 code points; a pile of accents beyond this is cut
_REGIONAL_INDICATORS = range(0x1F1E6, 0x1F200)
_SKIN_TONES = range(0x1F3FB, 0x1F400)


def skip_space(content: str, start: int, end: int) -> int:
    """The first position in [start, end] that is not white space."""
    match = _SPACES.match(content, start, end)
    return match.end() if match else start


def trim(content: str, start: int, end: int) -> Range:
    """The same range without white space at its ends; empty where there is nothing else."""
    start = skip_space(content, start, end)
    while end > start and content[end - 1].isspace():
        end -= 1
    return start, end


def has_words(content: str, start: int, end: int) -> bool:
    """Whether a reader finds a letter or a digit there, outside HTML tags."""
    if not _WORD.search(content, start, end):
        return False
    if content[start] != "<":
        return True
    return not content[start:end].isascii() or _MARKUP.fullmatch(content, start, end) is None


def attach_markup(content: str, ranges: list[Range]) -> list[Range]:
    """Join pieces of markup only (`///`, a closing fence) to the piece before, or after where they come first."""
    joined: list[Range] = []
    for start, end in ranges:
        if joined and not has_words(content, start, end):
            joined[-1] = (joined[-1][0], end)
        elif len(joined) == 1 and not has_words(content, *joined[0]):
            joined[0] = (joined[0][0], end)
        else:
            joined.append((start, end))
    return joined


def _is_inside_grapheme(content: str, position: int) -> bool:
    before, after = content[position - 1], content[position]
    if after < "\u0300":  # no Latin-1 character continues a grapheme
        return before == _JOINER
    if before == _JOINER or after == _JOINER or ord(after) in _SKIN_TONES:
        return True
    if ord(after) in _REGIONAL_INDICATORS:
        return ord(before) in _REGIONAL_INDICATORS
    return unicodedata.category(after)[0] == "M"


def settle(content: str, position: int, low: int) -> int:
    """Move a cut left, but not below `low`, so that it does not part a base from its marks or an emoji sequence."""
    if not 0 < position < len(content):
        return position
    for candidate in range(position, max(low, position - _NEAR_CHARS) - 1, -1):
        if candidate > 0 and not _is_inside_grapheme(content, candidate):
            return candidate
    return position


def cut(content: str, start: int, limit: int, low: int) -> int:
    """The best place in [low, limit] to end a piece that began at `start`.

    A sentence end or else a clause end in the last quarter, else the last white space of the last half, else
    wherever no grapheme is parted.
    """
    quarter = max(low, limit - (limit - start) // 4)
    for pattern in (_ENDS, _CLAUSES):
        ends = [match.end() for match in pattern.finditer(content, quarter - 1, min(limit + 1, len(content)))]
        if usable := [end for end in ends if quarter <= end <= limit]:
            return settle(content, usable[-1], low)
    for position in range(limit, max(low, limit - (limit - start) // 2) - 1, -1):
        if content[position - 1].isspace():
            return position
    return settle(content, limit, low)
