"""`ragledger demo`: the sample corpus, three searches, three answers, and how to go on."""

import json

import click

from app.cli import show
from app.cli.ingest import summary, with_progress
from app.cli.settings import load
from app.errors import Conflict
from app.ingest.discover import discover
from app.query import pipeline, qa
from app.records import Question
from app.resources import Resources, opened
from app.settings import ROOT

SAMPLES = ROOT / "app" / "samples"
COLLECTION = "demo"
NEXT = """
Go on with your own documents:
  ragledger ingest PATH --collection NAME      files or folders: Markdown, HTML, PDF, Word, spreadsheets ...
  ragledger search "question" --collection NAME
  ragledger ask "question" --collection NAME
  ragledger serve                              the same over HTTP
  make eval                                    the quality of these answers, measured
See why a hit was found, in SQL:
  ragledger psql -v query={query} -f sql/audit/explain.sql
(`ragledger` is .venv/bin/ragledger; `. .venv/bin/activate` puts it on your path.)"""


@click.command()
def demo() -> None:
    """Ingest the sample corpus, search it three times and ask it three questions."""
    console = show.console()
    script = json.loads((SAMPLES / "demo.json").read_text(encoding="utf-8"))
    with opened(load()) as resources:
        found = list(discover([SAMPLES / "documents"]))
        click.echo(summary(COLLECTION, with_progress(found, COLLECTION, resources)))
        _curate(resources)
        ranking = resources.ranking_with(top_k=3)
        for line in script["searches"]:
            result = pipeline.search(Question(line["text"], COLLECTION, ranking), resources)
            show.search(result, line["text"], console)
        for line in script["questions"]:
            question = Question(line["text"], COLLECTION, resources.ranking, use_cache=False)
            show.answer(pipeline.answer(question, resources), line["text"], console)
        click.echo(NEXT.format(query=result.query_id))


def _curate(resources: Resources) -> None:
    """The sample's question/answer pairs; those that are there already stay as they are."""
    for line in (SAMPLES / "qa_pairs.jsonl").read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        try:
            qa.add(COLLECTION, pair["question"], pair["answer"], resources)
        except Conflict:
            continue
