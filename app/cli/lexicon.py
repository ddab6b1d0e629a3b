"""`ragledger lexicon`: words of a collection's own, or of all collections."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from app.cli.settings import load
from app.cli.show import console
from app.db import collections
from app.db import lexicon as stored
from app.ingest import compact, retokenize
from app.ingest import lexicon as words
from app.resources import Resources, opened

_KINDS: dict[str, stored.Kind] = {"user": "user_word", "stop": "stopword"}
_PAGE = 500


def _scope(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--all", "every", is_flag=True, help="Words of all collections.")(command)
    return click.option("--collection", help="Collection whose words they are.  [default: COLLECTION]")(command)


@click.group()
def lexicon() -> None:
    """Words of a collection's own: user words are one token each, stop words are left out.

    A change shows once the index is made anew with it, which add and remove wait for. Searches go on meanwhile.
    """


@lexicon.command()
@click.argument("kind", type=click.Choice(list(_KINDS)))
@click.argument("terms", nargs=-1, required=True)
@_scope
def add(kind: str, terms: Sequence[str], collection: str | None, every: bool) -> None:
    """Add user words or stop words: ragledger lexicon add user 黛峰烘豆机 "Visual Studio Code"."""
    with opened(load()) as resources:
        new = words.add(_KINDS[kind], terms, _name(collection, every, resources), resources)
        click.echo(f"{len(new)} added, {len(terms) - len(new)} known already")
        _apply(resources)


@lexicon.command()
@click.argument("kind", type=click.Choice(list(_KINDS)))
@click.argument("terms", nargs=-1, required=True)
@_scope
def remove(kind: str, terms: Sequence[str], collection: str | None, every: bool) -> None:
    """Remove user words or stop words."""
    with opened(load()) as resources:
        gone = words.remove(_KINDS[kind], terms, _name(collection, every, resources), resources)
        click.echo(f"{len(gone)} removed, {len(terms) - len(gone)} not found")
        _apply(resources)


@lexicon.command("list")
@click.option("--collection", help="Only this collection's words and those of all.")
def show_all(collection: str | None) -> None:
    """List the words, and the collections whose index is not yet made with them."""
    table = Table()
    for name in ("kind", "word", "collection"):
        table.add_column(name, overflow="fold")
    with opened(load()) as resources:
        after, page = 0, _PAGE
        with resources.database.read() as connection:
            collection_id = collections.get(connection, collection).id if collection else None
            while page == _PAGE:
                entries = stored.listed(connection, collection_id, after=after, limit=_PAGE)
                for entry in entries:
                    table.add_row(entry.kind, entry.term, entry.collection or "(all)")
                after, page = entries[-1].id if entries else after, len(entries)
        pending = words.pending(resources)
    console().print(table)
    if pending:
        click.echo(f"not yet in effect in: {', '.join(pending)} (ragledger lexicon apply)")


@lexicon.command()
def apply() -> None:
    """Make the indexes anew that are not up to date: after an upgrade, or when add or remove was interrupted."""
    with opened(load()) as resources:
        _apply(resources)


def _show(bar: Progress, task: TaskID, done: int, known: int) -> None:
    bar.update(task, completed=done, total=known)


def _name(collection: str | None, every: bool, resources: Resources) -> str | None:
    if every and collection:
        raise click.UsageError("--all and --collection exclude each other")
    return None if every else collection or resources.settings.collection


def _apply(resources: Resources) -> None:
    """Bring every index up to date, with a bar on stderr, where it is a terminal."""
    with resources.database.read() as connection:
        states = [state for state in stored.states(connection) if not state.current]
    for state in states:
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(f"tokenising {state.collection}", total=None)
            try:
                retokenize.retokenize(state.collection_id, resources, partial(_show, bar, task))
            except KeyboardInterrupt:
                bar.stop()
                raise click.ClickException("stopped; the words are kept, ragledger lexicon apply goes on") from None
        click.echo(f"{state.collection}: its index is made with the words as they are now")
    compact.finish()
