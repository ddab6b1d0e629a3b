"""Several backends of one model: the first that answers. None is used in a space whose vectors it would not give."""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence

from app.clients import deadline
from app.clients.embedder import Embedder, probes
from app.errors import EmbedderUnavailable, EmbeddingFailed, WrongModel
from app.records import ModelIdentity, Vectors

_LOG = logging.getLogger(__name__)
_REFUSED_SECONDS = 60.0  # then it is probed again: its model may be the right one by now


class Chain:
    """An Embedder. `members` open the backends, by name, when they are first needed.

    `fingerprint` are the vectors that the space's probes have; None where the space is still to be made, by the first
    backend that answers.
    """

    def __init__(
        self,
        identity: ModelIdentity,
        members: Sequence[tuple[str, Callable[[], Embedder]]],
        fingerprint: Vectors | None,
        *,
        question_seconds: float = math.inf,
    ) -> None:
        """`question_seconds` are for questions, however many backends they go to, and for their probes."""
        self._question_seconds = question_seconds
        self._identity, self._members, self._fingerprint = identity, members, fingerprint
        self._checked: set[str] = set()
        self._refused: dict[str, tuple[float, str]] = {}
        self._lock = threading.Lock()

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._first(lambda embedder: embedder.embed_passages(texts))

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        with deadline.within(self._question_seconds):
            return self._first(lambda embedder: embedder.embed_questions(texts))

    def _first(self, ask: Callable[[Embedder], Vectors]) -> Vectors:
        """Raises EmbeddingFailed where one answered, but with nothing usable: the texts are at fault, or may be."""
        reasons, answered = [], False
        for name, opened in self._members:
            try:
                return ask(self._fit(name, opened()))
            except (EmbedderUnavailable, WrongModel) as e:
                self._checked.discard(name)  # it may come back with another model
                reasons.append(str(e))
            except EmbeddingFailed as e:
                answered = True
                reasons.append(str(e))
        raise (EmbeddingFailed if answered else EmbedderUnavailable)("; ".join(reasons))

    def _fit(self, name: str, embedder: Embedder) -> Embedder:
        """The backend, where it gives this space's vectors: asked once, and again when it was away."""
        if name in self._checked:
            return embedder
        until, reason = self._refused.get(name, (0.0, ""))
        if time.monotonic() < until:
            raise WrongModel(reason)
        vectors = probes.fingerprint(embedder)
        with self._lock:
            if self._fingerprint is None:
                self._fingerprint = vectors
            try:
                probes.require_same(name, vectors, self._fingerprint)
            except WrongModel as e:
                _LOG.error("embedder.refused backend=%s reason=%s", name, e)
                self._refused[name] = time.monotonic() + _REFUSED_SECONDS, str(e)
                raise
            self._checked.add(name)
        return embedder
