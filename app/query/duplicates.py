"""Tell whether one text can stand for another. Pure functions.

Source: Broder: On the Resemblance and Containment of Documents, SEQUENCES 1997.
"""

import re
from functools import cached_property

SHINGLE_WORDS = 3
RESEMBLANCE_AT_LEAST = 0.9
# Thai to Khmer, kana, Han: no space between words, so that each character counts as one
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")


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
    def _words(self) -> list[str]:
        return _WORD.findall(self.text.casefold()) or [self.text]  # a text without words is one word of its own


def resemblance(a: Comparable, b: Comparable) -> float:
    """The share of shingles that both texts hold in those that either holds (Jaccard), in [0, 1]."""
    shared = len(a.shingles & b.shingles)
    return shared / (len(a.shingles) + len(b.shingles) - shared)


def duplicate(a: Comparable, b: Comparable, question: Comparable | None = None) -> float | None:
    """The resemblance where it is so high, and the difference so unimportant, that one text can stand for the other.

    A number, or a word of the question, that only one of them holds is important: form letters about two models.
    Lengths that differ by more than a tenth are not looked into: such texts hardly ever resemble each other so much.
    """
    if a.text == b.text:
        return 1.0
    if not _are_near(len(a.text), len(b.text)) or (found := resemblance(a, b)) < RESEMBLANCE_AT_LEAST:
        return None
    apart = a.words ^ b.words
    asked_for = apart & question.words if question else ()
    return None if asked_for or any(character.isdigit() for word in apart for character in word) else found


class Groups:
    """Texts by what they say. The first one leads its group; a later one joins the first group whose leader it repeats.

    `leaders`: by key, the key of the text that leads its group, itself where it repeats none.
    """

    def __init__(self, question: str) -> None:
        self.leaders: dict[int, int] = {}
        self._question = Comparable(question)
        self._leading: list[tuple[int, Comparable, float]] = []

    def __len__(self) -> int:
        return len(self._leading)

    def add(self, key: int, text: str, bm25: float) -> None:
        """Find a text's group. A `bm25` more than a tenth away means that it holds the question's terms differently;
        this spares most pairs the comparing."""
        new = Comparable(text)
        for leader, better, score in self._leading:
            if (_are_near(bm25, score) or text == better.text) and duplicate(new, better, self._question):
                self.leaders[key] = leader
                return
        self.leaders[key] = key
        self._leading.append((key, new, bm25))


def _are_near(a: float, b: float) -> bool:
    return min(a, b) >= RESEMBLANCE_AT_LEAST * max(a, b)
