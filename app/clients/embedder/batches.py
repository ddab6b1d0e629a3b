"""Cut texts to what a model reads, and put them together to what a server takes in one request. Pure."""

import re
from collections.abc import Sequence

from app.lexical.scripts import HAN, UNSPACED

# A Chinese character is one token of WordPiece, less of SentencePiece; an English word of five letters is one or two.
# The samples, README and code have 0.70 to 0.97 of this bound in tokens of XLM-R, SQL up to 1.02 (measured on pieces of
# 1,200 characters). Random letters have more: then the server has to refuse.
_TOKENS_PER_CHAR = 0.4
_WHOLE = re.compile(rf"[{HAN}{UNSPACED}]|[^\w\s]")  # a token each
_PART = re.compile(rf"[^\W{HAN}{UNSPACED}]")
_SENTENCE_END = re.compile(r"[。！？；!?;]+|\.(?=\s)|\n")


def most_tokens(text: str) -> int:
    """About how many tokens a text has at most, whatever the tokenizer."""
    return len(_WHOLE.findall(text)) + int(_TOKENS_PER_CHAR * len(_PART.findall(text)))


def pieces(text: str, room: int | None) -> list[str]:
    """The text in its order, cut where it has more than `room` tokens; None: whatever its length."""
    if room is None or len(text) <= room // 2 or most_tokens(text) <= room or (parts := halves(text)) == [text]:
        return [text]
    return [piece for part in parts for piece in pieces(part, room)]


def halves(text: str) -> list[str]:
    """Cut at the end of a sentence, else at a space, else between two characters: as near the middle as possible.

    Blank parts are left out, so that there may be one part only; it is the whole text where that is a character.
    """
    at = _middle(text)
    parts = [part for part in (text[:at], text[at:]) if part.strip()]
    return parts or [text]


def batched(texts: Sequence[str], *, max_texts: int, max_chars: int) -> list[list[int]]:
    """Positions of the texts by request, the longest first, so that those of a request are of like length.

    A text with more characters than a request may have is alone in its own.
    """
    batches: list[list[int]] = []
    chars = 0
    for number in sorted(range(len(texts)), key=lambda n: -len(texts[n])):
        chars += len(texts[number])
        if not batches or len(batches[-1]) == max_texts or chars > max_chars:
            batches.append([])
            chars = len(texts[number])
        batches[-1].append(number)
    return batches


def _middle(text: str) -> int:
    middle, near = len(text) // 2, len(text) // 4
    for pattern in (_SENTENCE_END, re.compile(r"\s+")):
        ends = [found.end() for found in pattern.finditer(text, middle - near, middle + near)]
        if ends:
            return min(ends, key=lambda end: abs(end - middle))
    return middle
