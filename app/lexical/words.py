"""Tokens of words, identifiers and numbers: the whole as it is written, and the parts a person may ask for."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import snowballstemmer

from app.lexical.fold import KEPT_DIGITS, unaccented

CURRENCIES = "$€£¥₩₹"
_SEGMENTS = re.compile(r"(?:[/\\@:&']|(?<!\+)\+(?!\+))+")  # of a path, an address, a qualified name
_PART = re.compile(r"\d+(?:\.\d+)*|[A-Za-z]\+\+|(?:[^\W\d_]|[^\w\s!-~])+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_HYPHENS = re.compile("[-_]+")
_VERSION = re.compile(r"[vV]?(\d+(?:\.\d+)+)")
_PREFIXES = 3  # 1.2.3.4 gives also 1.2 and 1.2.3
_POSSESSIVE = re.compile(r"'s?$|'s\b")
_CONTRACTION = re.compile(r"(?:n't|'(?:re|ve|ll|d|m))$")
_YEAR = re.compile(r"[-:](?:19|20)\d\d$")
_RAISED = "²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉"
_LETTER_AND_KEPT = re.compile(rf"[^\W\d{KEPT_DIGITS}][{KEPT_DIGITS}]")
# the particles that Arabic writes as part of the word (light10: Larkey, Ballesteros, Connell, SIGIR 2002)
_ARABIC_PREFIX = re.compile("^(?:(?:وال|بال|كال|فال|ال|لل)(?=..)|و(?=...))")
_ARABIC_SUFFIX = re.compile("(?<=..)(?:ها|ان|ات|ون|ين|يه|ه|ي)$")

# only who asks writes them, so that where they do stand in a text they weigh most and say least: leaving them out
# raises nDCG@10 on each public set, leaving out more ("the", "of", "in") does not. WHO and WHERE are no questions.
ASKING = frozenset(("what", "which", "who", "whom", "whose", "when", "where", "why", "how", "did", "do", "does"))
ASKING_HAN = frozenset(
    (
        *("什么", "为什么", "为何", "何时", "谁", "多少", "怎么", "怎样", "如何", "吗", "呢"),
        *("哪", "哪些", "哪个", "哪里", "哪儿", "哪位"),
    )
)
_KEPT_MAX_CHARS = 40  # longer ones hardly come again
_TYPED_MAX_CHARS = 64  # nobody asks for a longer word in another spelling
_stem_english = snowballstemmer.stemmer("english").stemWord


def stem(word: str) -> str:
    """The stem of a lower-case English word; anything else as it is."""
    return str(_stem_english(word)) if word.isascii() and word.isalpha() and 2 < len(word) <= _TYPED_MAX_CHARS else word


def word_tokens(word: str) -> tuple[str, ...]:
    """A plain word gives its stem; an identifier (`max_tokens`, `HTTPException`, `a/b.c`) itself and its parts."""
    return _kept(word) if len(word) <= _KEPT_MAX_CHARS else tuple(_word(word))


@lru_cache(maxsize=100_000)
def _kept(word: str) -> tuple[str, ...]:
    return tuple(_word(word))


def _word(word: str) -> Iterator[str]:
    if word.isascii() and word.isalpha() and (word.islower() or word.istitle()):
        if (lowered := word.lower()) not in ASKING:
            yield stem(lowered)
        return
    if word[-1] in "%‰" or word[0] in CURRENCIES:
        yield word.lower()
        word = word.strip(CURRENCIES + "%‰")
    plain = _POSSESSIVE.sub("", word.replace("’", "'")).strip("_")
    if _CONTRACTION.search(plain):
        yield stem(plain.replace("'", "").lower())
        return
    segments = [segment for segment in _SEGMENTS.split(plain) if segment]
    if (len(segments) == 1 and segments[0] != plain) or len(segments) > 1:
        yield from _spellings(plain.replace("'", ""))
    for segment in segments:
        if len(segment) > 1 or len(plain) == 1:
            yield from dict.fromkeys(_segment(segment))


def _segment(segment: str) -> Iterator[str]:
    """A word or identifier without path separators: itself, without its hyphens, its parts."""
    yield from _spellings(segment)
    if (joined := _HYPHENS.sub("", segment)) != segment and not joined.isdigit():
        yield stem(joined.lower())
    if version := _VERSION.match(segment):
        yield from _prefixes(version.group(1))
    parts: list[str] = _PART.findall(segment)
    for part in parts:
        if len(part) == 1:  # "E" of E11000 says nothing; as a word of its own it may
            continue
        if len(parts) > 1:
            yield from _prefixes(part) if part[0].isdecimal() else _spellings(part)
        if part.isascii() and not (part.islower() or part.isupper()):
            yield from (stem(piece.lower()) for piece in _CAMEL.findall(part) if len(piece) > 1)


def _spellings(word: str) -> Iterator[str]:
    """One word as it is, and where that differs without accents, particles, raised digits."""
    lowered = word.lower()
    yield stem(lowered)
    if lowered.isascii() or len(lowered) > _TYPED_MAX_CHARS:
        return
    yield stem(unaccented(lowered))
    if "\u0620" <= lowered[0] <= "\u064a":
        yield _ARABIC_SUFFIX.sub("", _ARABIC_PREFIX.sub("", lowered))
    if _LETTER_AND_KEPT.search(lowered):  # H₂O is H2O, m² is m2, a footnote's number is no part of its word
        yield unicodedata.normalize("NFKC", lowered)
        if len(word := lowered.rstrip(_RAISED)) > 1:
            yield stem(word)


def _prefixes(number: str) -> Iterator[str]:
    """2.3.1 itself and 2.3, which is how people ask for it."""
    yield number
    pieces = number.split(".", _PREFIXES + 1)
    yield from (".".join(pieces[:n]) for n in range(len(pieces) - 1, 1, -1))


def standard_tokens(body: str, number: str) -> Iterator[str]:
    """A standard's number in every way it is written: ISO/IEC 27001:2022, ISO 27001, GB/T7714-2015, GBT 7714."""
    body, number = body.lower(), number.lower()
    bare = _YEAR.sub("", number)
    bodies = dict.fromkeys((body, body.replace("/", ""), *body.split("/")))
    yield from dict.fromkeys(name + digits for digits in (number, bare) for name in bodies)
    yield from (part for part in dict.fromkeys((body, *body.split("/"))) if len(part) > 1)
    yield from dict.fromkeys((bare, *_segment(number)))
