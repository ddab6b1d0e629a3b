"""`POST /ask`: an answer with citations, or a refusal. `POST /chat` is its short name."""

from http import HTTPStatus

from flask import Response
from flask_openapi3.types import ResponseDict

from app.api import openapi
from app.api.context import resources
from app.api.models import AskBody
from app.api.problems import documented
from app.api.replies import reply
from app.api.search_replies import AnswerReply
from app.query import pipeline

blueprint = openapi.blueprint("ask", __name__)

_ANSWERED: ResponseDict = {HTTPStatus.OK: AnswerReply, **documented(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)}


@blueprint.post("/ask", responses=_ANSWERED)
@blueprint.post("/chat", operation_id="chat", responses=_ANSWERED)
def ask(body: AskBody) -> Response:
    """Answer from curated pairs, then the cache, then the corpus."""
    question = body.to_question(resources().settings.collection, resources().ranking)
    return reply(AnswerReply.model_validate(pipeline.answer(question, resources())))
