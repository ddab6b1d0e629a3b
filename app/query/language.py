"""Whether a chunk is written in another language than the question: then the two have hardly a word in common."""

import re

import numpy as np
from numpy.typing import NDArray

from app.records import Floats

HAN_LITTLE = 0.05  # of a chunk's characters: less than in any Chinese text, the occasional name in an English one
HAN_MUCH = 0.2
_HAN = re.compile(r"[\u3400-\u9fff]")


def is_chinese(text: str) -> bool:
    """Whether a text has a Han character: who writes Chinese may use English terms, hardly the other way round."""
    return _HAN.search(text) is not None


def differs(question: str, han_shares: Floats) -> NDArray[np.bool_]:
    """(n,) true where a chunk with that share of Han characters, 0 to 1, is not in the question's language.

    Only Chinese is told from all others. A chunk of both languages is in either; a question without letters in any.
    """
    if is_chinese(question):
        return han_shares < HAN_LITTLE
    if any(char.isalpha() for char in question):
        return han_shares > HAN_MUCH
    return np.zeros(len(han_shares), bool)
