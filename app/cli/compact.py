"""`ragledger compact`: merge the segments of the inverted index, and drop what is dead in them."""

import time

import click

from app.cli.settings import load
from app.db import collections, postings
from app.db.postings import SegmentState
from app.ingest import compact as segments
from app.resources import Resources, opened


@click.command()
@click.option("--collection", help="Collection to compact.  [default: COLLECTION]")
@click.option("--all", "every", is_flag=True, help="Compact every collection.")
@click.option("--full", is_flag=True, help="Merge all into one segment, also what is not worth it yet.")
def compact(collection: str | None, every: bool, full: bool) -> None:
    """Merge the segments of the inverted index, online.

    The service does so by itself after each change. Run it after many deletions, or before a read-mostly time with
    --full. Prints a line for each collection that it changed, and nothing where there is nothing to do.
    """
    if every and collection is not None:
        raise click.UsageError("--collection and --all exclude each other")
    settings = load()
    with opened(settings) as resources:
        names = [settings.collection if collection is None else collection]
        if every:
            with resources.database.read() as connection:
                names = [name for name, *_ in collections.names(connection)]
        for name in names:
            _compact(name, full, resources)


def _compact(name: str, full: bool, resources: Resources) -> None:
    started = time.perf_counter()
    with resources.database.read() as connection:
        collection_id = collections.get(connection, name).id
        before = postings.segments(connection, collection_id)
    if (segments.merge_all if full else segments.compact)(collection_id, resources):
        with resources.database.read() as connection:
            after = postings.segments(connection, collection_id)
        click.echo(_line(name, before, after, time.perf_counter() - started))


def _line(name: str, before: tuple[SegmentState, ...], after: tuple[SegmentState, ...], seconds: float) -> str:
    chunks = sum(segment.chunks - segment.dead for segment in after)
    dropped = sum(segment.dead for segment in before) - sum(segment.dead for segment in after)
    merged = f"{len(before)} segments became {len(after)}"
    return f"{name}: {merged}; {chunks} chunks, {dropped} dead ones dropped, {seconds:.1f} s"
