"""`ragledger search`: the best passages for a question, with their scores."""

from typing import Any

import click
from pydantic import TypeAdapter

from app.cli import explanation, filters, ranking, show
from app.cli.settings import load
from app.query import pipeline
from app.records import Filters, Question, SearchResult
from app.resources import opened


@click.command()
@click.argument("question")
@click.option("--collection", help="Collection to search.  [default: COLLECTION]")
@click.option("--top-k", type=click.IntRange(1, 100), help="Hits shown.  [default: TOP_K]")
@ranking.options
@filters.options
@click.option("--explain", is_flag=True, help="Say of every score how it came about.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def search(
    question: str, collection: str | None, narrowed: Filters, explain: bool, as_json: bool, **changes: Any
) -> None:
    """Search a collection and show raw and fused scores."""
    settings = load()
    name = settings.collection if collection is None else collection
    with opened(settings) as resources:
        asked = Question(question, name, resources.ranking_with(**changes), narrowed, explain=explain)
        result = pipeline.search(asked, resources)
    if as_json:
        click.echo(TypeAdapter(SearchResult).dump_json(result))
    else:
        console = show.console()
        show.search(result, question, console)
        explanation.show(result, console)
