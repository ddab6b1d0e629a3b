"""Turn text into tokens: one function for chunks and questions, so that both sides always agree.

Han runs give jieba's search words and, marked with `#` so that they cannot collide with words, character bigrams
(a product name that jieba splits is still found). Latin words are stemmed; identifiers stay whole and give their
parts. Scripts written without spaces give bigrams, so that no run becomes one giant token.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any

import jieba
import snowballstemmer
from opencc import OpenCC

TOKENIZER = f"ragledger-1 jieba-{version('jieba')}"
TOKEN_MAX_CHARS = 64  # a B-tree entry of PostgreSQL holds 2,700 bytes; nobody types a longer word

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af\u3005\u3007"
# Thai, Lao, Myanmar, Khmer, kana, bopomofo, Hangul: no spaces between words, or particles glued to them
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u1100-\u11ff\uac00-\ud7af"
_EMOJI = "\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
# combining marks belong to the letter before them (Arabic and Hebrew points, Indic vowel signs)
_MARKS = "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0dff"
_ALNUM = rf"(?:(?![{_HAN}{_UNSPACED}])[^\W_]|[{_MARKS}])"

_PIECE = re.compile(
    rf"(?P<han>[{_HAN}]+)"
    rf"|(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<standard>\b[A-Z]{{2,5}}(?:/[A-Z]{{1,2}})? \d[\d.\-]*\d\b)"
    rf"|(?P<number>\b\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?\b)"
    rf"|(?P<word>{_ALNUM}+(?:[_.\-/'’@+&:]+{_ALNUM}+)*(?:\+\+|\#)?)"
    rf"|(?P<emoji>[{_EMOJI}])"
)
_KEPT_DIGITS = re.compile("([\u00b2\u00b3\u00b9\u00bc-\u00be\u2070\u2074-\u2079\u2080-\u2089\u2150-\u215e]+)")
# zero-width characters and soft hyphens go, all hyphens become one
_INVISIBLE: dict[int, str | None] = dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF])
_INVISIBLE |= dict.fromkeys([0x2010, 0x2011, 0x2212], "-")
_HAN_RUN_CHARS = 500  # jieba's time grows with the square of a run
_CASES = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_SEPARATOR = re.compile(r"[_.\-/'’@+&:#]+")
_DECIMAL = re.compile(r"\d+(?:\.\d+)*")
_POSSESSIVE = re.compile(r"['’]s?$|['’]s\b")

_simplify = OpenCC("t2s").convert
_stem_word = snowballstemmer.stemmer("english").stemWord


@cache
def _jieba() -> Any:
    """jieba with its own dictionary, parsed here: its cache file in the shared /tmp could be planted by others."""
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


def warm_up() -> None:
    """Load the dictionary now (half a second) rather than in the first request."""
    _jieba()


def fold(text: str) -> str:
    """NFKC and simplified Chinese; case is kept, since it marks the parts of identifiers.

    Raised, lowered and fractional digits stay what they are: 5² is not 52. Invisible characters are left out.
    """
    pieces = _KEPT_DIGITS.split(text.translate(_INVISIBLE))
    return str(_simplify("".join(p if n % 2 else unicodedata.normalize("NFKC", p) for n, p in enumerate(pieces))))


def normalize(text: str) -> str:
    """The form in which two questions count as the same: folded, lower case, one space, no closing punctuation."""
    return " ".join(fold(text).lower().split()).strip(" ?!.,;:。，；、…~")


def tokens(text: str) -> list[str]:
    """The terms of a text in reading order, with repetitions. No token is empty, blank or longer than 64 characters."""
    return [piece for token in _tokens(fold(text)) for piece in _bounded(token)]


def _tokens(text: str) -> Iterator[str]:
    for match in _PIECE.finditer(text):
        kind, piece = match.lastgroup, match.group()
        if kind == "han":
            for start in range(0, len(piece), _HAN_RUN_CHARS):
                yield from _jieba().lcut_for_search(piece[start : start + _HAN_RUN_CHARS])
            yield from _bigrams(piece)
        elif kind == "unspaced":
            yield from _bigrams(piece) if len(piece) > 1 else [piece]
        elif kind == "standard":
            yield from _standard(piece)
        elif kind == "number":
            yield piece.replace(",", "")
        elif kind == "emoji":
            yield piece
        else:
            yield from _word(piece)


def _bigrams(run: str) -> Iterator[str]:
    return ("#" + run[i : i + 2] for i in range(len(run) - 1))


def _standard(text: str) -> Iterator[str]:
    """GB/T 7714-2015 gives itself without the space, without the year, and its parts."""
    body, number = text.lower().split(" ", 1)
    yield from dict.fromkeys((body + number, body + number.split("-")[0]))
    yield from _word(body)
    yield from _word(number)


def _word(word: str) -> Iterator[str]:
    """A plain word gives its stem; an identifier (`max_tokens`, `HTTPException`, `v2.3.1`) itself and its parts."""
    plain = _POSSESSIVE.sub("", word).strip("_")
    if _DECIMAL.fullmatch(plain):
        yield plain
        return
    parts = [part for piece in _SEPARATOR.split(plain) if piece for part in _parts(piece)]
    if parts == [plain]:
        yield _stem(plain.lower())
        return
    yield _stem(plain.lower())
    # one letter or digit split off an identifier ("E" of E11000) says nothing; as a word of its own it may
    yield from (_stem(part.lower()) for part in parts if len(part) > 1)


def _parts(word: str) -> list[str]:
    """The pieces of a word at changes of case and between letters and digits: getHTTPCode2 -> get, HTTP, Code, 2."""
    return _CASES.findall(word) if word.isascii() else [word]


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    return str(_stem_word(word)) if word.isascii() and word.isalpha() and len(word) > 2 else word


def _bounded(token: str) -> Iterator[str]:
    """An over-long run (base64, a hash list) is cut into pieces: the same run gives the same pieces."""
    for start in range(0, len(token), TOKEN_MAX_CHARS):
        yield token[start : start + TOKEN_MAX_CHARS]
