"""`/queries/{id}`: what the ledger keeps of a search or an answer."""

from http import HTTPStatus

from flask import Response

from app.api import openapi
from app.api.context import resources
from app.api.models import QueryPath
from app.api.problems import documented
from app.api.replies import LoggedQueryReply, reply
from app.db import queries

blueprint = openapi.blueprint("queries", __name__)


@blueprint.get("/queries/<query_id>", responses={HTTPStatus.OK: LoggedQueryReply, **documented(HTTPStatus.NOT_FOUND)})
def get(path: QueryPath) -> Response:
    """A query with all its candidates and their scores, in the order of their ranks."""
    with resources().database.read() as connection:
        return reply(LoggedQueryReply.model_validate(queries.get(connection, path.query_id)))
