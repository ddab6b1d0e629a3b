"""A collection's own words: each is one token wherever it is written, in one piece or in many.

They are added to what the text gives without them, so that its parts are found as before. jieba's dictionary is shared
by all collections: a copy with other words takes 25 MB and 0.2 s, and would find a word in some sentences only.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.lexical.fold import fold
from app.lexical.scripts import HAN, UNSPACED
from app.records import WordList

_LISTS_KEPT = 16  # per process
# between two letters or digits of a script with spaces: "cat" does not stand in "concatenate"
_INSIDE = re.compile(rf"(?<=[^\W_])(?<![{HAN}{UNSPACED}])(?=[^\W_])(?![{HAN}{UNSPACED}])")


@dataclass(frozen=True, slots=True)
class _Finder:
    """Where a word may start, how long those are that start so, and the words."""

    start: re.Pattern[str]
    lengths: dict[str, tuple[int, ...]]
    words: frozenset[str]


def written(text: str) -> str:
    """The one form of a text that words are looked for in, and of the words themselves."""
    return " ".join(fold(text).lower().split())


def occurrences(text: str, words: WordList) -> Iterator[str]:
    """The user words in a text as `written`, in reading order, also one within or across another."""
    finder = _finder(words)
    for match in finder.start.finditer(text):
        start = match.start()
        for length in finder.lengths[match.group()]:
            word, end = text[start : start + length], start + length
            if (
                end <= len(text)
                and word in finder.words
                and not (_INSIDE.match(text, start) or _INSIDE.match(text, end))
            ):
                yield word


def missing(found: Sequence[str], text: str, words: WordList) -> list[str]:
    """The user words of a text as often as they stand in it and not among its tokens already."""
    wanted = Counter(occurrences(written(text), words))
    if wanted:
        wanted.subtract(token for token in found if token in wanted)
    return list(wanted.elements())


@lru_cache(maxsize=_LISTS_KEPT)
def _finder(words: WordList) -> _Finder:
    known = frozenset(filter(None, map(written, words.user_words)))
    lengths: dict[str, set[int]] = {}
    for word in known:
        lengths.setdefault(word[0], set()).add(len(word))
    start = "[" + "".join(map(re.escape, lengths)) + "]" if lengths else "(?!)"
    return _Finder(re.compile(start), {first: tuple(sorted(n)) for first, n in lengths.items()}, known)
