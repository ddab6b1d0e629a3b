"""An embedder behind HTTP, whatever it speaks: what texts need on the way there, and vectors on the way back."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from pydantic import ValidationError

from app.clients import deadline
from app.clients.embedder import batches, checked
from app.clients.embedder.calls import Calls, TooLong
from app.clients.embedder.known import Known
from app.errors import EmbeddingFailed, WrongModel
from app.records import Floats, ModelIdentity, Vectors
from app.settings import Settings

_SPECIAL_TOKENS = 8  # start, end, and what a server adds
_SURE = 0.95  # of a model's tokens are filled by the estimate
_SHORTEST_CHARS = 16  # a text that is refused as too long, though it has no more, is not refused for its length
_BYTES_PER_TEXT, _BYTES_BESIDE = 500_000, 100_000  # 16,000 dimensions of 25 digits, and what is around them


class Dialect(Protocol):
    """How a kind of server is asked for a model's vectors."""

    url: str

    def body(self, texts: Sequence[str]) -> dict[str, Any]: ...

    def rows(self, content: bytes) -> list[list[float]]:
        """The vectors in the order of the texts. Raises ValidationError, EmbeddingFailed."""
        ...


class RemoteEmbedder:
    """An Embedder. Its vectors may be cut to their first dimensions where `known` says so, or nothing is known.

    Raises WrongModel besides, where the server's vectors have another dimension than those of the space.
    """

    def __init__(
        self, identity: ModelIdentity, known: Known | None, dialect: Dialect, calls: Calls, settings: Settings
    ) -> None:
        self._identity, self._dialect, self._calls = identity, dialect, calls
        self._shortens = known.shortens if known else True
        self._max_tokens = known.max_tokens if known else None
        self._max_texts, self._max_chars = settings.embed_batch_texts, settings.embed_batch_chars
        self._question_seconds = settings.embed_question_timeout_seconds

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._identity.passage_prefix)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        with deadline.within(self._question_seconds):
            return self._embed(texts, self._identity.query_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        """A text that is too long for the model is the mean of its pieces, weighted by their characters."""
        checked.require_unicode(texts)
        room = None
        if self._max_tokens is not None:
            room = int(_SURE * self._max_tokens) - _SPECIAL_TOKENS - batches.most_tokens(prefix)
        owned = [(number, piece) for number, text in enumerate(texts) for piece in batches.pieces(text, room)]
        sums = np.zeros((len(texts), self._identity.dim))
        contents = [piece for _, piece in owned]
        for batch in batches.batched(contents, max_texts=self._max_texts, max_chars=self._max_chars):
            rows = self._rows([contents[n] for n in batch], prefix)
            for n, row in zip(batch, rows, strict=True):
                sums[owned[n][0]] += max(1, len(contents[n])) * row
        return checked.unit_rows(sums, count=len(texts), dim=self._identity.dim)

    def _rows(self, texts: Sequence[str], prefix: str) -> Floats:
        """(n, dim), each of length 1, or shorter where a text had to be divided."""
        try:
            return self._asked([prefix + text for text in texts])
        except TooLong:
            if len(texts) > 1:
                middle = len(texts) // 2
                return np.concatenate([self._rows(texts[:middle], prefix), self._rows(texts[middle:], prefix)])
            return self._divided(texts[0], prefix)

    def _divided(self, text: str, prefix: str) -> Floats:
        if len(text) <= _SHORTEST_CHARS:
            raise EmbeddingFailed(f"{self._identity.model} refuses even {len(text)} characters as too long")
        parts = batches.halves(text)
        rows = np.concatenate([self._rows([part], prefix) for part in parts])
        mean: Floats = np.average(rows, axis=0, weights=[len(part) for part in parts])
        return mean[None]

    def _asked(self, texts: Sequence[str]) -> Floats:
        rows = ask(self._dialect, self._calls, texts)
        width, dim = rows.shape[1], self._identity.dim
        if width < dim or (width > dim and not self._shortens):
            raise WrongModel(
                f"{self._identity.model} has {width} dimensions at its server, {dim} are needed"
                + (": shortening it is not known to keep what it means" if width > dim else "")
            )
        return checked.unit_rows(rows[:, :dim], count=len(texts), dim=dim).astype(np.float64)


def ask(dialect: Dialect, calls: Calls, texts: Sequence[str]) -> Floats:
    """One request: (n, d), d as the server has it. Raises EmbedderUnavailable, EmbeddingFailed, TooLong."""
    max_bytes = _BYTES_BESIDE + _BYTES_PER_TEXT * len(texts)
    content = calls.post(dialect.url, dialect.body(texts), max_bytes=max_bytes)
    try:
        rows = dialect.rows(content)
    except ValidationError as error:
        raise EmbeddingFailed(f"the embedder's answer cannot be read: {error.errors()[0]['msg']}") from None
    if len(rows) != len(texts):
        raise EmbeddingFailed(f"the embedder returned {len(rows)} vectors for {len(texts)} texts")
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise EmbeddingFailed("the embedder returned vectors of several dimensions, or of none")
    return np.array(rows, np.float64)
