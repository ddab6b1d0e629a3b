"""Turn text into tokens: one function for chunks and questions, so that both sides always agree.

A collection may add words of its own and leave others out (`app.lexical.word_list`).

Han runs give jieba's search words and, marked with `#` so that they cannot collide with words, character bigrams
(a product name that jieba splits is still found). Latin words are stemmed; identifiers stay whole and give their
parts. Scripts written without spaces give bigrams, so that no run becomes one giant token.
"""

import re
from functools import lru_cache
from importlib.metadata import version
from itertools import pairwise

import rjieba  # loads its dictionary here: 0.1 s, 34 MB

from app.lexical import word_list
from app.lexical.fold import fold
from app.lexical.scripts import EMOJI, FLAG, HAN, MARKS, UNSPACED
from app.lexical.words import ASKING_HAN, CURRENCIES, standard_tokens, stem, word_tokens
from app.records import NO_WORDS, WordList

TOKENIZER = f"ragledger-2 rjieba-{version('rjieba')}"
TOKEN_MAX_CHARS = 64  # a B-tree entry of PostgreSQL holds 2,700 bytes; nobody types a longer word

_LETTER = rf"[A-Za-z0-9]|(?![{HAN}{UNSPACED}])[^\W_]"
_ALNUM = rf"(?:{_LETTER})(?:{_LETTER}|[{MARKS}])*+"
_JOINT = r"(?:_+|::|:\\|\\+|\+\+?|://|[.\-/'’@:]|(?<=[A-Za-z])&(?=[A-Za-z]))"
_BODIES = "(?i:gb(?:/?[tz])?|iso(?:/iec)?|iec|ieee|rfc|din|ansi|astm|jis|nist|itu)"  # also known in lower case

_PIECE = re.compile(
    rf"(?P<han>[{HAN}]++)"
    rf"|(?P<unspaced>[{UNSPACED}]++)"
    rf"|(?<![A-Za-z0-9_])(?P<standard>(?P<body>[A-Z]{{2,5}}(?:/[A-Z]{{1,4}})?|{_BODIES})[ ]?"
    rf"(?P<digits>\d++(?:\.\d++)*+[A-Za-z]{{0,3}}(?:[-:]\d++[A-Za-z]?)*+))(?![A-Za-z0-9_%‰]|[-.:/@+&'][A-Za-z0-9])"
    rf"|(?<![A-Za-z0-9_])(?P<number>[{CURRENCIES}]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d++)?[%‰]?)(?!\d)"
    rf"|(?P<word>(?:[{CURRENCIES}](?=\d))?{_ALNUM}(?:{_JOINT}{_ALNUM})*+"
    rf"(?:(?<=[A-Za-z])\+\+|(?<=[A-Za-z])(?<![A-Za-z0-9][A-Za-z])\#|(?<=\d)[%‰])?)"
    rf"|(?P<emoji>[{EMOJI}]|{FLAG})"
)
_ASKING = ASKING_HAN | {"#" + word for word in ASKING_HAN if len(word) == 2}
_IS_HAN = re.compile(f"[{HAN}]")
_ONE_SYLLABLE = re.compile("([가-힣])(?:은|는|이|가|을|를|의|에|도|만|와|과|로)")  # and a Korean particle


def tokenizer(words: WordList) -> str:
    """What a text's tokens depend on besides the text, for the index and the ledger."""
    return f"{TOKENIZER} words-{words.sha256[:16]}" if words.sha256 else TOKENIZER


def tokens(text: str, words: WordList = NO_WORDS) -> list[str]:
    """The terms of a text in reading order, with repetitions, then those of the collection's own words.

    No token is empty, blank or longer than 64 characters.
    """
    folded = fold(text)
    found = _pieces(folded)
    if words.user_words:
        found += word_list.missing(found, folded, words)
    if words.stop_words:
        stop = _stop_tokens(words)
        found = [token for token in found if token not in stop]
    return found if max(map(len, found), default=0) <= TOKEN_MAX_CHARS else _bounded(found)


def whole_tokens(word: str) -> set[str]:
    """The tokens that are a word as a whole, not its parts; none where it is more than one word."""
    word = word_list.written(word)
    piece = _PIECE.fullmatch(word)
    if piece is None:
        return set()
    if piece.lastgroup in {"han", "unspaced"}:
        return {word, "#" + word}.intersection(_pieces(word))
    return set(_pieces(word)[:1] or [stem(word)])


@lru_cache(maxsize=16)
def _stop_tokens(words: WordList) -> frozenset[str]:
    return frozenset(token for word in words.stop_words for token in whole_tokens(word))


def _pieces(text: str) -> list[str]:
    found: list[str] = []
    for match in _PIECE.finditer(text):
        kind = match.lastgroup
        piece = match.group()
        if kind == "han":
            found += [token for token in rjieba.cut_for_search(piece) + _bigrams(piece) if token not in _ASKING]
        elif kind == "unspaced":
            found += _unspaced(piece)
        elif kind == "standard":
            found += standard_tokens(match["body"], match["digits"])
        elif kind == "emoji":
            found.append(piece)
        else:
            found += word_tokens(piece.replace(",", ""))
            if len(piece) == 1:
                found += _beside_han(text, match.start(), piece.lower())
    return found


def _bigrams(run: str) -> list[str]:
    return ["#" + first + second for first, second in pairwise(run)]


def _unspaced(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    if particle := _ONE_SYLLABLE.fullmatch(run):
        return [particle.group(1), *_bigrams(run)]
    return _bigrams(run)


def _beside_han(text: str, at: int, letter: str) -> list[str]:
    """A single letter says little, with its neighbour it is a word: T恤, A股, 维生素C."""
    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    found = ["#" + before + letter] if _IS_HAN.match(before) else []
    return [*found, "#" + letter + after] if _IS_HAN.match(after) else found


def _bounded(found: list[str]) -> list[str]:
    """An over-long run (base64, a hash list) is cut into pieces: the same run gives the same pieces."""
    return [t[i : i + TOKEN_MAX_CHARS] for t in found for i in range(0, len(t), TOKEN_MAX_CHARS)]
