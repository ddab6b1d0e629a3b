"""`ragledger ask`: an answer with citations."""

from typing import Any

import click
from pydantic import TypeAdapter

from app.cli import filters, ranking, show
from app.cli.settings import load
from app.query import pipeline
from app.records import Answer, Filters, Question
from app.resources import opened


@click.command()
@click.argument("question")
@click.option("--collection", help="Collection to ask.  [default: COLLECTION]")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the answer cache.")
@ranking.options
@filters.options
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON object.")
def ask(
    question: str, collection: str | None, no_cache: bool, narrowed: Filters, as_json: bool, **changes: Any
) -> None:
    """Answer a question from a collection, with citations, or refuse."""
    settings = load()
    name = settings.collection if collection is None else collection
    with opened(settings) as resources:
        asked = Question(question, name, resources.ranking_with(**changes), narrowed, use_cache=not no_cache)
        made = pipeline.answer(asked, resources)
    if as_json:
        click.echo(TypeAdapter(Answer).dump_json(made))
    else:
        show.answer(made, question, show.console())
