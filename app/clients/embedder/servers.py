"""The embedding servers that the settings name."""

from app.clients.embedder import known
from app.clients.embedder.calls import Calls, Patience
from app.clients.embedder.ollama import Ollama
from app.clients.embedder.openai import OpenAI
from app.clients.embedder.remote import Dialect, RemoteEmbedder, ask
from app.records import ModelIdentity
from app.settings import Settings

NAMES = ("ollama", "openai")


class Servers:
    """Embedders behind HTTP. Those of one server share its connections, and what is known of its being away."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        patience = Patience(
            settings.embed_timeout_seconds, settings.embed_question_timeout_seconds, settings.embed_retries
        )
        key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
        self._calls = {"ollama": Calls("ollama", None, patience), "openai": Calls("openai", key, patience)}

    def embedder(self, name: str, identity: ModelIdentity) -> RemoteEmbedder:
        """A model at one of NAMES. Asks nothing yet."""
        dialect = self._dialect(name, identity.model, identity.dim)
        return RemoteEmbedder(identity, known.find(identity.model), dialect, self._calls[name], self._settings)

    def dimension(self, name: str, model: str) -> int:
        """What the server has to say about a model. Raises EmbedderUnavailable, EmbeddingFailed."""
        width: int = ask(self._dialect(name, model, None), self._calls[name], ["dimension"]).shape[1]
        return width

    def _dialect(self, name: str, model: str, dim: int | None) -> Dialect:
        called = known.name_at(name, model)
        if name == "ollama":
            return Ollama(self._settings.ollama_base_url, called)
        found = known.find(model)
        shortened = found is not None and name in found.shortened_by and dim not in {None, found.dim}
        return OpenAI(self._settings.openai_base_url, called, dim if shortened else None)
