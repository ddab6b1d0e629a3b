"""Turn text into tokens: one function for chunks and questions, so that both sides always agree.

Han runs give jieba's search words and, marked with `#` so that they cannot collide with words, character bigrams
(a product name that jieba splits is still found). Latin words are stemmed; identifiers stay whole and give their
parts. Scripts written without spaces give bigrams, so that no run becomes one giant token.
"""

import re
from importlib.metadata import version
from itertools import pairwise

import rjieba  # loads its dictionary here: 0.1 s, 34 MB

from app.lexical.fold import fold
from app.lexical.words import ASKING_HAN, CURRENCIES, standard_tokens, word_tokens

TOKENIZER = f"ragledger-2 rjieba-{version('rjieba')}"
TOKEN_MAX_CHARS = 64  # a B-tree entry of PostgreSQL holds 2,700 bytes; nobody types a longer word

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af\u3005\u3007"
# Thai, Lao, Myanmar, Khmer, Tai, kana, bopomofo, Yi, Javanese, Hangul, without their punctuation: no spaces between
# words, or particles glued to them
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc\u17dd\u1950-\u19df"
    "\u1a20-\u1a9f\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31ff\ua000-\ua48c"
    "\ua980-\ua9c0\ua9e0-\ua9ff\uaa60-\uaadf\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff\U0001b000-\U0001b16f"
)
_EMOJI = (
    "\u231a-\u23fa\u25aa-\u2767\u2776-\u27bf\u2b05-\u2b55"
    "\U0001f004-\U0001f0cf\U0001f18e-\U0001f1e5\U0001f300-\U0001faff"
)
_FLAG = "[\U0001f1e6-\U0001f1ff]{1,2}"
# combining marks belong to the letter before them (Indic and Tibetan vowel signs, accents that do not compose)
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u05b0-\u05c7\u0610-\u061a\u064b-\u065f\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3"
    "\u0816-\u082d\u0859-\u085b\u08ca-\u08ff\u0900-\u0963\u0966-\u096f\u0971-\u0dff\u0f18\u0f19\u0f35\u0f37\u0f39"
    "\u0f71-\u0f84\u0f86-\u0fbc\u135d-\u135f\u1885\u1886\u18a9\u1b00-\u1b44\u1b80-\u1bad\u1c24-\u1c37\u1dc0-\u1dff"
    "\ua8e0-\ua8f1\uabe3-\uabed"
)
_LETTER = rf"[A-Za-z0-9]|(?![{_HAN}{_UNSPACED}])[^\W_]"
_ALNUM = rf"(?:{_LETTER})(?:{_LETTER}|[{_MARKS}])*+"
_JOINT = r"(?:_+|::|:\\|\\+|\+\+?|://|[.\-/'’@:]|(?<=[A-Za-z])&(?=[A-Za-z]))"
_BODIES = "(?i:gb(?:/?[tz])?|iso(?:/iec)?|iec|ieee|rfc|din|ansi|astm|jis|nist|itu)"  # also known in lower case

_PIECE = re.compile(
    rf"(?P<han>[{_HAN}]++)"
    rf"|(?P<unspaced>[{_UNSPACED}]++)"
    rf"|(?<![A-Za-z0-9_])(?P<standard>(?P<body>[A-Z]{{2,5}}(?:/[A-Z]{{1,4}})?|{_BODIES})[ ]?"
    rf"(?P<digits>\d++(?:\.\d++)*+[A-Za-z]{{0,3}}(?:[-:]\d++[A-Za-z]?)*+))(?![A-Za-z0-9_]|[-.:/@+&'][A-Za-z0-9])"
    rf"|(?<![A-Za-z0-9_])(?P<number>[{CURRENCIES}]?\d{{1,3}}(?:,\d{{3}})+(?:\.\d++)?[%‰]?)(?!\d)"
    rf"|(?P<word>(?:[{CURRENCIES}](?=\d))?{_ALNUM}(?:{_JOINT}{_ALNUM})*+"
    rf"(?:(?<=[A-Za-z])\+\+|(?<=[A-Za-z])(?<![A-Za-z0-9][A-Za-z])\#|(?<=\d)[%‰])?)"
    rf"|(?P<emoji>[{_EMOJI}]|{_FLAG})"
)
_ASKING = ASKING_HAN | {"#" + word for word in ASKING_HAN if len(word) == 2}
_IS_HAN = re.compile(f"[{_HAN}]")
_ONE_SYLLABLE = re.compile("([가-힣])(?:은|는|이|가|을|를|의|에|도|만|와|과|로)")  # and a Korean particle


def tokens(text: str) -> list[str]:
    """The terms of a text in reading order, with repetitions. No token is empty, blank or longer than 64 characters."""
    text = fold(text)
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
    return found if max(map(len, found), default=0) <= TOKEN_MAX_CHARS else _bounded(found)


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
