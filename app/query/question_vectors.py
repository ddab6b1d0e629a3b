"""Vectors of questions kept in Redis: the same question costs a round trip, and is answered when no embedder does.

Without Redis a vector is computed; nothing else changes, so nothing is said.
"""

import json
import logging
from contextlib import suppress
from dataclasses import astuple
from hashlib import sha256

import numpy as np

from app.errors import CacheUnavailable
from app.records import Space, Vector
from app.resources import Resources

_LOG = logging.getLogger(__name__)
_FORMAT = 1  # raise it when a vector is computed or written otherwise
_DTYPE = np.dtype("<f4")
_UNIT = 1e-3  # how far a length may be from 1


def read(text: str, space: Space, resources: Resources) -> Vector | None:
    """The vector that was computed for this very text, bit for bit, (dim,) float32; None where none is kept.

    What is no unit vector of the space's dimension counts as absent.
    """
    value = None
    if place := _key(text, space, resources):
        with suppress(CacheUnavailable):
            value = resources.cache.read(place)
    if value is None:
        return None
    vector = np.frombuffer(value, _DTYPE) if len(value) == space.identity.dim * _DTYPE.itemsize else np.empty(0)
    if not abs(np.linalg.norm(vector.astype(np.float64)) - 1) < _UNIT:  # NaN is not less either
        _LOG.warning("question_vectors.garbage space=%s", space.id)
        return None
    return vector.astype(np.float32)


def write(text: str, space: Space, vector: Vector, resources: Resources) -> None:
    """Keep a vector for a while."""
    if place := _key(text, space, resources):
        with suppress(CacheUnavailable):
            seconds = resources.settings.question_cache_seconds
            resources.cache.write(place, vector.astype(_DTYPE).tobytes(), seconds=seconds)


def _key(text: str, space: Space, resources: Resources) -> str | None:
    """The digest of all that the vector depends on. None: not to be kept, as without a fingerprint any model answers.

    The text is taken as it is: whatever a search folds (case, width), the model sees.
    """
    if space.fingerprint is None or not resources.settings.question_cache_seconds:
        return None
    parts = [_FORMAT, *astuple(space.identity), sha256(space.fingerprint.astype(_DTYPE).tobytes()).hexdigest(), text]
    return "question:" + sha256(json.dumps(parts).encode()).hexdigest()
