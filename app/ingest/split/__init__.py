"""Documents to chunks: pure text in, exact offsets out."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from app.errors import InvalidInput
from app.ingest import formats
from app.ingest.split import code, fixed, semantic, sentence
from app.ingest.split.blocks import front_matter, read_blocks
from app.ingest.split.headings import Outline
from app.ingest.split.spans import spans
from app.ingest.split.text import Range, has_words
from app.records import Chunk, Splitting

MIN_SIZE_CHARS = 50


def split(content: str, splitting: Splitting, media_type: str, pages: Sequence[int] = ()) -> tuple[Chunk, ...]:
    """The chunks of a document, in order: each `content[start_char:end_char]`, trimmed, at most `size_chars` long.

    Together they hold every character but white space, and in Markdown the front matter, which is metadata.
    `pages` are the offsets where pages begin. `section` is the deepest heading path that holds the whole chunk.
    Raises InvalidInput where the sizes are of no use.
    Neighbours share at most half a chunk, whatever `overlap_chars` allows: more would multiply the text, not the sense.
    """
    _check(splitting)
    found = front_matter(content) if media_type == formats.MARKDOWN.media_type else None
    start = found[1] if found else 0
    if media_type in code.GRAMMARS and len(content) <= code.PARSED_MAX_CHARS:
        groups, outline = code.read(content, media_type)
        sections = semantic.sections_of_code(groups)
    else:
        blocks = list(read_blocks(content, start, markdown=media_type not in formats.PLAIN))
        outline, sections = Outline.of(blocks), semantic.sections(content, blocks)
    size = splitting.size_chars
    overlap = min(splitting.overlap_chars, size // 2)
    if splitting.splitter == "semantic":
        ranges = semantic.windows_of_sections(content, sections, outline, size, overlap)
    else:
        windows = fixed.windows if splitting.splitter == "fixed" else sentence.windows
        ranges = windows(content, start, len(content), size, overlap)
    places = _absorb_markup(content, ranges, size)
    lines = _lines(content, [place[0] for place in places])
    return tuple(
        _chunk(ordinal, content, place, outline, splitting.spans, bisect_right(pages, place[0]) or None, line)
        for ordinal, (place, line) in enumerate(zip(places, lines, strict=True))
    )


def _check(splitting: Splitting) -> None:
    if splitting.size_chars < MIN_SIZE_CHARS:
        raise InvalidInput("size_chars", f"{splitting.size_chars} is too small, at least {MIN_SIZE_CHARS}")
    if not 0 <= splitting.overlap_chars < splitting.size_chars:
        message = f"{splitting.overlap_chars} must be at least 0 and below size_chars ({splitting.size_chars})"
        raise InvalidInput("overlap_chars", message)


def _absorb_markup(content: str, ranges: list[Range], size: int) -> list[Range]:
    """Join chunks of markup only (`---`) to a neighbour where the sum fits."""
    kept: list[Range] = []
    for start, end in ranges:
        worthless = kept and not (has_words(content, *kept[-1]) and has_words(content, start, end))
        if worthless and end - kept[-1][0] <= size:
            kept[-1] = (kept[-1][0], end)
        else:
            kept.append((start, end))
    return kept


def _lines(content: str, starts: Sequence[int]) -> Iterator[int]:
    """The line of each of some ascending places, from 1."""
    line, reached = 1, 0
    for start in starts:
        line += content.count("\n", reached, start)
        reached = start
        yield line


def _chunk(
    ordinal: int, content: str, place: Range, outline: Outline, with_spans: bool, page: int | None, line: int
) -> Chunk:
    text = content[place[0] : place[1]]
    section = " > ".join(outline.path(*place))
    return Chunk(ordinal, *place, text, section, spans(text) if with_spans else (), page, line)
