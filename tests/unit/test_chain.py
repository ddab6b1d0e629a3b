"""Several backends of one model: the first that answers, and none whose vectors are others."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

from app.clients.embedder import Embedder, checked, probes
from app.clients.embedder.chain import Chain
from app.errors import EmbedderUnavailable
from app.records import ModelIdentity, Vectors
from tests.embedders import Away

IDENTITY = ModelIdentity("first", "model", 8, "q: ", "p: ")


@dataclass
class Hashing:
    """A model of its own for each seed; `noise` is what a conversion of its weights changes."""

    seed: int = 0
    noise: float = 0.0
    identity: ModelIdentity = IDENTITY
    asked: list[int] = field(default_factory=list)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(len(texts))
        rows = [np.random.default_rng([self.seed, *text.encode()]).normal(size=8) for text in texts]
        drift = np.random.default_rng(len(texts)).normal(size=(len(texts), 8)) * self.noise
        return checked.unit_rows((np.array(rows) + drift).astype(np.float32), count=len(texts), dim=8)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self.embed_passages(texts)


def chain(*members: Embedder, fingerprint: Vectors | None = None) -> Chain:
    def opened(member: Embedder) -> Embedder:
        return member

    named: list[tuple[str, Callable[[], Embedder]]] = [(f"b{n}", partial(opened, m)) for n, m in enumerate(members)]
    return Chain(IDENTITY, named, fingerprint)


def test_the_first_backend_that_answers_is_asked() -> None:
    first, second = Hashing(), Hashing(noise=0.001)
    assert (chain(first, second).embed_passages(["a"]) == first.embed_passages(["a"])).all()
    assert second.asked == []
    assert (chain(Away(IDENTITY), second).embed_questions(["a"]) == second.embed_questions(["a"])).all()


def test_a_backend_is_probed_once() -> None:
    only = Hashing()
    asked = chain(only)
    for _ in range(3):
        asked.embed_questions(["a"])
    assert only.asked == [len(probes.TEXTS), 1, 1, 1]


def test_another_model_is_refused_with_the_reason_and_the_next_one_is_asked() -> None:
    right, wrong = Hashing(), Hashing(seed=1)
    fingerprint = probes.fingerprint(right)
    assert (chain(wrong, right, fingerprint=fingerprint).embed_passages(["a"]) == right.embed_passages(["a"])).all()
    refusing = chain(wrong, fingerprint=fingerprint)
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable, match=r"b0 computes other vectors .*cosine .*0\.99"):
            refusing.embed_passages(["a"])
    assert wrong.asked == [len(probes.TEXTS), len(probes.TEXTS)]  # of each chain once


def test_a_backend_that_was_away_is_probed_again() -> None:
    now: list[Embedder] = [Hashing()]
    asked = Chain(IDENTITY, [("b0", lambda: now[0])], None)
    asked.embed_passages(["a"])
    now[0] = Away(IDENTITY)
    with pytest.raises(EmbedderUnavailable, match="refused 1 texts"):
        asked.embed_passages(["a"])
    now[0] = Hashing(seed=1)
    with pytest.raises(EmbedderUnavailable, match="computes other vectors"):
        asked.embed_passages(["a"])


def test_a_refused_backend_is_asked_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.clients.embedder.chain._REFUSED_SECONDS", 0.05)
    now: list[Embedder] = [Hashing(seed=1)]
    asked = Chain(IDENTITY, [("b0", lambda: now[0])], probes.fingerprint(Hashing()))
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable, match="computes other vectors"):
            asked.embed_passages(["a"])
    now[0] = Hashing()
    time.sleep(0.05)
    assert (asked.embed_passages(["a"]) == Hashing().embed_passages(["a"])).all()


def test_a_backend_of_another_dimension_is_refused() -> None:
    with pytest.raises(EmbedderUnavailable, match="8 dimensions, the space has 5"):
        chain(Hashing(), fingerprint=np.eye(4, 5, dtype=np.float32)).embed_passages(["a"])


def test_a_new_space_is_held_to_the_backend_that_answered_first() -> None:
    now: list[Embedder] = [Hashing(), Hashing(seed=1)]
    asked = Chain(IDENTITY, [("b0", lambda: now[0]), ("b1", lambda: now[1])], None)
    asked.embed_passages(["a"])
    now[0] = Away(IDENTITY)
    with pytest.raises(EmbedderUnavailable, match=r"secret-host.*b1 computes other vectors"):
        asked.embed_passages(["a"])


def test_where_none_answers_every_reason_is_told() -> None:
    with pytest.raises(EmbedderUnavailable, match="refused 4 texts; secret-host refused 4 texts"):
        chain(Away(IDENTITY), Away(IDENTITY)).embed_passages(["a"])
