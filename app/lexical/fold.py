"""Ways of writing that mean the same made one: width, composition, traditional Chinese, invisible marks, digits."""

import re
import unicodedata

from opencc import OpenCC

# raised, lowered and fractional digits stay what they are: 5² is not 52
KEPT_DIGITS = "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070\u2074-\u2079\u2080-\u2089\u2150-\u215e"
# normalising takes the square of the length of a run of marks, so a run is taken in pieces
_MARKS_AT_ONCE = 30  # as Unicode's Stream-Safe Text Format (UAX 15)
_PIECES = re.compile(f"([{KEPT_DIGITS}]+|(?:[^\\w\\s\\x00-\\x7f]|[\uff9e\uff9f]){{{_MARKS_AT_ONCE},}})")
# default-ignorable code points (Unicode, DerivedCoreProperties) and the skin tones of emoji
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U0001d173-\U0001d17a\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]+"
)
_DASHES = re.compile("[\u2010\u2011\u2212\ufe63\uff0d]|[\u2012-\u2015](?<=\\d.)(?=\\d)")  # GB/T 7714—2015
_OTHER_SCRIPT = re.compile("[\u0590-\u1fff\ua600-\uabff]")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
# Hebrew and Arabic points, and the letters that Arabic writers exchange (as Lucene's ArabicNormalizer)
_POINTS = dict.fromkeys([*range(0x0591, 0x05BE), 0x05BF, 0x05C1, 0x05C2, 0x05C4, 0x05C5, 0x05C7])
_POINTS |= dict.fromkeys([0x0640, 0x0670, *range(0x0610, 0x061B), *range(0x064B, 0x0660)])
_ARABIC = {**_POINTS, **str.maketrans("أإآٱىة", "اااايه")}

_simplify = OpenCC("t2s").convert


def fold(text: str) -> str:
    """NFKC, simplified Chinese, ASCII digits, no invisible characters. Case is kept: it marks parts of identifiers."""
    if text.isascii():
        return text
    text = _DASHES.sub("-", _INVISIBLE.sub("", text))
    text = "".join(_composed(piece, n % 2 == 1) for n, piece in enumerate(_PIECES.split(text)))
    if _OTHER_SCRIPT.search(text):
        text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.digit(digit.group())), text.translate(_ARABIC))
    if (simple := _simplify(text)) != text:
        simple = _simplify(simple)  # OpenCC keeps a sign in a traditional phrase that it changes in the simplified one
    return str(simple)


def _composed(piece: str, apart: bool) -> str:
    if not apart:
        return unicodedata.normalize("NFKC", piece)
    if piece[0].isnumeric():
        return piece
    runs = (piece[i : i + _MARKS_AT_ONCE] for i in range(0, len(piece), _MARKS_AT_ONCE))
    return "".join(unicodedata.normalize("NFKC", run) for run in runs)


def normalize(text: str) -> str:
    """The form in which two questions count as the same: folded, lower case, one space, no closing punctuation."""
    return " ".join(fold(text).lower().split()).strip(" ?!.,;:。，；、…~")


def unaccented(word: str) -> str:
    """A lower-case word without the accents of Latin, Greek and Cyrillic letters: café -> cafe, straße -> strasse."""
    apart = unicodedata.normalize("NFD", word.translate(_LETTERS))
    return unicodedata.normalize("NFC", "".join(c for c in apart if not "\u0300" <= c <= "\u036f")).casefold()


_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
