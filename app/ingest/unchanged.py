"""Tell whether a source is stored as it came: then nothing is embedded, and nothing of it waits any more."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from app.db import pending
from app.db.documents import Stored
from app.ingest.embed import text_hash
from app.records import Collection, Ingested, PendingDocument, Source
from app.resources import Resources


def outcome(
    source: Source,
    known: Stored | None,
    collection: Collection,
    resources: Resources,
    waited: PendingDocument | None = None,
) -> Ingested | None:
    """The outcome where `known` is the same. Another version that waits for an embedder is then older, and goes.

    `waited`: the source is what waited, and only that very version goes.
    """
    if known is None or not is_same(source, known, collection):
        return None
    if known.awaited:
        with resources.database.write() as connection:
            if waited:
                pending.take(connection, collection.id, waited)
            else:
                pending.forget_older(connection, collection.id, known.id, known.version)
    return Ingested(source.source, "unchanged", known.id, known.version, warnings=source.warnings)


def is_same(source: Source, known: Stored, collection: Collection) -> bool:
    """Whether ingesting the source would change nothing of what is stored."""
    return not differing(source, known, collection)


def differing(source: Source, known: Stored, collection: Collection) -> tuple[str, ...]:
    """The parts of the stored document that ingesting the source would change."""
    pairs = {
        "content": (known.content_sha256, text_hash(source.content)),
        "splitting": (known.splitting, asdict(collection.splitting)),
        "title": (known.title, source.title),
        "media_type": (known.media_type, source.media_type),
        "metadata": (_as_json(known.metadata), _as_json(source.metadata)),
    }
    return tuple(part for part, (before, now) in pairs.items() if before != now)


def _as_json(metadata: Mapping[str, Any]) -> Any:
    """As jsonb tells it again: 1e308 comes back as an integer."""
    return json.loads(json.dumps(dict(metadata)), parse_int=float)
