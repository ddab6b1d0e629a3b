"""Some thousands of chunks with clustered vectors, metadata and postings, written in a second and without a model.

Two collections share one space, and some documents are disabled, so that an index over the space holds much that a
search must not find.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from psycopg.types.json import Jsonb
from pydantic import SecretStr

from app.db import collections, postings, vectors
from app.db.indexes import Index
from app.db.pool import Db
from app.ingest import index
from app.lexical import segments
from app.query import recall
from app.records import (
    Asked,
    Collection,
    Filters,
    ModelIdentity,
    Question,
    Ranking,
    Recalled,
    Space,
    Splitting,
    Vector,
    Vectors,
)
from app.resources import Resources

DIM = 24
CHUNKS_PER_DOCUMENT = 4
WORDS = ("kettle", "copper", "grinder", "leave", "policy", "boiler", "valve", "filter")
SECTIONS = ("Part A", "Part A > B", "Part A > Beta", "C")
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Member:
    """A chunk as it was written."""

    id: int
    vector: Vector
    words: tuple[str, ...]
    section: str
    metadata: dict[str, Any]
    document_id: int


@dataclass(frozen=True)
class Crowd:
    """A collection and the chunks that a search of it may find."""

    collection: Collection
    members: tuple[Member, ...]

    def recalled(
        self, resources: Resources, vector: Vector, *, filters: Filters | None = None, limit: int = 10, **settings: Any
    ) -> Recalled:
        """Both recalls for a vector and two words."""
        ranking = Ranking(candidates=limit)
        question = Question("?", self.collection.name, ranking, filters or Filters())
        changed = replace(resources, settings=resources.settings.model_copy(update=settings))
        with resources.database.read() as snapshot:
            return recall.both_paths(Asked(question, self.collection, WORDS[:2], vector), snapshot, changed)


def clustered(n: int, rng: np.random.Generator, *, dim: int = DIM, clusters: int = 40, spread: float = 0.8) -> Vectors:
    """Points around centres on the unit sphere, as the vectors of texts lie: not uniform noise."""
    centres = rng.standard_normal((clusters, dim)) / np.sqrt(dim)
    points = centres[rng.integers(0, clusters, n)] + spread * rng.standard_normal((n, dim)) / np.sqrt(dim)
    unit: Vectors = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return unit


def gather(resources: Resources, name: str, documents: int, rng: np.random.Generator, *, dim: int = DIM) -> Crowd:
    """Write a collection. Every tenth document is disabled."""
    with resources.database.write() as connection:
        collection = collections.ensure(
            connection, name, Space(0, ModelIdentity("test", "crowd", dim, "", "")), Splitting()
        )
        members = _write(connection, collection, documents, rng)
        sql = "UPDATE document SET state = 'disabled' WHERE collection_id = %s AND source ~ '9.md' RETURNING id"
        disabled = {row[0] for row in connection.execute(sql, (collection.id,))}
        buried = [member.id for member in members if member.document_id in disabled]
        postings.bury(connection, collection.id, buried)
    return Crowd(collection, tuple(member for member in members if member.document_id not in disabled))


def _write(connection: Db, collection: Collection, documents: int, rng: np.random.Generator) -> list[Member]:
    rows: list[dict[str, Any]] = [
        {
            "source": f"{'handbook' if n % 5 == 0 else 'files'}/{n}.md",
            "metadata": {"n": n, "half": n % 2, "department": f"d{n % 10}", "tags": [f"x{n % 3}", f"y{n % 100}"]},
            "created_at": FIRST_DAY + timedelta(days=n % 50),
        }
        for n in range(documents)
    ]
    values: dict[str, Any] = {name: [row[name] for row in rows] for name in ("source", "created_at")}
    values |= {"metadata": [Jsonb(row["metadata"]) for row in rows], "collection_id": collection.id}
    found = connection.execute(
        """INSERT INTO document
               (collection_id, source, title, media_type, content, characters, content_sha256, metadata, created_at)
           SELECT %(collection_id)s, n.source, '', 'text/plain', '', 0, '', n.metadata, n.created_at
           FROM unnest(%(source)s::text[], %(metadata)s::jsonb[], %(created_at)s::timestamptz[])
                AS n(source, metadata, created_at) RETURNING source, id""",
        values,
    )
    document_ids: dict[str, int] = dict(found.fetchall())
    places = [(document_ids[row["source"]], ordinal) for row in rows for ordinal in range(CHUNKS_PER_DOCUMENT)]
    words = [tuple(rng.choice(WORDS, rng.integers(1, 6)).tolist()) for _ in places]
    found = connection.execute(
        """INSERT INTO chunk (collection_id, document_id, ordinal, start_char, end_char, text, text_sha256, section)
           SELECT %(collection_id)s, n.document_id, n.ordinal, 0, 1, n.text, '', n.section
           FROM unnest(%(documents)s::bigint[], %(ordinals)s::int[], %(texts)s::text[], %(sections)s::text[])
                AS n(document_id, ordinal, text, section) RETURNING document_id, ordinal, id""",
        {
            "collection_id": collection.id,
            "documents": [place[0] for place in places],
            "ordinals": [place[1] for place in places],
            "texts": [" ".join(each) for each in words],
            "sections": [SECTIONS[place[1]] for place in places],
        },
    )
    ids = {(row[0], row[1]): row[2] for row in found}
    points = clustered(len(places), rng, dim=collection.space.identity.dim)
    members = [
        Member(
            ids[place], points[n], words[n], SECTIONS[place[1]], rows[n // CHUNKS_PER_DOCUMENT]["metadata"], place[0]
        )
        for n, place in enumerate(places)
    ]
    vectors.add(connection, collection, [m.id for m in members], [m.vector for m in members])
    postings.add(connection, collection.id, segments.build({m.id: m.words for m in members}), "test")
    collections.bump(connection, collection.id)
    return members


def build_index(crowd: Crowd, resources: Resources, url: str, **settings: Any) -> Index:
    """An index over the crowd's space, in the test's own database."""
    changed = resources.settings.model_copy(update={"database_url": SecretStr(url), **settings})
    return index.build(crowd.collection.space, replace(resources, settings=changed), lambda _: None)


def nearest(members: Sequence[Member], vector: Vector, limit: int) -> list[int]:
    """The ids of the nearest members, best first, by numpy."""
    cosines = np.array([float(member.vector.astype(float) @ vector.astype(float)) for member in members])
    return [members[i].id for i in np.lexsort((np.array([m.id for m in members]), -cosines))[:limit]]
