"""`ragledger sweep`: which ranking parameters do better than the default on questions that did not choose them."""

from collections.abc import Iterable
from pathlib import Path

import click
from rich.table import Table as Shown
from rich.text import Text

from app.cli import show
from app.cli.evaluate import FOLDER, data_sets, progress
from app.cli.settings import load
from app.evaluate import sweep as sweeping
from app.evaluate.datasets import read_dataset
from app.evaluate.report import signed
from app.evaluate.sweep import Choice, Table, changes
from app.records import Floats, Ranking
from app.resources import opened


@click.command()
@click.option("--public", type=FOLDER, required=True, help="A folder of data sets in the BEIR layout.")
def sweep(public: Path) -> None:
    """Try a grid of ranking parameters: chosen on some questions, reported on the others. Takes some minutes."""
    table: dict[str, dict[Ranking, Floats]] = {}
    rankings = sweeping.grid()
    with opened(load()) as resources:
        for folder in data_sets(public):
            data = read_dataset(folder)
            with progress(data.name) as shown:
                cases = sweeping.gather(data, resources, shown)
                table[data.name] = sweeping.scores(cases, rankings, shown)
    console = show.console()
    console.print(_neighbours(table))
    console.print(_choices("chosen on the other data sets", sweeping.leave_one_set_out(table)))
    console.print(_choices("chosen on the other folds of every data set", sweeping.cross_validated(table)))
    click.echo(f"the best of {len(rankings)} rankings on all questions: {_named(sweeping.best(table))}")


def _neighbours(table: Table) -> Shown:
    """The default, and each ranking that differs from it in one parameter, per data set."""
    shown = Shown(title="nDCG@10 with one parameter changed", title_justify="left")
    for name in ("ranking", *table, "mean"):
        shown.add_column(name, justify="left" if name == "ranking" else "right")
    for ranking in next(iter(table.values())):
        if len(changes(ranking).keys() - {"bm25_weight"}) <= 1:
            means = [float(rows[ranking].mean()) for rows in table.values()]
            shown.add_row(_named(ranking), *(f"{mean:.3f}" for mean in [*means, sum(means) / len(means)]))
    return shown


def _choices(title: str, choices: Iterable[Choice]) -> Shown:
    shown = Shown(title=title, title_justify="left")
    for name in ("held out", "chosen", "default", "chosen", "difference in nDCG@10, 95 %"):
        shown.add_column(name, overflow="fold")
    for one in choices:
        row = (f"{one.default:.3f}", f"{one.ndcg:.3f}", signed(one.difference))
        shown.add_row(Text(one.held_out), _named(one.chosen), *row)
    return shown


def _named(ranking: Ranking) -> str:
    return ", ".join(f"{name} {value}" for name, value in changes(ranking).items()) or "the default"
