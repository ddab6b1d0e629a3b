"""The options by which a question is ranked otherwise than the settings say."""

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from app.records import FusionName, RerankerName

Command = TypeVar("Command", bound=Callable[..., Any])
_SHARE = click.FloatRange(0, 1)
_OPTIONS = (
    click.option("--fusion", type=click.Choice(get_args(FusionName)), help="How both paths' scores become one."),
    click.option("--vector-weight", type=_SHARE, help="Weight of the vector path.  [default: VECTOR_WEIGHT]"),
    click.option("--bm25-weight", type=_SHARE, help="Weight of the BM25 path.  [default: BM25_WEIGHT]"),
    click.option("--reranker", type=click.Choice(get_args(RerankerName)), help="What reranks the best."),
    click.option("--rerank-depth", type=click.IntRange(0, 200), help="How many are reranked; 0: none."),
    click.option("--rerank-weight", type=click.FloatRange(0, 10), help="Weight of the rerank score."),
    click.option("--rerank-coverage-weight", type=_SHARE, help="What the question's words add to a span's cosine."),
    click.option("--rerank-min-score", type=float, help="Least rerank score of a hit, on the reranker's scale."),
    click.option(
        "--collapse-duplicates/--keep-duplicates", default=None, help="Return near duplicates as one hit, or each."
    ),
    click.option("--expand-tokens", type=click.IntRange(0, 8_000), help="Budget of a hit's passage; 0: chunks."),
)


def options(command: Command) -> Command:
    """Add the options, all None where they are not given: `Resources.ranking_with` takes them as they are."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
