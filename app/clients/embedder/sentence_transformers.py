"""Models that run in this process by sentence-transformers (the extra `st`; it brings torch).

Which prefix a text gets is the space's affair: a model's own prompts are not used, so that none is put twice.
"""

from collections.abc import Sequence

import numpy as np

from app.clients.embedder import checked, known
from app.clients.embedder.model_folder import opened
from app.clients.embedder.windowed_model import WindowedModel
from app.clients.lazy_model import LazyModel, is_installed
from app.errors import EmbedderUnavailable, WrongModel
from app.records import ModelIdentity, Vectors

BACKEND = "sentence-transformers"


class SentenceTransformersEmbedder:
    """An Embedder. A model of more dimensions than the space has is shortened to its first ones (Matryoshka)."""

    def __init__(self, identity: ModelIdentity, *, load_seconds: float) -> None:
        """The model is loaded at the first use, which waits `load_seconds` for it.

        `identity.model` is a name on the Hugging Face hub or a local folder; `identity.dim` 0 means all the model has.
        Raises EmbedderUnavailable where the extra is not installed.
        """
        if not is_installed():
            raise EmbedderUnavailable(f"{BACKEND} is not installed: pip install -e '.[st]'")
        self._identity, self._seconds = identity, load_seconds
        name = known.name_at(BACKEND, identity.model)
        self._model = LazyModel(
            f"the embedding model {identity.model}", lambda: WindowedModel(opened(name)), EmbedderUnavailable
        )

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._identity.passage_prefix)

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._identity.query_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        if not texts:
            return np.empty((0, self._identity.dim), np.float32)
        checked.require_unicode(texts)
        vectors = self._model.get(self._seconds).encode([prefix + text for text in texts])
        has, wanted = vectors.shape[1], self._identity.dim or vectors.shape[1]
        if has < wanted:
            raise WrongModel(f"{self._identity.model} has {has} dimensions, the space has {wanted}")
        return checked.unit_rows(vectors[:, :wanted], count=len(texts), dim=wanted)
