"""`ragledger changes`: what the last ingests of a document added to it and removed from it."""

import json
from dataclasses import asdict

import click

from app.cli.settings import load
from app.cli.show import SNIPPET_CHARS, WIDTH, safe
from app.db import collections, documents
from app.db.pool import Db
from app.errors import NotFound
from app.ingest import history
from app.ingest.history import Changes
from app.records import ChunkChange, DocumentVersion
from app.resources import opened

_SIGNS = {"added": "+", "removed": "-"}


@click.command()
@click.argument("source")
@click.option("--collection", help="Collection of the document.  [default: COLLECTION]")
@click.option("--since", type=click.IntRange(1), help="The earlier version.  [default: the one before --until]")
@click.option("--until", type=click.IntRange(1), help="The later version.  [default: the newest]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with whole texts.")
def changes(*, source: str, collection: str | None, since: int | None, until: int | None, as_json: bool) -> None:
    """List the versions of the document SOURCE, and the chunks that changed between two of them.

    As many versions are kept as DOCUMENT_VERSIONS says. Text that only moved is not a change.
    """
    settings = load()
    name = settings.collection if collection is None else collection
    with opened(settings) as resources, resources.database.read() as connection:
        document_id = _known(connection, name, source)
        _, versions = history.of_document(connection, document_id)
        only_listed = since is None and until is None and len(versions) < 2
        found = None if only_listed else history.changes(connection, document_id, since=since, until=until)
    if as_json:
        said = {"source": source, "versions": [asdict(v) for v in versions], "changes": found and asdict(found)}
        click.echo(json.dumps(said, ensure_ascii=False, default=str))
        return
    for version in versions:
        click.echo(_version(version))
    if found:
        click.echo("\n".join(_listed(found)))


def _known(connection: Db, name: str, source: str) -> int:
    collection = collections.get(connection, name)
    stored = documents.find(connection, collection.id, source)
    if stored is None:
        raise NotFound(f"{name} has no document {source}")
    return stored.id


def _version(version: DocumentVersion) -> str:
    parts = f": {', '.join(version.changed)} changed" if version.changed else ""
    chunks = f"{version.chunks} chunks, {version.added} added, {version.removed} removed"
    return f"version {version.version}  {version.at:%Y-%m-%d %H:%M:%S}  {chunks}{parts}"


def _listed(found: Changes) -> list[str]:
    head = f"from version {found.since} to {found.until}: "
    if not found.chunks:
        return [head + "no text was added or removed"]
    return [head.rstrip(), *map(_line, found.chunks)]


def _line(change: ChunkChange) -> str:
    place = f"page {change.page}" if change.page else f"line {change.line}"
    start = " ".join(change.text[:SNIPPET_CHARS].split())
    return safe(f"  {_SIGNS[change.kind]} {place:9} {change.section or '-'}  {start}"[:WIDTH])
