"""`/health/live` and `/health/ready`, for whoever restarts or routes."""

from http import HTTPStatus

from flask import Response

from app.api import openapi, readiness
from app.api.context import resources
from app.api.replies import LiveReply, ReadyReply, reply

blueprint = openapi.blueprint("health", __name__)


@blueprint.get("/health/live", responses={HTTPStatus.OK: LiveReply})
def live() -> Response:
    """The process runs."""
    return reply(LiveReply())


@blueprint.get("/health/ready", responses={HTTPStatus.OK: ReadyReply, HTTPStatus.SERVICE_UNAVAILABLE: ReadyReply})
def ready() -> Response:
    """Whether questions can be answered, part by part."""
    state = readiness.check(resources())
    return reply(state, HTTPStatus.SERVICE_UNAVAILABLE if state.status == "unavailable" else HTTPStatus.OK)
