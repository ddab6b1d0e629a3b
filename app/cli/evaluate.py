"""`ragledger eval`: quality on the sample questions, or on a data set of your own."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from app.cli.demo import SAMPLES
from app.cli.golden import NO_GOLDEN, warn
from app.cli.settings import load
from app.cli.show import console
from app.evaluate import golden, report, run
from app.evaluate.datasets import read_dataset
from app.evaluate.metrics import Estimate
from app.evaluate.report import Results
from app.evaluate.run import Progress as Callback
from app.resources import Resources, opened

FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)
# The samples' floors: a little under what is reached, so that only a real loss of quality fails, and not the one
# question in 14 that the arithmetic of another processor decides.
FLOORS = {"ndcg@10": 0.82, "mrr@10": 0.78, "recall@10": 0.96}
REFUSAL_CEILINGS = {"wrongly_refused": 0.25, "wrongly_answered": 0.9}


@click.command("eval")
@click.option("--dataset", type=FOLDER, help="A data set in the BEIR or the samples' layout.  [default: the samples]")
@click.option("--public", type=FOLDER, help="A folder of data sets, one after the other, and their mean.")
@click.option("--collection", help="A collection as it is, by its own golden questions (`ragledger golden`).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each data set.")
def evaluate(dataset: Path | None, public: Path | None, collection: str | None, as_json: bool) -> None:
    """Measure rankings and refusals. On the samples the exit code is 1 under the stated floors."""
    if sum(given is not None for given in (dataset, public, collection)) > 1:
        raise click.UsageError("--dataset, --public and --collection exclude each other")
    with opened(load()) as resources:
        if collection is not None:
            _show(_own(collection, resources), as_json)
            return
        measured = []
        for folder in data_sets(public) if public else [dataset or SAMPLES]:
            data = read_dataset(folder)
            with progress(data.name) as shown:
                measured.append(run.evaluate(data, resources, shown))
            _show(measured[-1], as_json)
    if public and not as_json:
        mean = sum(results.rankings["fused"]["ndcg@10"].value for results in measured) / len(measured)
        click.echo(f"mean nDCG@10 of {len(measured)} data sets, fused: {mean:.3f}")
    if not (public or dataset) and (failures := under_floors(measured[0])):
        click.echo("\n".join(failures), err=True)
        sys.exit(1)


def _own(collection: str, resources: Resources) -> Results:
    own = golden.read(collection, resources)
    warn(own.lost)
    if not own.answerable:
        raise click.ClickException(f"{collection} {NO_GOLDEN}")
    with progress(collection) as shown:
        return run.measure(collection, own.questions, own.collection, resources, shown)


def _show(results: Results, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(report.as_json(results), ensure_ascii=False))
    else:
        console().print(report.as_table(results))


def data_sets(folder: Path) -> list[Path]:
    """The folders in `folder` that hold a corpus.jsonl."""
    found = sorted(path.parent for path in folder.glob("*/corpus.jsonl"))
    if not found:
        raise click.ClickException(f"{folder} has no folder with a corpus.jsonl in it")
    return found


@contextmanager
def progress(name: str) -> Iterator[Callback]:
    """A bar for one data set, on stderr, gone at the end."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=f"{name}: {what}", completed=done, total=total)

        yield show


def under_floors(results: Results) -> list[str]:
    """What is worse than the floors stated for the samples, one line each."""
    fused = results.rankings["fused"]
    low = {name: floor for name, floor in FLOORS.items() if fused[name].value < floor}
    lines = [f"{name} {fused[name].value:.3f} is under its floor {floor}" for name, floor in low.items()]
    for name, high in REFUSAL_CEILINGS.items():
        rate: Estimate | None = getattr(results.refusals, name, None)
        if rate is not None and rate.value > high:
            lines.append(f"{name} {rate.value:.3f} is over its ceiling {high}")
    return lines
