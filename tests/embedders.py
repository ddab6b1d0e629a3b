"""Embedders that tests put in the place of real ones, to see what becomes of a question or a document without them."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.clients.embedder import Embedder
from app.errors import EmbedderUnavailable
from app.records import ModelIdentity, Vectors


@dataclass
class Away:
    """An embedder whose backend does not answer."""

    identity: ModelIdentity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderUnavailable(f"secret-host refused {len(texts)} texts")

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderUnavailable(f"secret-host refused {len(texts)} texts")


@dataclass
class Only:
    """Backends that have one embedder, for every space."""

    configured: Embedder

    def of(self, _identity: ModelIdentity, _fingerprint: Vectors | None) -> Embedder:
        return self.configured
