"""BM25 as Lucene computes it, over numpy arrays.

Source: Kamphuis, de Vries, Boytsov, Lin: Which BM25 Do You Mean?, ECIR 2020 (variant "Lucene, accurate").
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.records import Floats


def idf(df: int, live_chunks: int) -> float:
    """Inverse document frequency in nats, > 0 for 0 <= df <= live_chunks: rarer terms weigh more."""
    return math.log(1 + (live_chunks - df + 0.5) / (df + 0.5))


def term_scores(
    tf: NDArray[np.integer], lengths: NDArray[np.integer], *, idf: float, mean_length: float, k1: float, b: float
) -> Floats:
    """Score one term in each chunk that holds it.

    tf (n,) counts > 0; lengths (n,) and mean_length > 0 in tokens; idf in nats. Returns (n,) >= 0, less than
    idf * (k1 + 1), comparable only within one question. Raises ValueError where the shapes differ.
    """
    if tf.shape != lengths.shape:
        raise ValueError(f"tf {tf.shape} and lengths {lengths.shape} differ")
    counts = tf.astype(np.float64)
    return idf * (k1 + 1) * counts / (counts + k1 * (1 - b + b * lengths / mean_length))


def bound(weighted_idfs: float, k1: float) -> float:
    """The score that no chunk can reach: sum of count * idf over the question's terms, times (k1 + 1)."""
    return weighted_idfs * (k1 + 1)
