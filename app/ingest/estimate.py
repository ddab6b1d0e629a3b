"""What giving a collection another model would take, from a sample of its chunks; nothing is changed."""

import time
from dataclasses import dataclass

from app.db import collections, indexes, reembeddings
from app.records import ModelIdentity, Space
from app.resources import Resources

_SAMPLE_CHUNKS = 32
_ROW_BYTES = 52  # header and key of a stored vector
_KEY_BYTES = 40  # of its entry in the primary key's index
_LINKS_BYTES = 300  # of an element in an HNSW index besides its vector
_FULL, _HALF = 4, 2  # bytes of a component


@dataclass(frozen=True, slots=True)
class Estimate:
    """`seconds` to embed, with nothing else running; bytes of the new vectors, and of their index where one is due."""

    chunks: int
    distinct_texts: int
    spans: int
    characters: int
    sampled_chunks: int
    seconds: float
    vector_bytes: int
    index_bytes: int


def estimate(name: str, identity: ModelIdentity, resources: Resources) -> Estimate:
    """Embed a sample as the real run would, and extrapolate. Raises CollectionNotFound, EmbedderUnavailable."""
    with resources.database.read() as connection:
        collection = collections.get(connection, name)
        amounts = reembeddings.amounts(connection, collection.id)
        sample = reembeddings.sample(connection, collection.id, limit=_SAMPLE_CHUNKS)
    embedder = resources.backends.of(identity, None)
    spans = [chunk.text[span.start_char : span.end_char] for chunk in sample for span in chunk.spans]
    embedder.embed_passages([chunk.text for chunk in sample][:1])  # opens it, and what it warms up
    started = time.perf_counter()
    embedder.embed_passages([*(chunk.text for chunk in sample), *spans])
    of_chunk = (time.perf_counter() - started) / max(len(sample), 1)
    return Estimate(
        chunks=amounts.chunks,
        distinct_texts=amounts.distinct_texts,
        spans=amounts.spans,
        characters=amounts.characters,
        sampled_chunks=len(sample),
        seconds=of_chunk * amounts.distinct_texts,
        vector_bytes=vector_bytes(amounts.chunks, amounts.spans, identity.dim),
        index_bytes=_index_bytes(amounts.chunks, identity, resources),
    )


def vector_bytes(chunks: int, spans: int, dim: int) -> int:
    """On disk: chunks in full precision, spans in half, with their keys."""
    row = _ROW_BYTES + _KEY_BYTES
    return chunks * (row + _FULL * dim) + spans * (row + _HALF * dim)


def _index_bytes(chunks: int, identity: ModelIdentity, resources: Resources) -> int:
    indexed = indexes.indexed_type(Space(0, identity), half=resources.settings.hnsw_halfvec)
    if indexed is None or chunks <= resources.settings.exact_scan_max:
        return 0
    return chunks * (_LINKS_BYTES + (_HALF if indexed.startswith("halfvec") else _FULL) * identity.dim)
