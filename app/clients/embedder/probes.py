"""Tell whether two backends compute the same vectors: they embed a few fixed texts, and the vectors are compared."""

import numpy as np

from app.clients.embedder import Embedder
from app.errors import WrongModel
from app.records import Vectors

SAME_COSINE = 0.99
# of both languages, with what weak conversions of a model get wrong: case, digits, code, full width, a longer text
TEXTS = (
    "The warranty of the grinder ends two years after the day of purchase.",
    "本产品自购买之日起保修两年，人为损坏不在保修范围之内。",
    "HTTP 503 Service Unavailable: retry with max_attempts=5 after E-204",
    "如何在 PostgreSQL 里为 jsonb 字段建立 GIN 索引？",
)


def fingerprint(embedder: Embedder) -> Vectors:
    """The vectors of the probes as passages: (4, dim). Raises EmbedderUnavailable, EmbeddingFailed."""
    return embedder.embed_passages(TEXTS)


def require_same(name: str, vectors: Vectors, expected: Vectors) -> None:
    """Raises WrongModel where a backend's probes are not those that a space's vectors were made with."""
    if vectors.shape != expected.shape:
        raise WrongModel(f"{name} gives vectors of {vectors.shape[1]} dimensions, the space has {expected.shape[1]}")
    cosines = np.einsum("ij,ij->i", vectors, expected)
    if (least := float(cosines.min())) < SAME_COSINE:
        raise WrongModel(
            f"{name} computes other vectors than those of the space (cosine {least:.3f} on a probe text, at least "
            f"{SAME_COSINE} is needed): it runs another model, or the same one with another pooling or prefix"
        )
