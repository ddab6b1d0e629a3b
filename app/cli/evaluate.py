"""`ragledger eval`: quality on the sample questions, or on a data set of your own."""

import json
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from app.cli.demo import SAMPLES
from app.cli.settings import load
from app.evaluate import report
from app.evaluate.datasets import read_dataset
from app.evaluate.report import Results
from app.evaluate.run import evaluate as run
from app.resources import opened

# The samples' floors: well under what is reached, so that only a real loss of quality fails.
FLOORS = {"ndcg@10": 0.0, "mrr@10": 0.0, "recall@10": 0.0}
REFUSAL_CEILINGS = {"wrongly_refused": 1.0, "wrongly_answered": 1.0}


@click.command("eval")
@click.option(
    "--dataset", type=click.Path(path_type=Path, file_okay=False), help="Folder in the BEIR or the samples' layout."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def evaluate(dataset: Path | None, as_json: bool) -> None:
    """Measure rankings and refusals. On the samples (no --dataset) the exit code is 1 under the stated floors."""
    data = read_dataset(dataset or SAMPLES)
    with opened(load()) as resources, Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(data.name)
        results = run(
            data,
            resources,
            lambda what, done, total: bar.update(task, description=f"{data.name}: {what}", completed=done, total=total),
        )
    if as_json:
        click.echo(json.dumps(report.as_json(results), ensure_ascii=False))
    else:
        Console().print(report.as_table(results))
    if dataset is None and (failures := under_floors(results)):
        click.echo("\n".join(failures), err=True)
        sys.exit(1)


def under_floors(results: Results) -> list[str]:
    """What is worse than the floors stated for the samples, one line each."""
    fused = results.rankings["fused"]
    lines = [
        f"{name} {fused[name].value:.3f} is under the floor {low}"
        for name, low in FLOORS.items()
        if fused[name].value < low
    ]
    for name, high in REFUSAL_CEILINGS.items():
        rate = getattr(results.refusals, name, None)
        if rate is not None and rate.value > high:
            lines.append(f"{name} {rate.value:.3f} is over the ceiling {high}")
    return lines
