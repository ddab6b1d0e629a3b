"""A cross-encoder on this machine, run by sentence-transformers (the extra `st`; it brings torch)."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from app.clients.lazy_model import LazyModel
from app.errors import RerankerUnavailable, RerankingFailed
from app.records import Floats

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_BATCH_TEXTS = 16  # between two batches the clock is read


class CrossEncoderReranker:
    """A Reranker. Scores are the sigmoid of the model's one logit, in [0, 1], whatever its own configuration says."""

    def __init__(self, model: str, *, max_tokens: int, timeout_seconds: float) -> None:
        """`model` is a name on the Hugging Face hub or a local folder; it is loaded at the first use."""
        self._name, self._max_tokens, self._timeout_seconds = model, max_tokens, timeout_seconds
        self._model = LazyModel(f"the cross-encoder {model}", self._load, RerankerUnavailable)

    @property
    def identity(self) -> str:
        return self._name

    def score(self, question: str, texts: Sequence[str]) -> Floats:
        model = self._model.get()
        deadline = time.monotonic() + self._timeout_seconds
        longest_first = sorted(range(len(texts)), key=lambda n: -len(texts[n]))  # equal lengths need no padding
        scores = np.empty(len(texts))
        for start in range(0, len(texts), _BATCH_TEXTS):
            if time.monotonic() > deadline:
                raise RerankerUnavailable("the cross-encoder took longer than RERANKER_TIMEOUT_SECONDS")
            batch = longest_first[start : start + _BATCH_TEXTS]
            scores[batch] = self._predicted(model, [(question, texts[n]) for n in batch])
        return scores

    def _predicted(self, model: "CrossEncoder", pairs: list[tuple[str, str]]) -> Floats:
        import torch

        try:
            scores = model.predict(pairs, activation_fn=torch.nn.Sigmoid(), show_progress_bar=False)
        except (RuntimeError, IndexError) as error:  # out of memory; a token that the model does not know
            raise RerankingFailed(f"the cross-encoder failed: {error}") from error
        found = np.asarray(scores, np.float64)
        if found.shape != (len(pairs),) or not np.isfinite(found).all():
            raise RerankingFailed(f"the cross-encoder gave no usable scores for {len(pairs)} texts")
        return found

    def _load(self) -> "CrossEncoder":
        from sentence_transformers import CrossEncoder

        model = CrossEncoder(self._name)
        if model.num_labels != 1:
            raise RerankerUnavailable(f"it has {model.num_labels} outputs; a reranker has one")
        model.max_seq_length = min(self._max_tokens, model.max_seq_length or self._max_tokens)  # never over its own
        return model
