"""Documents of a collection k that wait for an embedder: to make them, and to see what becomes of them."""

from collections.abc import Callable
from typing import Any

from app.clients.embedder import Embedder
from app.db import collections, pending
from app.ingest import pipeline
from app.ingest.retry import retry
from app.query import pipeline as search
from app.records import Ingested, PendingDocument, Question, Source
from app.resources import Resources
from tests.embedders import Away, put

OLD = "The copper kettle holds 12 litres."
NEW = "The steel kettle holds 30 litres."


Switch = Callable[[bool], None]


def switch(resources: Resources, embedder: Embedder) -> Switch:
    """Takes the embedder away, and brings it back."""
    backends = resources.backends

    def here(answers: bool) -> None:
        if answers:
            vars(resources)["backends"] = backends
        else:
            put(resources, Away(embedder.identity))

    return here


def source(text: str, name: str = "kettle.txt", **metadata: Any) -> Source:
    return Source(name, name, "text/plain", text, metadata)


def ingested(resources: Resources, text: str, name: str = "kettle.txt") -> Ingested:
    return pipeline.ingest(source(text, name), "k", resources)


def retried(resources: Resources, **how: Any) -> dict[str, str]:
    return {outcome.source: outcome.outcome for outcome in retry("k", resources, **how)}


def waiting(resources: Resources) -> list[PendingDocument]:
    with resources.database.read() as connection:
        return pending.listed(connection, collections.get(connection, "k").id, after=0, limit=500)


def found(resources: Resources, question: str = "kettle litres") -> list[str]:
    return [hit.text for hit in search.search(Question(question, "k"), resources).hits]


def contents(resources: Resources, table: str) -> dict[str, str]:
    with resources.database.read() as connection:
        return dict(connection.execute(f"SELECT source, content FROM {table}").fetchall())  # noqa: S608
