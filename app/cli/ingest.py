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
from app.cli.show import SNIPPET_CHARS, WIDTH, Rate, safe
from app.db import collections
from app.db import pending as waiting
from app.ingest import pipeline, retry, sync
from app.ingest.discover import discover
from app.ingest.preview import Preview, preview
from app.records import Chunk, Ingested, Outcome, PendingDocument
from app.resources import Resources, opened

KINDS: tuple[Outcome, ...] = ("added", "updated", "unchanged", "removed", "pending", "failed")
PENDING_EXIT = 3


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--collection", help="Collection to ingest into; created where it is new.  [default: COLLECTION]")
@click.option("--pending", is_flag=True, help="No files: only the documents that wait for an embedder.")
@click.option("--all", "every", is_flag=True, help="With --pending: those of every collection.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out what matches, as .gitignore does.")
@click.option("--sync", "synced", is_flag=True, help="Afterwards remove every document that is none of these files.")
@click.option("--dry-run", is_flag=True, help="Show the outcomes and the chunks, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the summary.")
def ingest(
    *,
    paths: tuple[Path, ...],
    collection: str | None,
    pending: bool,
    every: bool,
    exclude: tuple[str, ...],
    synced: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Ingest files and folders of them: Markdown, text, HTML, PDF, Word, slides, spreadsheets, books, notebooks, data.

    The same file again is unchanged; a changed one replaces its chunks. Bad files are listed with their reason, the
    others go in; the exit code is then 1. A PATH may be a quoted pattern ('docs/**/*.md'); a folder's .ragledgerignore
    says what to leave out. Where no embedder answers, documents are kept and not found yet, and the
    exit code is 3: the service embeds them as soon as one answers, and so do the next run and --pending.
    """
    if bool(paths) == pending:
        raise click.UsageError("name files or folders, or give --pending without any")
    if every and (collection is not None or not pending):
        raise click.UsageError("--all goes with --pending and without --collection")
    if pending and (synced or dry_run or exclude):
        raise click.UsageError("--pending goes without --sync, --dry-run and --exclude")
    settings = load()
    name = settings.collection if collection is None else collection
    found = list(discover(paths, exclude))
    with opened(settings) as resources:
        if dry_run:
            sys.exit(_previewed(found, name, resources, synced=synced, as_json=as_json))
        names = _awaiting(resources) if every else [name]
        results = {n: _ingested(found, n, resources, synced=synced) for n in names}
    nothing = "nothing waits" if pending else "no file found"
    for n, outcomes in results.items():
        said = {"collection": n, "documents": [asdict(outcome) for outcome in outcomes]}
        click.echo(json.dumps(said, ensure_ascii=False) if as_json else summary(n, outcomes, nothing))
    kinds = {outcome.outcome for outcomes in results.values() for outcome in outcomes}
    sys.exit(1 if "failed" in kinds else PENDING_EXIT if "pending" in kinds else 0)


def _ingested(
    found: Sequence[tuple[Path, str]], name: str, resources: Resources, *, synced: bool = False
) -> list[Ingested]:
    """The outcome of each file, then what became of the other documents that waited in the collection."""
    _tell_kept_splitting(name, resources)
    outcomes = {outcome.source: outcome for outcome in with_progress(found, name, resources)}
    if synced:
        outcomes |= {outcome.source: outcome for outcome in sync.remove(name, list(outcomes.values()), resources)}
    if name in _awaiting(resources):
        outcomes |= {outcome.source: outcome for outcome in retry.retry(name, resources)}
        outcomes = {w.source: Ingested(w.source, "pending", reason=w.reason) for w in _due(name, resources)} | outcomes
    index_what_is_due(name, resources)
    return list(outcomes.values())


def _previewed(
    found: Sequence[tuple[Path, str]], name: str, resources: Resources, *, synced: bool, as_json: bool
) -> int:
    """Print what a run would do. Returns the exit code."""
    made = list(preview(found, name, resources))
    if synced:
        made += map(Preview, sync.gone(name, [one.outcome for one in made], resources))
    if as_json:
        rows = [asdict(one.outcome) | {"chunks": [asdict(chunk) for chunk in one.chunks]} for one in made]
        click.echo(json.dumps({"collection": name, "documents": rows}, ensure_ascii=False))
    else:
        for one in made:
            click.echo(f"{one.outcome.outcome:9} {safe(one.outcome.source)}")
            for chunk in one.chunks:
                click.echo(_line(chunk))
        click.echo(f"{summary(name, [one.outcome for one in made])}\nnothing was changed")
    return 1 if any(one.outcome.outcome == "failed" for one in made) else 0


def _line(chunk: Chunk) -> str:
    place = f"page {chunk.page}" if chunk.page else f"line {chunk.line}"
    start = " ".join(chunk.text[:SNIPPET_CHARS].split())
    return safe(f"  {chunk.ordinal:4} {place:9} {len(chunk.text):5}  {chunk.section or '-'}  {start}"[:WIDTH])


def _awaiting(resources: Resources) -> list[str]:
    with resources.database.read() as connection:
        return waiting.collections(connection)


def _due(name: str, resources: Resources) -> list[PendingDocument]:
    with resources.database.read() as connection:
        return waiting.due(connection, collections.get(connection, name).id, every=True)


def _tell_kept_splitting(name: str, resources: Resources) -> None:
    """A collection is split as it was when it was made; settings changed since are for new ones."""
    with resources.database.read() as connection:
        collection = collections.find(connection, name)
    if collection and (kept := collection.splitting) != resources.splitting:
        sizes = f"chunks of {kept.size_chars} characters, overlap {kept.overlap_chars}"
        click.echo(f"{name} keeps the splitting it was made with: {kept.splitter}, {sizes}", err=True)


def with_progress(found: Sequence[tuple[Path, str]], name: str, resources: Resources) -> list[Ingested]:
    """Ingest with a bar on stderr, where it is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    outcomes: list[Ingested] = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"ingesting into {name}", total=len(found))
        try:
            for outcome in pipeline.ingest_files(found, name, resources):
                outcomes.append(outcome)
                progress.update(task, advance=1, total=max(len(found), len(outcomes)))  # archives hold several
        except KeyboardInterrupt:
            progress.stop()
            click.echo(summary(name, outcomes))
            raise click.ClickException("stopped; what is in stays, run the same again to go on") from None
    return outcomes


def summary(name: str, outcomes: Sequence[Ingested], nothing: str = "no file found") -> str:
    """What happened, the reason of each failure, and why documents wait."""
    counts = Counter(outcome.outcome for outcome in outcomes)
    chunks = sum(outcome.chunks for outcome in outcomes)
    reused = sum(outcome.chunks_reused for outcome in outcomes)
    parts = [f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]]
    lines = [f"{name}: {', '.join(parts) or nothing}; {chunks} chunks written, {reused} vectors reused"]
    lines += [f"  failed: {o.source}: {_reason(o)}" for o in outcomes if o.outcome == "failed"]
    lines += [f"  {o.source}: {warning}" for o in outcomes for warning in o.warnings if o.outcome != "unchanged"]
    reasons = Counter(outcome.reason for outcome in outcomes if outcome.outcome == "pending")
    lines += [f"  pending, not found yet: {n} wait for an embedder: {reason}" for reason, n in reasons.items()]
    return "\n".join(lines)


def _reason(outcome: Ingested) -> str:
    return outcome.reason.removeprefix(f"{outcome.source}: ")
