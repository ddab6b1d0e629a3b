"""Synthetic chunks whose words are spread as words are: the n-th most frequent one stands in proportion to 1/n."""

import numpy as np

from app.records import Ints

VOCABULARY = 500_000
TOKENS_PER_CHUNK = 50  # on average; the lengths spread as those of paragraphs
QUESTION_TERMS = 5


def words() -> list[str]:
    """The vocabulary, most frequent word first."""
    return [f"w{rank}" for rank in range(VOCABULARY)]


def chunks(count: int, seed: int = 7) -> tuple[Ints, Ints]:
    """`count` chunks as (the words' numbers one chunk after the other, lengths (count,))."""
    rng = np.random.default_rng(seed)
    lengths = 1 + rng.gamma(4, (TOKENS_PER_CHUNK - 1) / 4, count).astype(np.int64)
    return _drawn(rng, int(lengths.sum())), lengths


def questions(count: int, seed: int = 8) -> list[list[str]]:
    """Questions of five words; all orders of frequency are equally likely, so that rare and frequent ones mix."""
    rng = np.random.default_rng(seed)
    ranks = np.exp(rng.uniform(0, np.log(VOCABULARY), (count, QUESTION_TERMS))).astype(np.int64)
    return [[f"w{rank - 1}" for rank in row] for row in ranks]


def _drawn(rng: np.random.Generator, count: int) -> Ints:
    share = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    drawn: Ints = np.searchsorted(share, rng.random(count) * share[-1])
    return drawn
