"""Estimate how many tokens a language model makes of a text, without the model's vocabulary.

A sum over characters by script, so that any part of a text is one subtraction away. The weights are a least-squares
fit, rounded, to the built-in model's SentencePiece vocabulary (XLM-R's, 250,000 pieces) over Chinese and English
encyclopedia paragraphs, technical documentation and program text. On those the sum is within 7 % of a corpus's true
count and, for 19 of 20 passages of 1,200 characters, within 22 %. Other models' vocabularies differ by as much.
"""

import numpy as np

from app.records import Ints

# in hundredths of a token, so that sums are exact
_SPACE, _MARK, _DIGIT, _LETTER, _FOREIGN, _UNSPACED, _HAN = 55, 87, 43, 14, 20, 70, 75
CHARS_PER_TOKEN_MAX = 100 / _LETTER
# where a run of code points of one weight begins; what no script claims is a mark (punctuation, symbols, emoji)
_RUNS = (
    (0, _MARK), (0x09, _SPACE), (0x0E, _MARK), (0x20, _SPACE), (0x21, _MARK), (0x30, _DIGIT), (0x3A, _MARK),
    (0x41, _LETTER), (0x5B, _MARK), (0x61, _LETTER), (0x7B, _MARK), (0xA0, _SPACE), (0xA1, _MARK),
    (0xC0, _FOREIGN), (0x0E00, _UNSPACED), (0x0F00, _FOREIGN), (0x1000, _UNSPACED), (0x10A0, _FOREIGN),
    (0x1100, _UNSPACED), (0x1200, _FOREIGN), (0x1780, _UNSPACED), (0x1800, _FOREIGN), (0x2000, _SPACE),
    (0x200B, _MARK), (0x2C00, _FOREIGN), (0x2E00, _MARK), (0x3000, _SPACE), (0x3001, _MARK), (0x3005, _HAN),
    (0x3008, _MARK), (0x3040, _UNSPACED), (0x3200, _MARK), (0x3400, _HAN), (0x4DC0, _MARK), (0x4E00, _HAN),
    (0xA000, _FOREIGN), (0xAC00, _UNSPACED), (0xD7B0, _FOREIGN), (0xF900, _HAN), (0xFB00, _FOREIGN),
    (0xFE00, _MARK), (0xFE70, _FOREIGN), (0xFF00, _MARK), (0x20000, _HAN), (0x32400, _MARK),
)  # fmt: skip
_STARTS = np.array([start for start, _ in _RUNS], np.uint32)
_WEIGHTS = np.array([weight for _, weight in _RUNS], np.int64)


def token_marks(text: str) -> Ints:
    """(n + 1,) for n characters, rising from 0: `text[a:b]` has `marks[b] - marks[a]` hundredths of a token."""
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    weights = _WEIGHTS[np.searchsorted(_STARTS, codes, "right") - 1]
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(weights)))


def whole_tokens(hundredths: int) -> int:
    """Rounded up: a text of one character is one token."""
    return -(-hundredths // 100)


def estimated_tokens(text: str) -> int:
    """The estimate for a whole text."""
    return whole_tokens(int(token_marks(text)[-1]))
