"""`GET|POST /search`: ranked passages."""

from http import HTTPStatus

from flask import Response
from flask_openapi3.types import ResponseDict

from app.api import openapi
from app.api.context import resources
from app.api.models import SearchBody, SearchQuery
from app.api.problems import documented
from app.api.replies import reply
from app.api.search_replies import SearchReply
from app.query import pipeline

blueprint = openapi.blueprint("search", __name__)

_FOUND: ResponseDict = {HTTPStatus.OK: SearchReply, **documented(HTTPStatus.NOT_FOUND)}


@blueprint.get("/search", responses=_FOUND)
def search_by_url(query: SearchQuery) -> Response:
    """Rank a collection's chunks by vector and BM25."""
    return _search(query)


@blueprint.post("/search", responses=_FOUND | documented(HTTPStatus.BAD_REQUEST))
def search(body: SearchBody) -> Response:
    """Rank a collection's chunks by vector and BM25."""
    return _search(body)


def _search(asked: SearchBody) -> Response:
    question = asked.to_question(resources().settings.collection, resources().ranking)
    return reply(SearchReply.model_validate(pipeline.search(question, resources())))
