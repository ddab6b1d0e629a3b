"""Refuse texts that no model reads and vectors that could not be compared, naming the first."""

from collections.abc import Sequence

import numpy as np

from app.errors import EmbeddingFailed
from app.records import Floats, Vectors


def unit_rows(vectors: Vectors | Floats, *, count: int, dim: int) -> Vectors:
    """The vectors scaled to length 1. Raises EmbeddingFailed unless they are (count, dim), finite and not zero."""
    if vectors.shape != (count, dim):
        raise EmbeddingFailed(f"the embedder returned an array of {vectors.shape}, expected ({count}, {dim})")
    with np.errstate(over="ignore"):  # a length beyond float64 is infinite, and refused
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    usable = np.isfinite(lengths[:, 0]) & (lengths[:, 0] > 0)
    if not usable.all():
        number = int(np.flatnonzero(~usable)[0])
        raise EmbeddingFailed(f"the embedder returned no usable vector for text {number} of {count}")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit


def require_unicode(texts: Sequence[str]) -> None:
    """Raises EmbeddingFailed where a text holds half of a character (a lone surrogate)."""
    for number, text in enumerate(texts):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise EmbeddingFailed(f"text {number} is not valid Unicode: {error.reason}") from error
