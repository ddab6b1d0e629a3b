"""Check the [n] of an answer against the quotes supplied, and say where each stands in its document."""

import re
from collections.abc import Sequence

from app.records import Citation, Quote

_HEADING = re.compile(r"^#{1,6}[ \t].*\n?", re.MULTILINE)
_NUMBER = re.compile(r"\s?\[(\d{1,9})\]")
# whatever a reader could take for a citation, nested or in other brackets: in a quote all brackets around digits go
_FOREIGN = re.compile(r"\s?[\[［【〔]+(?=[\s\d\[\]［］【】〔〕]*[\]］】〕])[\s\d\[\]［］【】〔〕]*[\]］】〕]")


def join(quotes: Sequence[Quote]) -> str:
    """The extractive answer's text: each quote with its number, on lines of their own.

    Headings within a quote are left out, and its own [12] (as in encyclopedias), which a reader could not tell from
    citations. The citation keeps the quote to the letter.
    """
    return "\n".join(f"{_shown(quote.text)} [{n}]" for n, quote in enumerate(quotes, 1))


def _shown(quote: str) -> str:
    without = _FOREIGN.sub("", quote).strip()
    return _HEADING.sub("", without).strip() or without


def attach(text: str, quotes: Sequence[Quote]) -> tuple[str, tuple[Citation, ...]]:
    """The text without numbers that no quote backs, and the citations of those it really uses, by number."""
    backed = text
    while (checked := _NUMBER.sub(lambda match: _kept(match, len(quotes)), backed)) != backed:
        backed = checked  # what is removed may join its neighbours to a new number
    used = sorted({int(number) for number in _NUMBER.findall(backed)})
    return backed, tuple(_citation(number, quotes[number - 1]) for number in used)


def _kept(match: re.Match[str], quotes: int) -> str:
    return match.group() if 1 <= int(match.group(1)) <= quotes else ""


def _citation(number: int, quote: Quote) -> Citation:
    hit = quote.hit
    return Citation(
        number=number,
        chunk_id=hit.chunk_id,
        document_id=hit.document_id,
        source=hit.source,
        title=hit.title,
        section=hit.section,
        start_char=hit.start_char + quote.start_char,
        end_char=hit.start_char + quote.end_char,
        quote=quote.text,
        score=quote.score,
    )
