"""`/qa-pairs`: curated questions and their answers."""

from functools import partial
from http import HTTPStatus

from flask import Response

from app.api import openapi
from app.api.context import resources
from app.api.models import Page, QaPairBody, QaPairPatch, QaPairPath
from app.api.problems import documented
from app.api.replies import QaPairReply, QaPairsReply, no_content, reply
from app.db import collections, qa_pairs
from app.db.pool import Db
from app.query import qa
from app.records import QaPair

blueprint = openapi.blueprint("qa_pairs", __name__)

_MISSING = documented(HTTPStatus.NOT_FOUND)
_REFUSED = documented(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


@blueprint.post("/qa-pairs", responses={HTTPStatus.CREATED: QaPairReply, **_REFUSED})
def add(body: QaPairBody) -> Response:
    """Add a pair. A question that has one already is a conflict."""
    pair = qa.add(body.collection or resources().settings.collection, body.question, body.answer, resources())
    return reply(QaPairReply.model_validate(pair), HTTPStatus.CREATED, Location=f"/qa-pairs/{pair.id}")


@blueprint.get("/qa-pairs", responses={HTTPStatus.OK: QaPairsReply, **_MISSING})
def listed(query: Page) -> Response:
    """A page of a collection's pairs, by id."""

    def read(connection: Db) -> list[QaPair]:
        collection = collections.get(connection, query.collection or resources().settings.collection)
        return qa_pairs.listed(connection, collection.id, after=query.after, limit=query.limit + 1)

    found = resources().database.read_anywhere(read)
    page = [QaPairReply.model_validate(pair) for pair in found[: query.limit]]
    return reply(QaPairsReply(qa_pairs=page, next_after=page[-1].id if len(found) > query.limit else None))


@blueprint.get("/qa-pairs/<qa_pair_id>", responses={HTTPStatus.OK: QaPairReply, **_MISSING})
def get(path: QaPairPath) -> Response:
    """One pair."""
    found = resources().database.read_anywhere(partial(qa_pairs.get, qa_pair_id=path.qa_pair_id))
    return reply(QaPairReply.model_validate(found))


@blueprint.patch("/qa-pairs/<qa_pair_id>", responses={HTTPStatus.OK: QaPairReply, **_REFUSED})
def patch(path: QaPairPath, body: QaPairPatch) -> Response:
    """Change a pair, disable it, or enable it again."""
    pair = qa.change(
        path.qa_pair_id,
        resources(),
        question=body.given("question"),
        answer=body.given("answer"),
        state=body.given("state"),
    )
    return reply(QaPairReply.model_validate(pair))


@blueprint.delete("/qa-pairs/<qa_pair_id>", responses={HTTPStatus.NO_CONTENT: None, **_MISSING})
def delete(path: QaPairPath) -> Response:
    """Delete a pair."""
    qa.delete(path.qa_pair_id, resources())
    return no_content()
