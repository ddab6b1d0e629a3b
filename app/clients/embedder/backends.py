"""Open the configured backends, and those that existing spaces need, each once."""

import threading
from collections.abc import Callable, Mapping
from functools import cached_property, partial

from app.clients.embedder import Embedder, known, servers
from app.clients.embedder.builtin import IDENTITY, BuiltinEmbedder
from app.clients.embedder.chain import Chain
from app.clients.embedder.known import Known
from app.clients.embedder.servers import Servers
from app.errors import EmbedderUnavailable, EmbeddingFailed, InvalidInput
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
        """The embedder of new collections.

        Raises EmbedderUnavailable where its dimension must be asked for in vain, InvalidInput where it cannot have the
        one in the settings.
        """
        return self.of(self._identity(), None)

    def of(self, identity: ModelIdentity, fingerprint: Vectors | None) -> Embedder:
        """The embedder of a space: its own backend, then the others that are configured for the same model."""
        key = identity, b"" if fingerprint is None else fingerprint.tobytes()
        with self._lock:
            if key not in self._chains:
                names = dict.fromkeys([identity.backend, *self._fallbacks(identity)])
                members = [(name, partial(self._open, name, identity)) for name in names]
                seconds = self._settings.embed_question_timeout_seconds
                self._chains[key] = Chain(identity, members, fingerprint, question_seconds=seconds)
            return self._chains[key]

    def _identity(self) -> ModelIdentity:
        """Of the model that the settings name."""
        s = self._settings
        if s.embed_model is None:
            return IDENTITY
        model = known.find(s.embed_model)
        query, passage = (model.query_prefix, model.passage_prefix) if model else ("", "")
        return ModelIdentity(
            backend=s.embed_backends[0],
            model=model.model if model else s.embed_model,
            dim=_dimension(model, s.embed_dim) if model else s.embed_dim or self._asked_dimension(s.embed_model),
            query_prefix=query if s.embed_query_prefix is None else s.embed_query_prefix,
            passage_prefix=passage if s.embed_passage_prefix is None else s.embed_passage_prefix,
        )

    def _asked_dimension(self, model: str) -> int:
        """What the first backend that answers says of a model that is not known."""
        reasons = []
        for name in self._settings.embed_backends:
            try:
                return self._dimension_at(name, model)
            except (EmbedderUnavailable, EmbeddingFailed) as e:
                reasons.append(str(e))
        raise EmbedderUnavailable(
            f"the dimension of {model} is not known, and could not be asked for: say it in EMBED_DIM, or start the "
            f"backend ({'; '.join(reasons)})"
        )

    def _dimension_at(self, name: str, model: str) -> int:
        if name in servers.NAMES:
            return self._servers.dimension(name, model)
        if name == "sentence-transformers":
            return len(self._sentence_transformers(ModelIdentity(name, model, 0, "", "")).embed_passages(["?"])[0])
        raise EmbedderUnavailable(f"there is no backend {name}")

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

    @cached_property
    def _servers(self) -> Servers:
        return Servers(self._settings)

    def _made(self, name: str) -> Callable[[ModelIdentity], Embedder]:
        if name == "builtin":
            return self._builtin
        if name in servers.NAMES:
            return partial(self._servers.embedder, name)
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


def _dimension(model: Known, wanted: int | None) -> int:
    """Raises InvalidInput where a known model has no vectors of that dimension."""
    if wanted is None or wanted == model.dim:
        return model.dim
    if wanted > model.dim:
        raise InvalidInput("EMBED_DIM", f"{model.model} has {model.dim} dimensions, not {wanted}")
    if not model.shortens:
        raise InvalidInput(
            "EMBED_DIM",
            f"{model.model} was not made to be shortened: its {model.dim} dimensions cannot become {wanted}",
        )
    return wanted
