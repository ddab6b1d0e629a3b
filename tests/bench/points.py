"""Vectors and documents for the benches of the vector path: no text is embedded, so a million of them take minutes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from app.db import collections, documents, vectors
from app.ingest.embed import text_hash
from app.records import Chunk, Collection, ModelIdentity, Source, Space, Splitting, Vectors
from app.resources import Resources

DIM = 384
CHUNKS_PER_DOCUMENT = 20
_TEXT = "The grinder has eleven settings, and the kettle holds twelve litres of water. " * 8
_SPECTRUM = np.arange(1, DIM + 1, dtype=np.float32) ** -0.5  # standard deviations along the axes
_AXES = _SPECTRUM / np.linalg.norm(_SPECTRUM)
_SPREAD, _COMMON = 2.0, 2.0  # of points around a centre, and what all have in common, by the spread of the centres
_QUESTION_SPREAD = 0.4  # of a question around its passage: a cosine of about 0.93
_PER_CLUSTER = 200
_BATCH_DOCUMENTS = 250


def clustered(n: int, rng: np.random.Generator) -> Vectors:
    """A mixture of Gaussians on the sphere: subjects around a common direction, with a spectrum that falls.

    Shaped after the passages of the five public sets under the built-in model. 2,500 have, of theirs and of these: a
    local intrinsic dimension (Levina and Bickel, k = 50) of 26.7 and 26.3, a distance to the nearest of 0.72 and 0.73,
    a mean cosine of 0.44 and 0.45. Uniform noise, or clusters at right angles, are much harder for HNSW.
    """
    centres = _drawn(max(1, n // _PER_CLUSTER), rng)
    centres += _COMMON * _unit(rng.standard_normal((1, DIM), dtype=np.float32))
    made = np.empty((n, DIM), np.float32)
    for start in range(0, n, 100_000):
        part = made[start : start + 100_000]
        part[:] = _unit(centres[rng.integers(len(centres), size=len(part))] + _SPREAD * _drawn(len(part), rng))
    return made


def _drawn(n: int, rng: np.random.Generator) -> Vectors:
    return rng.standard_normal((n, DIM), dtype=np.float32) * _AXES


def questions(points: Vectors, n: int, rng: np.random.Generator) -> Vectors:
    """Members moved a little, as a question lies near the passages that answer it."""
    chosen = points[rng.choice(len(points), n, replace=False)]
    return _unit(chosen + _QUESTION_SPREAD * _unit(_drawn(n, rng)))


def _unit(values: Any) -> Vectors:
    made: Vectors = (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)
    return made


def collection(resources: Resources, name: str) -> Collection:
    """A collection of these vectors."""
    with resources.database.write() as connection:
        return collections.ensure(
            connection, name, Space(0, ModelIdentity("bench", "points", DIM, "", "")), Splitting()
        )


def load(resources: Resources, into: Collection, points: Vectors) -> list[int]:
    """Write ready-made vectors with documents and chunks, by the functions that ingest uses. Returns chunk ids."""
    ids: list[int] = []
    per_batch = _BATCH_DOCUMENTS * CHUNKS_PER_DOCUMENT
    for start in range(0, len(points), per_batch):
        with resources.database.write() as connection:
            made = list(_documents(start, min(start + per_batch, len(points))))
            sources = [(source, text_hash(source.content)) for source, _ in made]
            document_ids = documents.insert_all(connection, into.id, sources, into.splitting)
            owners = np.repeat(document_ids, [len(chunks) for _, chunks in made]).tolist()
            written = [chunk for _, chunks in made for chunk in chunks]
            hashes = [text_hash(chunk.text) for chunk in written]
            batch = documents.insert_chunks(connection, into.id, owners, written, hashes)
            vectors.add(connection, into, batch, list(points[start : start + len(batch)]))
        ids += batch
    return ids


def _documents(start: int, stop: int) -> Iterator[tuple[Source, list[Chunk]]]:
    """Of each document, `n` is its number: n % 10, 100 and 1000 make the filters."""
    for first in range(start, stop, CHUNKS_PER_DOCUMENT):
        n, count = first // CHUNKS_PER_DOCUMENT, min(CHUNKS_PER_DOCUMENT, stop - first)
        texts = [f"{first + i} {_TEXT}" for i in range(count)]
        metadata = {"n": n} | {f"of_{share}": n % share for share in (10, 100, 1000)}
        source = Source(f"{n:08}.txt", f"Document {n}", "text/plain", "".join(texts), metadata)
        ends = np.cumsum([len(text) for text in texts]).tolist()
        yield source, [Chunk(i, ends[i] - len(text), ends[i], text, "Part") for i, text in enumerate(texts)]
