"""`ragledger golden`: questions whose answers are known, of a collection's own."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from app.cli.settings import load
from app.db.golden import Lost
from app.evaluate import golden as own
from app.resources import opened

NO_GOLDEN = "has no golden question with an answer (ragledger golden import FILE)"

_collection = click.option("--collection", help="Collection whose questions they are.  [default: COLLECTION]")


@click.group()
def golden() -> None:
    """Questions whose answers are known: `eval --collection` measures by them, and `reembed` compares models."""


@golden.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_collection
def import_(file: Path, collection: str | None) -> None:
    """Enter the questions of a JSONL file, all or none; one with a known id takes the other's place.

    \b
    {"id": "1", "question": "…", "gold": [{"source": "manual.md", "quote": "…"}]}
    {"id": "2", "question": "…", "answerable": false}
    """
    settings = load()
    with opened(settings) as resources:
        new, replaced = own.put(file, collection or settings.collection, resources)
    click.echo(f"{new} added, {replaced} replaced")


@golden.command()
@_collection
def export(collection: str | None) -> None:
    """Print the questions as `import` reads them."""
    settings = load()
    with opened(settings) as resources:
        found = own.read(collection or settings.collection, resources)
    for one in found.questions:
        passages = [{"source": gold.source, "quote": gold.quote} for gold in one.gold]
        row: dict[str, Any] = {"id": one.id, "question": one.question, "gold": passages, "answer": one.answer}
        row |= {"language": one.language, "answerable": one.answerable}
        click.echo(json.dumps(row, ensure_ascii=False))
    warn(found.lost)


@golden.command()
@click.argument("ids", nargs=-1, required=True)
@_collection
def remove(ids: Sequence[str], collection: str | None) -> None:
    """Remove questions by their ids."""
    settings = load()
    with opened(settings) as resources:
        gone = own.remove(ids, collection or settings.collection, resources)
    click.echo(f"{gone} removed, {len(set(ids)) - gone} not found")


def warn(lost: Sequence[Lost]) -> None:
    """Say on stderr which questions can no longer be answered from the documents as they are."""
    for passage in lost:
        click.echo(f"golden question {passage.id!r}: {passage} now", err=True)
