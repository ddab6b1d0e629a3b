"""Run a model of sentence-transformers over texts of any length: its own modules, on windows of its own tokens."""

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from app.errors import EmbedderUnavailable, EmbeddingFailed
from app.records import Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Window = dict[str, list[int]]  # what the tokenizer gives the model, by name
_UNLIMITED = 1_000_000  # tokenizers without a limit say 10^30
_BATCH_WINDOWS = 32
_BATCH_TOKENS = 8_192  # padding included; bounds the memory that models of long texts take


class WindowedModel:
    """Safe to use from several threads. Text is taken as it is: no prompt of the model's configuration is added."""

    def __init__(self, model: "SentenceTransformer") -> None:
        """Raises EmbedderUnavailable where texts could not be cut to the model's length without loss."""
        tokenizer: Any = getattr(model[0], "tokenizer", None)
        if not getattr(tokenizer, "is_fast", False) or "message" in model.modalities:
            raise EmbedderUnavailable("it is not an encoder of text with a tokenizer of the library tokenizers")
        if not all(getattr(module, "include_prompt", True) for module in model):
            raise EmbedderUnavailable("it leaves what stands before a text out of its vector, but not a space's prefix")
        model.eval()
        if model.device.type == "cpu":
            model.float()  # models saved in half precision are slower there, and less exact
        self._model, self._tokenizer = model, tokenizer
        self._limit = _limit(model)
        self._specials: int = tokenizer.num_special_tokens_to_add()
        self._tokenizing = threading.Lock()  # truncation is a state of the tokenizer

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(n, dim), of any length; the vector of a text over the model's limit is the mean of its windows, weighted by
        their tokens. Raises EmbeddingFailed where the model fails."""
        try:
            return self._means(*self._windows(texts))
        except (RuntimeError, IndexError) as error:  # out of memory; a token that the model does not know
            raise EmbeddingFailed(f"the embedding model failed: {error}") from error

    def _means(self, numbers: list[int], windows: list[Window]) -> Vectors:
        totals: Vectors | None = None
        for batch in _batches([len(window["input_ids"]) for window in windows]):
            vectors = self._run([windows[n] for n in batch])
            if totals is None:
                totals = np.zeros((numbers[-1] + 1, vectors.shape[1]), np.float32)
            for n, vector in zip(batch, vectors, strict=True):
                totals[numbers[n]] += max(1, len(windows[n]["input_ids"]) - self._specials) * vector
        return np.empty((0, 0), np.float32) if totals is None else totals

    def _windows(self, texts: Sequence[str]) -> tuple[list[int], list[Window]]:
        """Which text each window is of, in order, and the windows: no token of a text is left out."""
        with self._tokenizing:
            found: dict[str, Any] = dict(
                self._tokenizer(
                    list(texts),
                    truncation=self._limit is not None,
                    max_length=self._limit,
                    return_overflowing_tokens=self._limit is not None,
                    verbose=False,
                )
            )
        numbers = found.pop("overflow_to_sample_mapping", range(len(texts)))
        return list(numbers), [dict(zip(found, parts, strict=True)) for parts in zip(*found.values(), strict=True)]

    def _run(self, windows: list[Window]) -> Vectors:
        import torch

        padded = self._tokenizer.pad(windows, padding=True, return_tensors="pt")
        with torch.inference_mode():
            features = self._model({name: values.to(self._model.device) for name, values in padded.items()})
            vectors: Vectors = features["sentence_embedding"].float().cpu().numpy()
        return vectors


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Numbers of windows, the longest first, so that those of a batch need little padding."""
    batch: list[int] = []
    for n in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        if len(batch) == _BATCH_WINDOWS or (batch and (len(batch) + 1) * lengths[batch[0]] > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(n)
    if batch:
        yield batch


def _limit(model: "SentenceTransformer") -> int | None:
    """The tokens that the model reads at once, special ones included; None: any number."""
    import torch

    limits = [model.max_seq_length or _UNLIMITED]
    for module in model.modules():
        table = getattr(module, "position_embeddings", None)
        if isinstance(table, torch.nn.Embedding):  # RoBERTa and its kind count positions from after the padding
            limits.append(table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1))
    return least if (least := min(limits)) < _UNLIMITED else None
