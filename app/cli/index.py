"""`ragledger index`: the vector index of a large collection."""

import time

import click
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from app.cli.settings import load
from app.db import collections
from app.db.indexes import Progress
from app.errors import Conflict
from app.ingest import index as building
from app.records import Collection
from app.resources import Resources, opened


@click.command()
@click.option("--collection", help="Collection to index.  [default: COLLECTION]")
@click.option("--all", "every", is_flag=True, help="Every collection.")
@click.option("--rebuild", is_flag=True, help="Build it anew where there is one, and also where it is not due.")
@click.option("--offline", is_flag=True, help="Faster, but documents cannot be written meanwhile.")
def index(collection: str | None, every: bool, rebuild: bool, offline: bool) -> None:
    """Build the vector index (HNSW) of a collection with more chunks than EXACT_SCAN_MAX.

    Searches go on meanwhile. Collections of one embedding model share one index.
    """
    settings = load()
    with opened(settings) as resources:
        with resources.database.read() as connection:
            names = [name for name, _, _ in collections.names(connection)]
            wanted = names if every else [settings.collection if collection is None else collection]
            found = [collections.get(connection, name) for name in wanted]
        built: set[int] = set()
        for each in found:
            state = building.state(each, resources)
            if state.due or (rebuild and each.space.id not in built):
                click.echo(f"{each.name}: {_build(each, resources, online=not offline)}")
                built.add(each.space.id)
            else:
                click.echo(f"{each.name}: {_why_not(state, resources)}")


def index_what_is_due(name: str, resources: Resources) -> None:
    """After a bulk ingest. What another process builds already is left to it; its words go to stderr."""
    with resources.database.read() as connection:
        collection = collections.find(connection, name)
    if collection is None or not (state := building.state(collection, resources)).due:
        return
    click.echo(f"{name} has {state.chunks:,} chunks: its vectors are being indexed", err=True)
    try:
        click.echo(f"{name}: {_build(collection, resources, online=True)}", err=True)
    except Conflict as e:
        click.echo(f"{name}: {e}", err=True)


def _build(collection: Collection, resources: Resources, *, online: bool) -> str:
    """Build with a bar on stderr, where it is a terminal. Returns what was built."""
    started = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("indexing", total=None)

        def watch(progress: Progress) -> None:
            bar.update(task, description=progress.phase, completed=progress.done, total=progress.total or None)

        try:
            made = building.build(collection.space, resources, watch, online=online)
        except KeyboardInterrupt:
            raise click.ClickException("stopped; searches go on as before, run `ragledger index` to index") from None
    return f"indexed as {made.indexed_type} in {time.monotonic() - started:.0f} s, {made.bytes / 1e6:,.0f} MB"


def _why_not(state: building.State, resources: Resources) -> str:
    if state.index:
        return f"{state.chunks:,} chunks, indexed as {state.index.indexed_type}, {state.index.bytes / 1e6:,.0f} MB"
    return f"{state.chunks:,} chunks, no index: exact scans up to EXACT_SCAN_MAX={resources.settings.exact_scan_max:,}"
