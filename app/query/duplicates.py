"""Tell whether one text can stand for another. Pure functions.

Source: Broder: On the Resemblance and Containment of Documents, SEQUENCES 1997.
"""

import re
from collections.abc import Sequence
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from app.records import Floats, Ints

SHINGLE_WORDS = 3
RESEMBLANCE_AT_LEAST = 0.9
# Thai to Khmer, kana, Han: no space between words, so that each character counts as one
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_NUMERALS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy"
    "|eighty|ninety|hundred|thousand|million|half|twice|once"
)
_NEGATIONS = r"not|no|never|none|without|cannot|nor|neither|\w+n['’]t"
_CLAIM = re.compile(
    rf"[-+<>=≤≥≠±~−–]*\s*\w*\d\w*(?:[.,:/]\d\w*)*|\b(?:{_NUMERALS}|{_NEGATIONS})\b|[〇零一二三四五六七八九十百千万亿两半不没无無未非勿莫禁]"
)


class Comparable:
    """A text with its words and shingles (every run of three words), made when they are first needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self._words)

    @cached_property
    def shingles(self) -> frozenset[tuple[str, ...]]:
        runs = zip(*(self._words[n:] for n in range(SHINGLE_WORDS)), strict=False)
        return frozenset(runs) or frozenset([tuple(self._words)])

    @cached_property
    def claims(self) -> list[str]:
        """Numbers with their signs, and negations, in order."""
        return ["".join(found.split()) for found in _CLAIM.findall(self.text.casefold())]

    @cached_property
    def _words(self) -> list[str]:
        return _WORD.findall(self.text.casefold()) or [self.text]  # a text without words is one word of its own


def resemblance(a: Comparable, b: Comparable) -> float:
    """The share of shingles that both texts hold in those that either holds (Jaccard), in [0, 1]."""
    shared = len(a.shingles & b.shingles)
    return shared / (len(a.shingles) + len(b.shingles) - shared)


def duplicate(a: Comparable, b: Comparable, question: Comparable | None = None) -> float | None:
    """The resemblance where it is so high, and the difference so unimportant, that one text can stand for the other.

    Other numbers, in figures or words, and other negations are important: form letters about two models, a rule and its
    exception. So is a word of the question that only one of them holds.
    Lengths that differ by more than a tenth are not looked into: such texts hardly ever resemble each other so much.
    """
    if a.text == b.text:
        return 1.0
    if not _are_near(len(a.text), len(b.text)) or (found := resemblance(a, b)) < RESEMBLANCE_AT_LEAST:
        return None
    asked_for = (a.words ^ b.words) & question.words if question else ()
    return None if asked_for or a.claims != b.claims else found


def leaders(texts: Sequence[str], bm25: Floats, question: str) -> list[int]:
    """Of each text the place of the one that it repeats, or its own: the first text of a kind leads, later ones join.

    A `bm25` more than a tenth away means that a text holds the question's terms differently: this, and letters that
    differ, spare nearly all pairs the comparing.
    """
    compared, asked, near = [Comparable(text) for text in texts], Comparable(question), _near(texts, bm25).tolist()
    leads: list[int] = []
    for n, new in enumerate(compared):
        before = (m for m in range(n) if leads[m] == m and (near[n][m] or texts[n] == texts[m]))
        leads.append(next((m for m in before if duplicate(new, compared[m], asked)), n))
    return leads


def _near(texts: Sequence[str], bm25: Floats) -> NDArray[np.bool_]:
    """(n, n) true where two texts have like scores and like letters.

    Where runs of words are replaced or added, as many as leave `RESEMBLANCE_AT_LEAST`, the letters that only one text
    has are at most a ninth of either's; where single words are, at most a twenty-eighth.
    """
    letters = _letters(texts)
    apart = np.abs(letters[:, None] - letters[None]).sum(axis=2)
    least, most = np.minimum.outer(bm25, bm25), np.maximum.outer(bm25, bm25)
    sizes = letters.sum(axis=1)
    like: NDArray[np.bool_] = (least >= RESEMBLANCE_AT_LEAST * most) & (apart <= np.maximum.outer(sizes, sizes) / 9)
    return like


def _letters(texts: Sequence[str]) -> NDArray[np.int32]:
    """(n, 255) how often each text has each letter, case aside; letters of the same code modulo 255 count together."""
    folded = [text.casefold() for text in texts]
    codes = np.frombuffer("".join(folded).encode("utf-32-le"), np.uint32)
    rows = np.repeat(np.arange(len(texts)) * 256, [len(text) for text in folded])
    counts = np.bincount(rows + _counted_as()[codes & 0xFFFF], minlength=len(texts) * 256)
    return counts.reshape(-1, 256)[:, 1:].astype(np.int32)


@cache
def _counted_as() -> Ints:
    return np.array([1 + code % 255 if _WORD.match(chr(code)) else 0 for code in range(0x10000)])


def _are_near(a: float, b: float) -> bool:
    return min(a, b) >= RESEMBLANCE_AT_LEAST * max(a, b)
