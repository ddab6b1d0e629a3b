"""Give chunks and spans their vectors, outside any transaction; equal texts are embedded once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from app.db import collections, vectors
from app.db.pool import Db
from app.records import Chunk, Collection, Vector
from app.resources import Resources

_OTHERS = 8  # collections of the same space whose vectors are taken too


@dataclass(frozen=True, slots=True)
class Embedded:
    """Chunks with what is stored beside them; all tuples are in the same order."""

    chunks: tuple[Chunk, ...]
    hashes: tuple[str, ...]
    vectors: tuple[Vector, ...]
    span_vectors: tuple[tuple[Vector, ...], ...]
    reused: int  # chunks whose vector the collection had; what others have is not told


def text_hash(text: str) -> str:
    """The sha-256 of a text, in hex."""
    return sha256(text.encode()).hexdigest()


def embed(documents: Sequence[Sequence[Chunk]], collection: Collection, resources: Resources) -> list[Embedded]:
    """Read the vectors of known texts and compute the others, of several documents at once.

    Raises EmbedderUnavailable, EmbeddingFailed.
    """
    chunks = [chunk for document in documents for chunk in document]
    hash_of = {text: text_hash(text) for text in dict.fromkeys(chunk.text for chunk in chunks)}
    with resources.database.read() as connection:
        of_chunk, of_span = _known(hash_of, collection, connection)
        own = frozenset(of_chunk)
        # one by one, as where tables are distributed a statement names its collection
        for other in collections.sharing(connection, collection, limit=_OTHERS):
            if lacking := {text: digest for text, digest in hash_of.items() if text not in of_chunk}:
                more_chunks, more_spans = _known(lacking, other, connection)
                of_chunk, of_span = more_chunks | of_chunk, more_spans | of_span
    missing = dict.fromkeys(text for text in hash_of if text not in of_chunk)
    missing |= dict.fromkeys(text for chunk in chunks for text in _span_texts(chunk) if text not in of_span)
    computed = dict(zip(missing, resources.embedder_of(collection.space).embed_passages(list(missing)), strict=True))
    of_chunk, of_span = {**computed, **of_chunk}, {**computed, **of_span}
    return [
        Embedded(
            tuple(document),
            tuple(hash_of[chunk.text] for chunk in document),
            tuple(of_chunk[chunk.text] for chunk in document),
            tuple(tuple(of_span[text] for text in _span_texts(chunk)) for chunk in document),
            sum(chunk.text in own for chunk in document),
        )
        for document in documents
    ]


def _known(
    hash_of: Mapping[str, str], collection: Collection, connection: Db
) -> tuple[dict[str, Vector], dict[str, Vector]]:
    """The stored vectors by text: of chunks in full precision, of spans in half. They are not exchanged."""
    ids = vectors.known_chunks(connection, collection, list(hash_of.values()))
    text_of = {ids[digest]: text for text, digest in hash_of.items() if digest in ids}
    of_chunk = {text_of[i]: vector for i, vector in vectors.of_chunks(connection, collection, text_of).items()}
    spans = vectors.of_spans(connection, collection, text_of)
    return of_chunk, {text_of[i][start:end]: vector for (i, start, end), vector in spans.items()}


def _span_texts(chunk: Chunk) -> list[str]:
    return [chunk.text[span.start_char : span.end_char] for span in chunk.spans]
