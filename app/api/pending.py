"""`/pending-documents`: what waits for an embedder; to be looked at, and withdrawn."""

from dataclasses import asdict
from datetime import datetime
from http import HTTPStatus

from flask import Response
from pydantic import Field

from app.api import openapi
from app.api.context import resources
from app.api.models import Named, Page, PendingPath
from app.api.problems import documented, slug_of
from app.api.replies import Reply, no_content, reply
from app.db import collections, pending
from app.db.pool import Db
from app.records import PendingDocument

blueprint = openapi.blueprint("pending", __name__)

_MISSING = documented(HTTPStatus.NOT_FOUND)


class PendingReply(Reply):
    """A version of a document that waits for an embedder: no search finds it, and what it is to replace stays."""

    id: int
    source: str
    title: str
    media_type: str
    problem: str = Field(description="What the last attempt ended with", examples=["embedder-unavailable"])
    attempts: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, waiting: PendingDocument) -> "PendingReply":
        """A kept document."""
        return cls(**{**asdict(waiting), "problem": slug_of(waiting.error)})


class PendingsReply(Reply):
    """A page of waiting documents. `next_after` is the `after` of the next page, null on the last."""

    pending: list[PendingReply]
    next_after: int | None


@blueprint.get("/pending-documents", responses={HTTPStatus.OK: PendingsReply, **_MISSING})
def listed(query: Page) -> Response:
    """A page of a collection's documents that wait for an embedder, by id."""

    def read(connection: Db) -> list[PendingDocument]:
        collection = collections.get(connection, query.collection or resources().settings.collection)
        return pending.listed(connection, collection.id, after=query.after, limit=query.limit + 1)

    found = resources().database.read_anywhere(read)
    page = [PendingReply.of(waiting) for waiting in found[: query.limit]]
    return reply(PendingsReply(pending=page, next_after=page[-1].id if len(found) > query.limit else None))


@blueprint.delete("/pending-documents/<pending_id>", responses={HTTPStatus.NO_CONTENT: None, **_MISSING})
def withdraw(path: PendingPath, query: Named) -> Response:
    """Withdraw a waiting version. What is stored of its source stays."""
    with resources().database.write() as connection:
        collection = collections.get(connection, query.collection or resources().settings.collection)
        pending.withdraw(connection, collection.id, path.pending_id)
    return no_content()
