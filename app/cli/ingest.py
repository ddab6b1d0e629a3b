"""`ragledger ingest`: files and folders into a collection."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from app.cli.index import index_what_is_due
from app.cli.settings import load
from app.db import collections
from app.ingest import load as files
from app.ingest import pipeline
from app.records import Ingested
from app.resources import Resources, opened


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--collection", help="Collection to ingest into; created where it is new.  [default: COLLECTION]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the summary.")
def ingest(paths: tuple[Path, ...], collection: str | None, as_json: bool) -> None:
    """Ingest Markdown and text files, and folders of them.

    The same file again is unchanged; a changed one replaces its chunks. Bad files are listed with their reason, the
    others go in; the exit code is then 1.
    """
    settings = load()
    found = list(files.discover(paths))
    with opened(settings) as resources:
        name = settings.collection if collection is None else collection
        _tell_kept_splitting(name, resources)
        outcomes = with_progress(found, name, resources)
        index_what_is_due(name, resources)
    if as_json:
        click.echo(json.dumps({"collection": name, "documents": [asdict(o) for o in outcomes]}, ensure_ascii=False))
    else:
        click.echo(summary(name, outcomes))
    sys.exit(1 if any(outcome.outcome == "failed" for outcome in outcomes) else 0)


def _tell_kept_splitting(name: str, resources: Resources) -> None:
    """A collection is split as it was when it was made; settings changed since are for new ones."""
    with resources.database.read() as connection:
        collection = collections.find(connection, name)
    if collection and (kept := collection.splitting) != resources.splitting:
        sizes = f"chunks of {kept.size_chars} characters, overlap {kept.overlap_chars}"
        click.echo(f"{name} keeps the splitting it was made with: {kept.splitter}, {sizes}", err=True)


def with_progress(found: Sequence[tuple[Path, str]], name: str, resources: Resources) -> list[Ingested]:
    """Ingest with a bar on stderr, where it is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    outcomes: list[Ingested] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"ingesting into {name}", total=len(found))
        try:
            for outcome in pipeline.ingest_files(found, name, resources):
                outcomes.append(outcome)
                progress.update(task, advance=1)
        except KeyboardInterrupt:
            progress.stop()
            click.echo(summary(name, outcomes))
            raise click.ClickException("stopped; what is in stays, run the same again to go on") from None
    return outcomes


def summary(name: str, outcomes: Sequence[Ingested]) -> str:
    """What happened, and the reason of each failure."""
    counts = Counter(outcome.outcome for outcome in outcomes)
    chunks = sum(outcome.chunks for outcome in outcomes)
    reused = sum(outcome.chunks_reused for outcome in outcomes)
    parts = [f"{counts[kind]} {kind}" for kind in ("added", "updated", "unchanged", "failed") if counts[kind]]
    lines = [f"{name}: {', '.join(parts) or 'no file found'}; {chunks} chunks written, {reused} vectors reused"]
    lines += [f"  failed: {o.source}: {_reason(o)}" for o in outcomes if o.outcome == "failed"]
    return "\n".join(lines)


def _reason(outcome: Ingested) -> str:
    return outcome.reason.removeprefix(f"{outcome.source}: ")
