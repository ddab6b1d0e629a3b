"""Open the configured backends, and those that existing spaces need, each once."""

import threading
from collections.abc import Callable, Mapping
from functools import cached_property, partial

from app.clients.embedder import Embedder, known
from app.clients.embedder.builtin import IDENTITY, BuiltinEmbedder
from app.clients.embedder.chain import Chain
from app.errors import EmbedderUnavailable
from app.records import ModelIdentity, Vectors
from app.settings import Settings


class Backends:
    """The embedders of a process, by backend and model. Safe to use from several threads."""

    def __init__(self, settings: Settings, opened: Mapping[tuple[str, ModelIdentity], Embedder] | None = None) -> None:
        """`opened` are open already, and shared with others."""
        self._settings = settings
        self._opened = dict(opened or {})
        self._chains: dict[tuple[ModelIdentity, bytes], Chain] = {}
        self._lock = threading.RLock()

    @cached_property
    def configured(self) -> Embedder:
        """The embedder of new collections. Raises EmbedderUnavailable where its dimension must be asked for in vain."""
        return self.of(self._identity(), None)

    def of(self, identity: ModelIdentity, fingerprint: Vectors | None) -> Embedder:
        """The embedder of a space: its own backend, then the others that are configured for the same model."""
        key = identity, b"" if fingerprint is None else fingerprint.tobytes()
        with self._lock:
            if key not in self._chains:
                names = dict.fromkeys([identity.backend, *self._fallbacks(identity)])
                members = [(name, partial(self._open, name, identity)) for name in names]
                self._chains[key] = Chain(identity, members, fingerprint)
            return self._chains[key]

    def _identity(self) -> ModelIdentity:
        """Of the model that the settings name."""
        s = self._settings
        if s.embed_model is None:
            return IDENTITY
        model = known.find(s.embed_model)
        if (dim := s.embed_dim or (model.dim if model else None)) is None:
            raise EmbedderUnavailable(f"{s.embed_model} is not known: say its dimension in EMBED_DIM")
        query, passage = (model.query_prefix, model.passage_prefix) if model else ("", "")
        return ModelIdentity(
            backend=s.embed_backends[0],
            model=model.model if model else s.embed_model,
            dim=dim,
            query_prefix=query if s.embed_query_prefix is None else s.embed_query_prefix,
            passage_prefix=passage if s.embed_passage_prefix is None else s.embed_passage_prefix,
        )

    def _fallbacks(self, identity: ModelIdentity) -> list[str]:
        """The configured backends, where the configured model is this one."""
        model = self._settings.embed_model
        return list(self._settings.embed_backends) if model and _canonical(model) == identity.model else []

    def _open(self, name: str, identity: ModelIdentity) -> Embedder:
        key = name, identity
        with self._lock:
            if key not in self._opened:
                self._opened[key] = self._made(name)(identity)
            return self._opened[key]

    def _made(self, name: str) -> Callable[[ModelIdentity], Embedder]:
        if name == "builtin":
            return self._builtin
        if name == "sentence-transformers":
            return self._sentence_transformers
        raise EmbedderUnavailable(f"there is no backend {name}")

    def _builtin(self, identity: ModelIdentity) -> Embedder:
        if identity != IDENTITY:
            raise EmbedderUnavailable(f"builtin has one model, {IDENTITY.model}, not {identity.model}")
        return BuiltinEmbedder(self._settings.ragledger_home / "models", self._settings.embed_threads)

    def _sentence_transformers(self, identity: ModelIdentity) -> Embedder:
        from app.clients.embedder.sentence_transformers import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(identity, load_seconds=self._settings.embed_timeout_seconds)


def _canonical(model: str) -> str:
    return found.model if (found := known.find(model)) else model
