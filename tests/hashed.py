"""Models that are made in no time: a text is the sum of its words, each a random direction that follows from the
model's name. Two of them compare texts alike and each other's vectors not at all, although their dimensions are equal.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256

import numpy as np

from app.clients.embedder import Embedder, checked, probes
from app.clients.embedder.backends import Backends
from app.records import Floats, ModelIdentity, Vectors
from app.settings import Settings

DIM = 64


def identity(name: str, dim: int = DIM) -> ModelIdentity:
    return ModelIdentity("hashed", name, dim, "", "")


OLD, NEW = identity("old"), identity("new")


@dataclass
class Hashed:
    """An Embedder. `passages` counts what it embedded, probes apart; `seconds` is how long each call takes."""

    identity: ModelIdentity
    seconds: float = 0
    passages: Counter[str] = field(default_factory=Counter)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        time.sleep(self.seconds)
        self.passages.update(text for text in texts if text not in probes.TEXTS)
        return self.embed_questions(texts)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        rows = [_sum(text, self.identity.model, self.identity.dim) for text in texts]
        return checked.unit_rows(
            np.array(rows, np.float32).reshape(-1, self.identity.dim), count=len(texts), dim=self.identity.dim
        )


def backends(settings: Settings, *embedders: Embedder) -> Backends:
    """Backends that have these embedders open."""
    return Backends(settings, {(each.identity.backend, each.identity): each for each in embedders})


def _sum(text: str, model: str, dim: int) -> Floats:
    total: Floats = np.sum([_direction(word, model, dim) for word in [model, *text.lower().split()]], axis=0)
    return total


@cache
def _direction(word: str, model: str, dim: int) -> Floats:
    seed = int.from_bytes(sha256(f"{model} {word}".encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dim)
