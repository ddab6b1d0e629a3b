"""Take out of a vector what it says about its text's language alone.

The model places texts by language first: a Chinese question is nearer to any Chinese passage than to the English one
that answers it, so that a collection of both languages is half a collection to each question. The mean vector of a
language is what its texts have in common; with most of it subtracted, what is left is what a text is about.

Source: Libovický, Rosa, Fraser: On the Language Neutrality of Pre-trained Multilingual Representations, Findings of
EMNLP 2020. The means are those of passages from seven manuals that exist in both languages; `python -m
tests.bench.language_means` computes them.
"""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from app.clients.embedder import checked
from app.records import Vectors

KEPT_SHARE = 0.4  # of what both languages have in common; with none of it, texts of one language rank a little worse
_FILE = "language_means.npy"
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_LETTER = re.compile(r"[^\W\d_]")
_HAN_PER_TOKEN, _LATIN_PER_TOKEN, _OTHER_PER_TOKEN = 1.5, 4.5, 3.0


def centred(vectors: Vectors, texts: Sequence[str], *, questions: bool) -> Vectors:
    """Unit vectors (n, dim) less the part that each text's language accounts for, again of unit length."""
    shares = np.array([language_shares(text) for text in texts], np.float32).reshape(len(texts), 3)
    # not `shares @ offsets`: BLAS sums a row otherwise where there are other rows beside it
    parts = np.einsum("nk,kd->nd", shares, _offsets()[int(questions)])
    return checked.unit_rows(vectors - parts, count=len(texts), dim=vectors.shape[1])


def language_shares(text: str) -> tuple[float, float, float]:
    """How much of a text is Chinese, English (any Latin script) and other, by tokens; they sum to 1."""
    han, latin = len(_HAN.findall(text)), len(_LATIN.findall(text))
    other = len(_LETTER.findall(text)) - han - latin
    weights = (han / _HAN_PER_TOKEN, latin / _LATIN_PER_TOKEN, max(other, 0) / _OTHER_PER_TOKEN)
    total = sum(weights)
    return (weights[0] / total, weights[1] / total, weights[2] / total) if total else (0.0, 0.0, 1.0)


@cache
def _offsets() -> Vectors:
    """(2, 3, dim): for passages and questions, what is subtracted from Chinese, English and other texts."""
    with (files("app.clients.embedder") / _FILE).open("rb") as file:
        means = np.load(file, allow_pickle=False)  # (2, 2, dim): passages and questions; Chinese and English
    common = means.mean(axis=1, keepdims=True)
    offsets: Vectors = np.concatenate([means, common], axis=1) - KEPT_SHARE * common
    return offsets.astype(np.float32)
