"""Turn texts into unit vectors. One protocol, one file per backend."""

from collections.abc import Sequence
from typing import Protocol

from app.records import ModelIdentity, Vectors


class Embedder(Protocol):
    """A model of one vector space. Safe to call from several threads."""

    @property
    def identity(self) -> ModelIdentity:
        """What makes its vectors comparable with others."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed texts to be found: (n, dim) float32, rows of unit length, in the order given; n may be 0.

        Raises EmbedderUnavailable where the backend does not answer, EmbeddingFailed where a vector is unusable.
        """
        ...

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, likewise."""
        ...
