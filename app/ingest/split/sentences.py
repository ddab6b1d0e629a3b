"""Where sentences end, in Chinese and in Latin text."""

import re
from collections.abc import Iterator

from app.ingest.split.fixed import windows
from app.ingest.split.text import Range, attach_markup, trim

# A newline between two lower-case letters is a wrapped line, not an end.
_END = re.compile(
    r"""
      [。！？；…｡]+ [」』”’）】》\])]*                                  # Chinese ends, with the quotes they close
    | (?<![!?;]) [!?;]++ (?: [」』”’）】》"'\])*_`]*+ (?=\s|\Z) | (?=[\u3400-\u9fff]) )  # half-width, not within a URL
    | (?<!\.) (?P<stop>\.++) [」』”’）】》"'\])*_`]*+ (?=\s|\Z)         # `.` only before white space
    | (?<![a-z,]) \n | \n (?![ \t]*[a-z])
    """,
    re.VERBOSE,
)
_TOKEN = re.compile(r"[^\s(（\[\"'“‘]*\Z")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]")
_ABBREVIATIONS = frozenset([
    "dr", "mr", "mrs", "ms", "prof", "st", "mt", "vs", "nos", "fig", "figs", "eq", "eqs", "cf", "al", "inc",
    "ltd", "corp", "jr", "sr", "dept", "approx", "eds", "vol", "vols", "pp", "capt", "rev", "hon", "gov", "jan",
    "feb", "aug", "sept", "oct", "nov", "dec", "ph.d", "m.sc", "b.sc",
])  # fmt: skip
_TOKEN_CHARS = 16


def sentences(content: str, start: int, end: int) -> list[Range]:
    """The sentences of [start, end), trimmed, none blank; pieces of markup only belong to a neighbour."""
    return attach_markup(content, list(_raw(content, start, end)))


def pieces(content: str, start: int, end: int, size: int) -> list[Range]:
    """The sentences of [start, end), those longer than `size` cut."""
    found: list[Range] = []
    for sentence in sentences(content, start, end):
        found += [sentence] if sentence[1] - sentence[0] <= size else windows(content, *sentence, size, 0)
    return found


def _raw(content: str, start: int, end: int) -> Iterator[Range]:
    for match in _END.finditer(content, start, end):
        if match["stop"] == "." and match.end() < end and _is_abbreviation(content, start, match.start()):
            continue
        sentence = trim(content, start, match.end())
        if sentence[0] < sentence[1]:
            yield sentence
        start = match.end()
    sentence = trim(content, start, end)
    if sentence[0] < sentence[1]:
        yield sentence


def _is_abbreviation(content: str, start: int, stop: int) -> bool:
    """Whether the full stop at `stop` belongs to `e.g.`, `Dr.`, `U.S.`, an initial, or the number of a list item."""
    low = max(start, stop - _TOKEN_CHARS)
    found = _TOKEN.search(content, low, stop)
    token = found[0] if found else ""
    if token.isdigit():
        return not content[max(start, stop - len(token) - 4) : stop - len(token)].strip("> \t\n#")
    return _INITIALS.fullmatch(token) is not None or token.lower() in _ABBREVIATIONS
