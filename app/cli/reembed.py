"""`ragledger reembed`: another embedding model for a collection, without stopping."""

import time
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from app.cli.evaluate import progress
from app.cli.golden import NO_GOLDEN, warn
from app.cli.settings import load
from app.cli.show import Rate, console
from app.db.indexes import Progress
from app.errors import EmbedderUnavailable, EmbeddingFailed
from app.evaluate import golden
from app.evaluate.compare import METRICS, Comparison, compare
from app.evaluate.report import signed
from app.ingest import estimate
from app.ingest import reembed as changing
from app.records import Collection, ModelIdentity
from app.resources import Resources, opened

_GO_ON = "run the same again to go on, or --abandon to give it up"


@click.command()
@click.option("--collection", help="Collection to change.  [default: COLLECTION]")
@click.option("--backend", help="As EMBED_BACKEND.  [default: EMBED_BACKEND]")
@click.option("--model", help="As EMBED_MODEL.  [default: EMBED_MODEL]")
@click.option("--dimension", type=int, help="Fewer than the model's: its vectors are shortened (Matryoshka).")
@click.option("--query-prefix", help="Put before a question.  [default: what the model wants]")
@click.option("--passage-prefix", help="Put before a passage.  [default: what the model wants]")
@click.option("--halfvec/--no-halfvec", default=None, help="Index in half precision.  [default: HNSW_HALFVEC]")
@click.option(
    "--min-ndcg-ratio",
    type=click.FloatRange(0, 10),
    help="Do not switch below this share of the old nDCG@10 on the collection's golden questions.",
)
@click.option("--dry-run", is_flag=True, help="Say how long it takes and how large it gets, and change nothing.")
@click.option("--abandon", is_flag=True, help="Give a change up that is under way, and remove its vectors.")
def reembed(
    *,
    collection: str | None,
    backend: str | None,
    model: str | None,
    dimension: int | None,
    query_prefix: str | None,
    passage_prefix: str | None,
    halfvec: bool | None,
    min_ndcg_ratio: float | None,
    dry_run: bool,
    abandon: bool,
) -> None:
    """Give a collection another embedding model, online.

    Its chunks are embedded anew beside the old vectors, an index is built where one is due, and one transaction
    switches. Searches and writers go on meanwhile, in the old model until then. Whatever stops it, the same command
    goes on where it was.
    """
    asked = {"embed_dim": dimension, "embed_query_prefix": query_prefix, "embed_passage_prefix": passage_prefix}
    if abandon and (backend or model or dry_run or any(value is not None for value in asked.values())):
        raise click.UsageError("--abandon goes with --collection alone")
    settings = load(**_changes(backend, model, asked, halfvec))
    name = settings.collection if collection is None else collection
    with opened(settings) as resources:
        if abandon:
            given_up = changing.abandon(name, resources)
            click.echo(f"{name}: {'the change is given up' if given_up else 'no change of its model is under way'}")
            return
        identity = _target(resources, asked)
        if dry_run:
            click.echo(_estimated(name, identity, resources))
            return
        if min_ndcg_ratio is not None and not golden.read(name, resources).answerable:
            raise click.ClickException(f"{name} {NO_GOLDEN}, which --min-ndcg-ratio needs")
        compared = partial(check, min_ndcg_ratio, resources)
        click.echo(_changed(name, identity, resources, compared))


def _changes(backend: str | None, model: str | None, asked: dict[str, Any], halfvec: bool | None) -> dict[str, Any]:
    """Settings as the options have them. What the environment says of another model does not hold for this one."""
    changes = {name: value for name, value in asked.items() if value is not None}
    if backend or model:
        changes = asked | {"embed_model": model} | ({"embed_backend": backend} if backend else {})
    return changes | ({} if halfvec is None else {"hnsw_halfvec": halfvec})


def _target(resources: Resources, asked: dict[str, Any]) -> ModelIdentity:
    identity = resources.embedder.identity
    kept = {"dim": asked["embed_dim"], "query_prefix": asked["embed_query_prefix"]}
    kept |= {"passage_prefix": asked["embed_passage_prefix"]}
    for name, value in kept.items():
        if value is not None and value != getattr(identity, name):
            raise click.UsageError(f"{identity.model} of {identity.backend} has {name} {getattr(identity, name)!r}")
    return identity


def _changed(name: str, identity: ModelIdentity, resources: Resources, compared: changing.Check) -> str:
    """Change with a bar on stderr, where it is a terminal. Returns what was done."""
    started = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def watch(done: Progress) -> None:
            if done.phase not in tasks:
                for task in tasks.values():
                    bar.update(task, visible=False)
                tasks[done.phase] = bar.add_task(done.phase)
            bar.update(tasks[done.phase], visible=True, completed=done.done, total=done.total or None)

        def stop_and_check(old: Collection, new: Collection) -> None:
            bar.stop()
            compared(old, new)

        try:
            changes = changing.reembed(name, identity, resources, watch, stop_and_check)
        except KeyboardInterrupt:
            bar.stop()
            raise click.ClickException(f"stopped; searches go on with the old model, {_GO_ON}") from None
        except (EmbedderUnavailable, EmbeddingFailed) as e:
            bar.stop()
            raise click.ClickException(f"{e}; searches go on with the old model, {_GO_ON}") from e
    if not changes:
        return f"{name} has {_named(identity)} already"
    return f"{name} has {_named(identity)} since now, after {time.monotonic() - started:.0f} s"


def check(min_ndcg_ratio: float | None, resources: Resources, old: Collection, new: Collection) -> None:
    """Before the switch: what it does to questions whose answers are known."""
    own = golden.read(old.name, resources)
    if not own.answerable:
        click.echo(f"every chunk and span has a vector; {old.name} {NO_GOLDEN}", err=True)
        return
    warn(own.lost)
    with progress(old.name) as shown:
        comparison = compare(own.questions, old, new, resources, shown)
    console().print(_table(comparison, old, new))
    if min_ndcg_ratio is not None and comparison.ndcg_ratio < min_ndcg_ratio:
        raise click.ClickException(
            f"nDCG@10 would be {comparison.ndcg_ratio:.3f} of what it is, under {min_ndcg_ratio}: not switched. "
            f"The new vectors are kept: {_GO_ON}"
        )


def _table(comparison: Comparison, old: Collection, new: Collection) -> Table:
    table = Table(title=f"{comparison.questions} questions", title_justify="left")
    headings = ("", old.space.identity.model, new.space.identity.model, "difference, 95 %")
    for heading in headings:
        table.add_column(Text(heading), justify="left" if not heading else "right")
    for name in METRICS:
        values = (f"{side[name].value:.3f}" for side in (comparison.old, comparison.new))
        table.add_row(name, *values, signed(comparison.differences[name]))
    return table


def _estimated(name: str, identity: ModelIdentity, resources: Resources) -> str:
    made = estimate.estimate(name, identity, resources)
    index = f", their index {made.index_bytes / 1e6:,.0f} MB" if made.index_bytes else ", no index"
    return (
        f"{name}: {made.chunks:,} chunks ({made.distinct_texts:,} texts, {made.characters:,} characters) with "
        f"{made.spans:,} spans\n"
        f"{_named(identity)}: about {_duration(made.seconds)} by a sample of {made.sampled_chunks} chunks\n"
        f"on disk beside the old ones: vectors about {made.vector_bytes / 1e6:,.1f} MB{index}\n"
        "nothing was changed"
    )


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7_200
        else f"{seconds / 3600:.1f} h"
    )


def _named(identity: ModelIdentity) -> str:
    return f"{identity.model} ({identity.backend}, {identity.dim} dimensions)"
