"""`/collections`."""

from http import HTTPStatus

from flask import Response

from app.api import openapi
from app.api.context import resources
from app.api.models import CollectionPath
from app.api.problems import documented
from app.api.replies import CollectionReply, CollectionsReply, CollectionSummary, no_content, reply
from app.db import collections, pending, reembeddings
from app.db.pool import Db
from app.records import Collection, ModelChange

blueprint = openapi.blueprint("collections", __name__)

_MISSING = documented(HTTPStatus.NOT_FOUND)


@blueprint.get("/collections", responses={HTTPStatus.OK: CollectionsReply})
def listed() -> Response:
    """All collections, by name."""
    found = resources().database.read_anywhere(collections.names)
    summaries = [CollectionSummary(name=name, revision=revision, documents=n) for name, revision, n in found]
    return reply(CollectionsReply(collections=summaries))


@blueprint.get("/collections/<path:name>", responses={HTTPStatus.OK: CollectionReply, **_MISSING})
def get(path: CollectionPath) -> Response:
    """One collection with its settings."""

    def read(connection: Db) -> tuple[Collection, int, ModelChange | None]:
        collection = collections.get(connection, path.name)
        waiting = pending.count(connection, collection.id)
        return collection, waiting, reembeddings.under_way(connection, collection)

    return reply(CollectionReply.of(*resources().database.read_anywhere(read)))


@blueprint.delete("/collections/<path:name>", responses={HTTPStatus.NO_CONTENT: None, **_MISSING})
def delete(path: CollectionPath) -> Response:
    """Delete a collection with its documents, curated pairs and ledger."""
    with resources().database.write(unhurried=True) as connection:
        collections.get(connection, path.name)
        collections.delete(connection, path.name)
    return no_content()
