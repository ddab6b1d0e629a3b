"""Embedders that tests put in the place of real ones, to see what becomes of a question or a document without them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from app.clients.embedder import Embedder
from app.errors import EmbedderUnavailable, EmbeddingFailed
from app.records import ModelIdentity, Vectors
from app.resources import Resources


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


@dataclass
class Watched:
    """A real embedder that remembers the texts it was asked for, and refuses those that hold `refused`.

    `meanwhile` happens before the passages are embedded, once.
    """

    real: Embedder
    refused: str = "\0"
    asked: list[str] = field(default_factory=list)
    calls: int = 0
    meanwhile: list[Callable[[], object]] = field(default_factory=list)

    @property
    def identity(self) -> ModelIdentity:
        return self.real.identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        self.asked += texts
        if self.meanwhile:
            self.meanwhile.pop()()
        if any(self.refused in text for text in texts):
            raise EmbeddingFailed("no usable vector for a text")
        return self.real.embed_passages(texts)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return self.real.embed_questions(texts)


def put(resources: Resources, embedder: Embedder) -> None:
    """Let these resources have no other embedder."""
    vars(resources)["backends"] = Only(embedder)
