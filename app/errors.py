"""What can go wrong, in the words of the domain. Nothing here knows HTTP or a driver."""


class RagledgerError(Exception):
    """The root of every error that ragledger raises on purpose. The message is for the user."""


class InvalidInput(RagledgerError):
    """The caller's input cannot be used. `field` names the part that is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.reason = message


class NotFound(RagledgerError):
    """What was named does not exist."""


class CollectionNotFound(NotFound):
    """No collection has this name."""


class Conflict(RagledgerError):
    """Another writer changed the same thing first, or the name is taken."""


class UnreadableDocument(RagledgerError):
    """A file yields no usable text; the message says why."""


class EmbeddingFailed(RagledgerError):
    """The embedder answered, but not with usable vectors (count, dimension, NaN, zero)."""


class EmbedderUnavailable(RagledgerError):
    """The embedder did not answer."""


class WrongModel(RagledgerError):
    """An embedder computes other vectors than those of the space that it was to serve."""


class RerankerUnavailable(RagledgerError):
    """The reranker did not answer in time, or cannot be loaded. Callers go on in the fused order."""


class RerankingFailed(RagledgerError):
    """The reranker answered, but not with usable scores (count, index, NaN). Callers go on in the fused order."""


class CacheUnavailable(RagledgerError):
    """Redis did not answer. Callers go on without the cache."""


class DatabaseUnavailable(RagledgerError):
    """PostgreSQL did not answer."""


class UnsupportedServer(RagledgerError):
    """The PostgreSQL server is too old, or lacks pgvector 0.8."""


class ServiceFailed(RagledgerError):
    """An embedded service could not be started or stopped; the message says what to do."""
